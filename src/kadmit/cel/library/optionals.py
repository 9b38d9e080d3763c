"""Optional values: made by optional.of and friends, by `.?field` and `[?index]`, and taken apart here.

`or` and `orValue` are declared here and decided by the evaluator, which looks at their argument only if it must.
"""

from kadmit.cel import gotext, operators, types
from kadmit.cel.declarations import Example, Function, function, member, plain
from kadmit.cel.types import BOOL, DYN, INT, STRING
from kadmit.cel.values import NONE, CelError, Optional, Value

K, V = types.param("K"), types.param("V")
OPTIONAL_V = types.optional_of(V)
LIST_V, MAP_KV = types.list_of(V), types.map_of(K, V)
SINCE = 28


def _of_non_zero(value: Value) -> Value:
    return NONE if operators.is_zero(value) else Optional(value)


def _value(optional: Optional) -> Value:
    return optional.value if optional.present else CelError("optional.none() dereference")


def _unwrap(values: list[Value]) -> Value:
    for v in values:
        if v.__class__ is not Optional:
            return CelError(f"value {gotext.display(v)} is not optional")
    return [v.value for v in values if v.present]


def _first(values: list[Value]) -> Value:
    return Optional(values[0]) if values else NONE


def _last(values: list[Value]) -> Value:
    return Optional(values[-1]) if values else NONE


FUNCTIONS: tuple[Function, ...] = (
    function(
        "optional.of",
        plain("optional_of", (V,), OPTIONAL_V, Optional, since=SINCE),
        doc="an optional that holds a value",
        examples=(Example("optional.of(1)", {"optional": [1]}),),
    ),
    function(
        "optional.ofNonZeroValue",
        plain("optional_ofNonZeroValue", (V,), OPTIONAL_V, _of_non_zero, since=SINCE),
        doc="an optional that holds a value, or none if it is empty, zero, false or null",
        examples=(Example("optional.ofNonZeroValue('')", {"optional": []}),),
    ),
    function(
        "optional.none",
        plain("optional_none", (), OPTIONAL_V, lambda: NONE, since=SINCE),
        doc="the optional that holds nothing",
        examples=(Example("optional.none()", {"optional": []}),),
    ),
    function(
        "value",
        member("optional_value", OPTIONAL_V, (), V, _value, since=SINCE),
        doc="what an optional holds; an error if it holds nothing",
        examples=(Example("optional.of(1).value()", 1), Example("optional.none().value()", error="optional.none() dereference")),
    ),
    function(
        "hasValue",
        member("optional_hasValue", OPTIONAL_V, (), BOOL, lambda o: o.present, since=SINCE),
        doc="whether an optional holds a value",
        examples=(Example("optional.none().hasValue()", False),),
    ),
    function(
        "or",
        member("optional_or_optional", OPTIONAL_V, (OPTIONAL_V,), OPTIONAL_V, since=SINCE),
        doc="this optional, or the other one if this holds nothing",
        examples=(Example("optional.none().or(optional.of(2))", {"optional": [2]}),),
    ),
    function(
        "orValue",
        member("optional_orValue_value", OPTIONAL_V, (V,), V, since=SINCE),
        doc="what an optional holds, or the given value",
        examples=(Example("object.?nope.orValue('none')", "none"),),
    ),
    function("_?._", plain("select_optional_field", (DYN, STRING), OPTIONAL_V, since=SINCE)),
    function(
        "_[?_]",
        plain("list_optindex_optional_int", (LIST_V, INT), OPTIONAL_V, since=SINCE),
        plain("optional_list_optindex_optional_int", (types.optional_of(LIST_V), INT), OPTIONAL_V, since=SINCE),
        plain("map_optindex_optional_value", (MAP_KV, K), OPTIONAL_V, since=SINCE),
        plain("optional_map_optindex_optional_value", (types.optional_of(MAP_KV), K), OPTIONAL_V, since=SINCE),
    ),
    function(
        "_[_]",
        plain("optional_list_index_int", (types.optional_of(LIST_V), INT), OPTIONAL_V, since=SINCE),
        plain("optional_map_index_value", (types.optional_of(MAP_KV), K), OPTIONAL_V, since=SINCE),
    ),
    function(
        "last",
        member("list_last", LIST_V, (), OPTIONAL_V, _last, since=SINCE),
        doc="the last element of a list, as an optional",
        examples=(Example("[1, 2].last()", {"optional": [2]}),),
    ),
    function(
        "first",
        member("list_first", LIST_V, (), OPTIONAL_V, _first, since=SINCE),
        doc="the first element of a list, as an optional",
        examples=(Example("[1, 2].first()", {"optional": [1]}), Example("[].first()", {"optional": []})),
    ),
    function(
        "optional.unwrap",
        plain("optional_unwrap", (types.list_of(OPTIONAL_V),), LIST_V, _unwrap, since=SINCE),
        doc="the values that a list of optionals holds",
        examples=(Example("optional.unwrap([optional.of(1), optional.none()])", [1]),),
    ),
    function(
        "unwrapOpt",
        member("optional_unwrapOpt", types.list_of(OPTIONAL_V), (), LIST_V, _unwrap, since=SINCE),
        doc="the values that a list of optionals holds",
        examples=(Example("[optional.of(1), optional.none()].unwrapOpt()", [1]),),
    ),
)
