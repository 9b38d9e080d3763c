"""Bodies of built-in kinds: from bytes to the plain object that the server holds.

    decoded = decode(schema, body)        # what a client sent
    decoded = normalise(schema, value)    # what a patch, a webhook or a policy made
    decoded = restore(schema, value, before)   # what a strategic merge made of an object

Both send the object through its Go structs (`roundtrip`). What is out of the ordinary is read again with care (`structs`): its
unknown and duplicate fields are listed for fieldValidation, its errors carry Kubernetes' texts.
"""

from typing import Any, TypeAlias

from msgspec import Struct

from kadmit.kinds import fulltext, merging, roundtrip, structs
from kadmit.kinds.catalog import Gvk
from kadmit.kinds.fulltext import Problem
from kadmit.kinds.schema import Schema
from kadmit.kinds.structs import DecodeError, called

__all__ = ["DecodeError", "Decoded", "called", "decode", "kind_of", "normalise", "restore"]

Json: TypeAlias = Any

_TYPE_META = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'


class Decoded(Struct, frozen=True):
    """An object, and what strict decoding has against it: `unknown field "…"`, `duplicate field "…"`."""

    object: dict[str, Json]
    found: tuple[Problem, ...] = ()

    @property
    def problems(self) -> tuple[str, ...]:
        """As warnings and errors name them."""
        if not self.found:
            return ()
        return tuple(problem.text for problem in self.found)


def decode(schema: Schema, body: bytes, value: Json = fulltext.UNREAD) -> Decoded:
    """The object in a JSON body. `value`: what `fulltext.loads` makes of it, if that is known. Raises DecodeError."""
    try:
        if value is fulltext.UNREAD:
            value = fulltext.loads(body)
        # NB: duplicates matter even where nobody is told of them: Go merges structs that are given twice.
        if fulltext.has_no_duplicates(body, value):
            return Decoded(_walked(schema, value))
    except fulltext.SyntaxFault as fault:
        raise DecodeError(str(fault)) from None
    except roundtrip.Unusual:
        pass
    return _read_with_care(schema, fulltext.read(body))


def normalise(schema: Schema, value: dict[str, Json]) -> Decoded:
    """The object as its Go structs write it. The value is not changed. Raises DecodeError."""
    try:
        return Decoded(_walked(schema, value))
    except roundtrip.Unusual:
        return _read_with_care(schema, value)


def restore(schema: Schema, value: dict[str, Json], before: dict[str, Json]) -> Decoded:
    """The object that Go's reflection makes of plain values. Raises DecodeError and Unconvertible."""
    try:
        return Decoded(_walked(schema, value))
    except roundtrip.Unusual:
        converted = merging.convert(schema, value, before)
    return Decoded(_walked(schema, converted), tuple(Problem("unknown", path) for path in sorted(merging.unknown(schema, value))))


def _walked(schema: Schema, value: Json) -> dict[str, Json]:
    try:
        made: dict[str, Json] = roundtrip.walker(schema)(value)
    except RecursionError:
        raise DecodeError(fulltext.TOO_DEEP) from None
    return made


def _read_with_care(schema: Schema, value: Json) -> Decoded:
    clean, problems = structs.read(schema, value)
    return Decoded(_walked(schema, clean), tuple(problems))


def kind_of(value: Json) -> Gvk:
    """The group, version and kind that a body names, empty where it names none. Raises DecodeError.

    NB: here, and only here, Kubernetes takes the names of members in any case.
    """
    if value is None:
        return ("", "", "")
    if not isinstance(value, dict):
        raise _no_kind(f"json: cannot unmarshal {called(value)} into Go value of type {_TYPE_META}")
    named = {"apiVersion": "", "kind": ""}
    for key, member in value.items():
        name = _TYPE_META_NAMES.get(key.lower())
        if name and member is not None:
            if not isinstance(member, str):
                raise _no_kind(f"json: cannot unmarshal {called(member)} into Go struct field .{name} of type string")
            named[name] = member
    return (*_group_version(named["apiVersion"]), named["kind"])


_TYPE_META_NAMES = {"apiversion": "apiVersion", "kind": "kind"}


def _no_kind(reason: str) -> DecodeError:
    return DecodeError(f"couldn't get version/kind; json parse error: {reason}")


def _group_version(api_version: str) -> tuple[str, str]:
    if api_version in ("", "/"):
        return ("", "")
    parts = api_version.split("/")
    if len(parts) > 2:
        raise DecodeError(f"unexpected GroupVersion string: {api_version}")
    return ("", parts[0]) if len(parts) == 1 else (parts[0], parts[1])
