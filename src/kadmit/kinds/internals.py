"""How objects look inside kube-apiserver: error texts show its own structs as JSON, not the object that was sent.

There, fields are called by their Go names, stand in the order of the Go source, and show a zero value where nothing was
given. The packaged table lists them: a struct's name, then one line a field: its name, the key in the object, its type.

    shown("DeploymentStrategy", {"type": "Fast"})    {"Type": "Fast", "RollingUpdate": None}
    difference("PodSpec", old, new)                  a unified diff of both, as forbidden updates end with
    same("PodSpec", old, new)                        whether Kubernetes takes them for equal
"""

import difflib
import functools
import importlib.resources
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from kadmit.cel import quantities
from kadmit.patch import equality

Json: TypeAlias = Any

_FILE = "internals-1.36.txt"
_ZEROES: Mapping[str, Json] = {"s": "", "i": 0, "f": 0, "b": False, "intstr": 0, "quantity": "0"}
_POD_FIELDS = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")


class _Field(NamedTuple):
    name: str
    keys: tuple[str, ...]
    type: str
    omitempty: bool


@functools.cache
def _structs() -> dict[str, tuple[_Field, ...]]:
    text = importlib.resources.files("kadmit.kinds").joinpath("data", _FILE).read_text()
    found: dict[str, list[_Field]] = {}
    struct = ""
    for line in text.splitlines():
        if line.startswith(" "):
            found[struct].append(_field(line.split()))
        else:
            struct = line
            found[struct] = []
    return {name: tuple(listed) for name, listed in found.items()}


def _field(words: list[str]) -> _Field:
    name, keys, of_type = words[:3]
    return _Field(name, tuple(keys.split("/")), of_type, words[-1] == "omitempty")


def members(struct: str) -> Iterator[tuple[str, str]]:
    """The fields of a struct: each with its name and its key in the object."""
    return ((field.name, field.keys[-1]) for field in _structs()[struct])


# ---------------------------------------------------------------- shown as JSON


def shown(struct: str, value: Mapping[str, Json] | None) -> Json:
    """The value as JSON of this struct; None if there is none."""
    return None if value is None else _struct(struct, value)


def _struct(name: str, value: Json) -> Json:
    special = _SPECIAL.get(name)
    if special is not None:
        return special(value)
    held = _with_pod_fields(value) if name == "PodSpec" else value
    made: dict[str, Json] = {}
    for field in _structs()[name]:
        member = _shown(field.type, _at(held, field.keys))
        if not (field.omitempty and (member is None or member in ("", 0, False) or member in ([], {}))):
            made[field.name] = member
    return made


def _at(value: Json, keys: tuple[str, ...]) -> Json:
    for key in keys:
        value = value.get(key) if value else None
    return value


def _with_pod_fields(spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Inside, what a pod shares with its host belongs to its security context, which is always there."""
    of_host = {key: spec[key] for key in _POD_FIELDS if key in spec}
    return {**spec, "securityContext": {**(spec.get("securityContext") or {}), **of_host}}


def _shown(of_type: str, value: Json) -> Json:
    if of_type.startswith("*"):
        return None if value is None else _shown(of_type[1:], value)
    if of_type.startswith("[]"):
        return None if value is None else [_shown(of_type[2:], item) for item in value]
    if of_type.startswith("{}"):
        return None if value is None else {key: _shown(of_type[2:], value[key]) for key in sorted(value)}
    if of_type.startswith("="):
        return _struct(of_type[1:], value or {})
    return _ZEROES.get(of_type) if value is None else value


def _schema_or_bool(value: Json) -> Json:
    schema = value if isinstance(value, Mapping) else None
    return {"Allows": schema is not None or bool(value), "Schema": shown("JSONSchemaProps", schema)}


def _schema_or_list(member: str) -> Callable[[Json], Json]:
    def make(value: Json) -> Json:
        if isinstance(value, list):
            items = [shown("JSONSchemaProps", item) if isinstance(item, Mapping) else item for item in value]
            return {"Schema": None, member: items}
        return {"Schema": shown("JSONSchemaProps", value), member: None}

    return make


_SPECIAL: Mapping[str, Callable[[Json], Json]] = {
    "JSONSchemaPropsOrBool": _schema_or_bool,
    "JSONSchemaPropsOrArray": _schema_or_list("JSONSchemas"),
    "JSONSchemaPropsOrStringArray": _schema_or_list("Property"),
    "FieldsV1": lambda value: value,
}


# ---------------------------------------------------------------- compared


def same(struct: str, old: Mapping[str, Json] | None, new: Mapping[str, Json] | None) -> bool:
    """Whether both hold the same: an empty list or map is none, and quantities are compared as numbers."""
    return _same(f"*={struct}", old, new)


def _same(of_type: str, old: Json, new: Json) -> bool:
    if of_type.startswith("*"):
        return (old is None) == (new is None) and (old is None or _same(of_type[1:], old, new))
    if of_type.startswith("[]"):
        return len(old or ()) == len(new or ()) and all(map(_same, [of_type[2:]] * len(old or ()), old or (), new or ()))
    if of_type.startswith("{}"):
        return (old or {}).keys() == (new or {}).keys() and all(_same(of_type[2:], old[k], new[k]) for k in old or {})
    if of_type.startswith("="):
        return _same_struct(of_type[1:], old or {}, new or {})
    zero = _ZEROES.get(of_type)
    a, b = zero if old is None else old, zero if new is None else new
    return same_quantity(a, b) if of_type == "quantity" else equality.same(a, b)


def _same_struct(name: str, old: Json, new: Json) -> bool:
    if old is new:
        return True
    if name in _SPECIAL:
        return equality.same(old, new)
    if name == "PodSpec":
        old, new = _with_pod_fields(old), _with_pod_fields(new)
    return all(_same(field.type, _at(old, field.keys), _at(new, field.keys)) for field in _structs()[name])


def same_quantity(a: Json, b: Json) -> bool:
    if a == b:
        return True
    old, new = quantities.parse(str(a)), quantities.parse(str(b))
    return not isinstance(old, str) and not isinstance(new, str) and quantities.compare(old, new) == 0


# ---------------------------------------------------------------- told apart


def difference(struct: str, old: Mapping[str, Json], new: Mapping[str, Json]) -> str:
    """A unified diff of both as indented JSON."""
    return "".join(_unified(_lines(shown(struct, old)), _lines(shown(struct, new))))


def _lines(value: Json) -> list[str]:
    text = json.dumps(value, indent=1, ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return [f"{line}\n" for line in text.split("\n")]


def _unified(old: list[str], new: list[str]) -> Iterator[str]:
    """NB: without names of files there are no header lines."""
    lines = difflib.unified_diff(old, new, n=3)
    for index, line in enumerate(lines):
        if index >= 2:
            yield line
