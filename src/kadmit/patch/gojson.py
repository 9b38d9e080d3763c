"""JSON text to plain values, with the words of Go's decoder when the text is not JSON.

orjson decodes. Only when it refuses does the slow scanner run, to find Go's message; what Go reads beyond orjson (lone
surrogates, bytes that are not UTF-8) is left to the standard library.
"""

import json

import orjson

from kadmit.patch import goscanner
from kadmit.patch.errors import PatchError, Reason

_JSON_NAMES = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}


def loads(data: bytes) -> object:
    """Decode, or raise PatchError with the message of Go's encoding/json."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        fault = goscanner.fault(data)
    if fault is not None:
        raise PatchError(fault, reason=Reason.UNDECODABLE)
    return _loads_what_orjson_refuses(data)


def mismatch(value: object, go_type: str) -> PatchError:
    """JSON of another type than the one to fill."""
    return PatchError(mismatch_text(value, f"Go value of type {go_type}"), reason=Reason.UNDECODABLE)


def mismatch_text(value: object, target: str) -> str:
    return f"json: cannot unmarshal {_JSON_NAMES[type(value)]} into {target}"


def _loads_what_orjson_refuses(data: bytes) -> object:
    """NB: orjson also refuses deep nesting, and so does this."""
    try:
        return _without_surrogates(json.loads(data.decode("utf-8", "replace"), parse_int=_number))
    except RecursionError:
        raise PatchError("exceeded max depth", reason=Reason.UNDECODABLE) from None


def _number(digits: str) -> int | float:
    """As orjson: what no 64 bits hold is a float. NB: digits are counted first, for Python refuses very long ones."""
    return int(digits) if len(digits) < 19 else float(digits)


def _without_surrogates(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value
