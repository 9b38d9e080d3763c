"""CEL values as JSON, the way `kadmit eval -o json` prints them.

Numbers stay numbers (NaN and infinities become text), bytes become base64, timestamps (in UTC), durations and types
their text, an optional {"optional": [value]}, map keys text.
"""

import math
from base64 import b64encode

from kadmit.cel import gotext, gotime, operators, work
from kadmit.cel.library.mutation import JSONPatchValue, ObjectValue
from kadmit.cel.operators import MISSING
from kadmit.cel.types import Type
from kadmit.cel.values import Duration, MapValue, Optional, Timestamp, UInt, Value, type_of

TOO_LARGE = "(too large to be shown)"


def to_json(value: Value) -> object:
    """A value of plain JSON types. NB: a list that holds the same list twice, again and again, is small only in memory."""
    try:
        return work.alone(_json, value)
    except work.TooMuchWork:
        return TOO_LARGE


def _json(value: Value) -> object:
    kind = value.__class__
    if kind is float and not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if value is None or kind in (str, bool, int, float):
        return value
    if kind is UInt:
        return int(value)
    if kind is list:
        work.spend_visit(len(value))
        return [_json(v) for v in value]
    if kind is dict or kind is MapValue:
        work.spend_visit(len(value))
        return {key_text(k): _json(v) for k, v in operators.items(value)}
    return _special(value)


def _special(value: Value) -> object:
    match value:
        case bytes():
            return b64encode(value).decode()
        case Timestamp():
            return gotime.format_timestamp(Timestamp(value.nanos))
        case Duration():
            return gotime.format_duration(value)
        case Type():
            return value.name
        case Optional():
            return {"optional": [_json(value.value)] if value.present else []}
        case ObjectValue():
            return {k: _json(v) for k, v in value.fields.items()}
        case JSONPatchValue():
            return _operation(value)
    has_text = value.__class__.__str__ is not object.__str__
    return str(value) if has_text else f"({type_of(value)})"  # an authorizer, or what it is asked


def _operation(value: JSONPatchValue) -> dict[str, object]:
    made: dict[str, object] = {"op": value.op, "path": value.path}
    if value.from_:
        made["from"] = value.from_
    if value.value is not MISSING:
        made["value"] = _json(value.value)
    return made


def key_text(key: Value) -> str:
    """A map key as text."""
    kind = key.__class__
    if kind is str:
        return str(key)
    if key is None:
        return "null"
    return str(int(key)) if kind is UInt else gotext.display(key)
