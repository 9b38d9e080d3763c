"""FieldsV1: a set of paths as the JSON that `metadata.managedFields` carries.

`{"f:spec": {"f:replicas": {}}}` is the set of `.spec.replicas`; a `"."` beside longer paths says that the path itself is
in the set as well. Elements are written `f:name`, `k:{"key":value}`, `v:value` and `i:position`; keys of the object are
in the order of elements, as Kubernetes writes them.
"""

import functools
import json
from collections.abc import Mapping

from kadmit.patch import gotext, values
from kadmit.patch.fieldpath import EMPTY, Element, Index, Key, Set, Value, element_order


class FieldsError(Exception):
    """A FieldsV1 that cannot be read."""


def encode(owned: Set) -> dict[str, object]:
    return _encoded(owned, itself=False)


def _encoded(owned: Set, *, itself: bool) -> dict[str, object]:
    members, children = owned.members, owned.children
    written: dict[str, object] = {".": {}} if itself and owned else {}
    for element in _in_order(members | children.keys()):
        child = children.get(element)
        written[encode_element(element)] = {} if child is None else _encoded(child, itself=element in members)
    return written


def _in_order(elements: "frozenset[Element]") -> list[Element]:
    """Field names sort as they are; only lists of keys and values need the costly order."""
    if all(type(element) is str for element in elements):
        return sorted(elements)  # type: ignore[type-var]
    return sorted(elements, key=element_order)


def encode_element(element: Element) -> str:
    if isinstance(element, str):
        return "f:" + element
    if isinstance(element, Key):
        return "k:{" + ",".join(f"{_json_name(name)}:{_json(value)}" for name, value in element.fields) + "}"
    if isinstance(element, Value):
        return "v:" + _json(element.value)
    return f"i:{element.position}"


def _json(value: object) -> str:
    """JSON as Go writes it: sorted keys, and `<`, `>`, `&` escaped in strings."""
    if isinstance(value, str):
        return '"' + value.translate(_VALUE_ESCAPES) + '"'
    if isinstance(value, float):
        return values.float_json(value)
    if isinstance(value, list):
        return "[" + ",".join(map(_json, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{_json(key)}:{_json(value[key])}" for key in sorted(value)) + "}"
    return json.dumps(value)


def _json_name(name: str) -> str:
    """The name of a key field: a JSON string without the escapes for HTML."""
    return '"' + name.translate(_NAME_ESCAPES) + '"'


_NAME_ESCAPES: Mapping[int, str] = {
    **{code: f"\\u{code:04x}" for code in range(0x20)},
    ord('"'): '\\"',
    ord("\\"): "\\\\",
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
}
_VALUE_ESCAPES: Mapping[int, str] = {**_NAME_ESCAPES, **{ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}}


def decode(fields: object) -> Set:
    """The set that a FieldsV1 says. Elements of unknown types are dropped, as from a future version."""
    try:
        return _decoded(fields)[0]
    except RecursionError:
        raise FieldsError("fieldsV1 is nested too deeply") from None


def _decoded(fields: object) -> tuple[Set, bool]:
    """What stands below a path, and whether the path is itself in the set: it is, when nothing is below it."""
    if fields is None:
        return EMPTY, True
    if not isinstance(fields, Mapping):
        raise FieldsError(f"expect {{ or n, but found {json.dumps(fields)[:1]}")
    members: set[Element] = set()
    children: dict[Element, Set] = {}
    for name, below in fields.items():
        element = None if name == "." else decode_element(name)
        if element is None:
            continue
        child, is_member = _decoded(below)
        if is_member:
            members.add(element)
        if child:
            children[element] = child
    if not members and not children:
        return EMPTY, True
    return Set(frozenset(members), children), "." in fields


def decode_element(text: str) -> Element | None:
    """One element, or None if its type is unknown. Numbers become floats, which their text in conflicts shows."""
    if text.startswith("f:"):
        return text[2:]
    return _remembered(text) if len(text) <= _LONGEST_REMEMBERED else _parsed(text)


_LONGEST_REMEMBERED = 256


@functools.lru_cache(maxsize=4096)
def _remembered(text: str) -> Element | None:
    """The same few keys (`k:{"name":"app"}`) come with every request."""
    return _parsed(text)


def _parsed(text: str) -> Element | None:
    if len(text) < 2:
        raise FieldsError("parsing key as path element: key must be 2 characters long:")
    if text[1] != ":":
        raise FieldsError(f"parsing key as path element: missing colon: {text}")
    kind, rest = text[0], text[2:]
    if kind == "i":
        return Index(_position(rest))
    if kind == "v":
        return Value(_read(rest))
    return Key(_key_fields(rest)) if kind == "k" else None


def _position(text: str) -> int:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
        raise FieldsError(f"parsing key as path element: strconv.Atoi: parsing {gotext.quote(text)}: invalid syntax")
    return int(text)


def _read(text: str) -> object:
    try:
        return json.loads(text, parse_int=float)
    except (ValueError, RecursionError) as error:
        raise FieldsError(f"parsing key as path element: {error}") from None


def _key_fields(text: str) -> list[tuple[str, object]]:
    found = _read(text)
    if not isinstance(found, dict):
        raise FieldsError(f"parsing key as path element: expect {{ or n, but found {text[:1]}")
    return list(found.items())
