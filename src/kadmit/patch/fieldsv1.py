"""FieldsV1: a set of paths as the JSON that `metadata.managedFields` carries.

`{"f:spec": {"f:replicas": {}}}` is the set of `.spec.replicas`; a `"."` beside longer paths says that the path itself is
in the set as well. Elements are written `f:name`, `k:{"key":value}`, `v:value` and `i:position`; keys of the object are
in the order of elements, as Kubernetes writes them.
"""

import functools
import json
from collections.abc import Iterable, Mapping

from kadmit.patch import gotext, values
from kadmit.patch.fieldpath import EMPTY, Element, Index, Key, Set, Value, element_order


class FieldsError(Exception):
    """A FieldsV1 that cannot be read."""


def encode(owned: Set) -> dict[str, object]:
    return _encoded(owned, {})


def _encoded(owned: Set, written: dict[str, object]) -> dict[str, object]:
    """Writes into `written`, which has the "." already if the path itself is in the set."""
    members, children = owned.members, owned.children
    for element in _in_order(members | children.keys() if children else members):
        text = "f:" + element if type(element) is str else encode_element(element)
        child = children.get(element)
        written[text] = {} if child is None else _encoded(child, {".": {}} if element in members else {})
    return written


def _in_order(elements: "frozenset[Element]") -> "Iterable[Element]":
    """Field names sort as they are; only lists of keys and values need the costly order."""
    if len(elements) < 2:
        return elements
    try:
        return sorted(elements)  # type: ignore[type-var]
    except TypeError:
        return sorted(elements, key=element_order)


def encode_element(element: Element) -> str:
    if isinstance(element, str):
        return "f:" + element
    if isinstance(element, Key):
        return "k:{" + ",".join(f"{values.json_name(name)}:{values.json_text(value)}" for name, value in element.fields) + "}"
    if isinstance(element, Value):
        return "v:" + values.json_text(element.value)
    return f"i:{element.position}"


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
        element = name[2:] if name[:2] == "f:" else decode_element(name)
        if element is None:
            continue
        if not below and type(below) is dict:
            members.add(element)
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
    """One element, or None for "." and unknown types. Numbers become floats, which their text in conflicts shows."""
    if text == ".":
        return None
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
