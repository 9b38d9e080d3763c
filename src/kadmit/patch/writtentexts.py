"""Which strings of a JSON text are written as Go would not write them.

A `test` compares texts, and the document's strings are as Go writes them: `<` is `\\u003c` there, and é is é. So a patch that
writes them otherwise tests in vain. That is out of the ordinary: one look tells which texts have to be read again, slowly.
"""

import json
import re
from json import scanner
from json.decoder import scanstring  # type: ignore[attr-defined]  # public in all but name
from typing import Any

_MAY_BE_ODD = re.compile(rb"[\\<>&]|\xe2\x80[\xa8\xa9]")
_ESCAPED = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


class Odd(str):
    """A string that Go would have written in another way."""

    __slots__ = ()


def may_be_odd(text: bytes) -> bool:
    return _MAY_BE_ODD.search(text) is not None


def with_odd(text: bytes) -> Any:
    """The value of a sound JSON text, in which strings that are written oddly are Odd; names of members never are."""
    return _Reader().decode(text.decode("utf-8", "replace"))


def has_odd(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(has_odd, value.values()))
    if isinstance(value, list):
        return any(map(has_odd, value))
    return isinstance(value, Odd)


def _string(text: str, begin: int, strict: bool = True) -> tuple[str, int]:
    value, end = scanstring(text, begin, strict)
    written = text[begin - 1 : end]
    return (value if written == json.dumps(value, ensure_ascii=False).translate(_ESCAPED) else Odd(value)), end


class _Reader(json.JSONDecoder):
    def __init__(self) -> None:
        super().__init__()
        self.parse_string = _string
        self.scan_once = scanner.py_make_scanner(self)  # type: ignore[attr-defined]  # the one that asks for parse_string
