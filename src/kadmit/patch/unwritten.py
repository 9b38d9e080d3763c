"""What an apply configuration can put into an object and JSON text cannot hold: a list that is not there, numbers without end.

Built-in objects are written at once, custom ones only when they are stored: until then all see such a list as an empty one.
"""

import math
from typing import Any

from kadmit.patch import gotext, values


class Unwritable(Exception):
    """A number that JSON does not have; str() is Go's text."""


def is_odd(value: Any) -> bool:
    """Whether a part of it is not written as it stands."""
    if value.__class__ is dict:
        return any(map(is_odd, value.values()))
    if value.__class__ is list:
        return value is values.NIL or any(map(is_odd, value))
    return _is_infinite(value)


def written(value: Any) -> Any:
    """The value as it is read after it was written; the very same one if nothing is odd. Raises Unwritable."""
    return _written(value) if is_odd(value) else value


def _is_infinite(value: Any) -> bool:
    return value.__class__ is float and not math.isfinite(value)


def _written(value: Any) -> Any:
    if value is values.NIL:
        return None
    if _is_infinite(value):
        raise Unwritable(f"json: unsupported value: {gotext.value_text(value)}")
    if value.__class__ is dict:
        return {k: _written(v) for k, v in value.items()}
    return [_written(v) for v in value] if value.__class__ is list else value
