"""YAML and JSON files as commands read them: with Kubernetes' reading of YAML, and errors that say what to do."""

import json
import re

import orjson

from kadmit.cel.values import INT_MAX, INT_MIN, Value

_LONG_NUMBER = re.compile(rb"[0-9]{19}")
_KINDS = {list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}


def one(data: bytes) -> dict[str, Value]:
    """The one object of a file; ValueError where there is none, or more than one, or it cannot be read."""
    found = [value for value in _values(data) if value is not None]
    if not found:
        raise ValueError("holds no object")
    if len(found) > 1:
        raise ValueError(f"holds {len(found)} objects: give a file with one")
    value = found[0]
    if not isinstance(value, dict):
        raise ValueError(f"must hold an object, holds {_KINDS[value.__class__]}")
    return value


def _values(data: bytes) -> list[Value]:
    """JSON where it is JSON, for that is much faster to read, else YAML."""
    if data.lstrip()[:1] in (b"{", b"["):
        try:
            return [_json(data)]
        except orjson.JSONDecodeError:
            pass  # YAML has braces too, and its own words for what is wrong in them
    from kadmit.api import yaml

    return [document.value for document in yaml.load_all(data)]


def _json(data: bytes) -> Value:
    """NB: orjson gives integers of up to 64 bits without a sign, where Kubernetes has doubles beyond 63 bits."""
    value = orjson.loads(data)
    return json.loads(data, parse_int=_number) if _LONG_NUMBER.search(data) else value


def _number(digits: str) -> int | float:
    number = float(digits) if len(digits) > 20 else int(digits)
    return number if INT_MIN <= number <= INT_MAX else float(digits)
