"""The function behind transformMap and transformMapEntry: a map with one entry, or another map's entries, more.

A key that is there already is an error, never a replacement; numbers are the same key when they are the same number
(1 and 1u), as in every lookup.

Values never change, so `inserted` copies. A loop that owns its accumulator calls `insert` on it instead: copying at every
turn would make the whole loop quadratic, at a cost that counts it as linear.
"""

from kadmit.cel import gotext, operators, types
from kadmit.cel.declarations import Example, Function, function, plain
from kadmit.cel.values import CelError, MapValue, Value, key_of, map_from

MAP_INSERT = "cel.@mapInsert"

K = types.param("K")
V = types.param("V")
MAP_KV = types.map_of(K, V)


def insert(target: Value, key: Value, value: Value) -> Value:
    """Puts an entry into a map that nobody else holds. Gives the map (perhaps a new one), or an error."""
    if operators.find(target, key) is not operators.MISSING:
        return CelError(f"insert failed: key {gotext.display(key)} already exists")
    if target.__class__ is dict:
        if key.__class__ is not str:
            return _put(MapValue({k: (k, v) for k, v in target.items()}), key, value)
        target[key] = value
        return target
    return _put(target, key, value)


def insert_all(target: Value, entries: Value) -> Value:
    """Puts each entry of one map into another that nobody else holds."""
    for key, value in operators.items(entries):
        target = insert(target, key, value)
        if target.__class__ is CelError:
            return target
    return target


def inserted(*args: Value) -> Value:
    """cel.@mapInsert(map, key, value)."""
    target, key, value = args
    return insert(_copy(target), key, value)


def inserted_all(target: Value, entries: Value) -> Value:
    """cel.@mapInsert(map, map)."""
    return insert_all(_copy(target), entries)


def _put(target: MapValue, key: Value, value: Value) -> MapValue:
    target.entries[key_of(key)] = (key, value)
    return target


def _copy(target: Value) -> Value:
    return map_from(operators.items(target))


FUNCTIONS: tuple[Function, ...] = (
    function(
        MAP_INSERT,
        plain("@mapInsert_map_key_value", (MAP_KV, K, V), MAP_KV, inserted, since=32),
        plain("@mapInsert_map_map", (MAP_KV, MAP_KV), MAP_KV, inserted_all, since=32),
        doc="What the transformMap macros call at each turn.",
        examples=(
            Example("{'a': 1}.transformMap(k, v, v + 1)", {"a": 2}),
            Example("{'a': 1}.transformMapEntry(k, v, {k + 'b': v})", {"ab": 1}),
            Example("[1, 1].transformMapEntry(i, v, {v: i})", error="insert failed: key 1 already exists"),
        ),
    ),
)
