"""YAML as Kubernetes writes it: keys sorted, lists not indented, lines folded at 80, texts quoted where they must be.

Its writer is a port of libyaml, which PyYAML carries too; what differs is how texts are quoted and how keys are sorted.
NB: the few characters that YAML calls line breaks and JSON does not (U+0085, U+2028) are written differently.
The events are made with a stack of our own, so that no nesting can exhaust us.
"""

import functools
import io
import math
import re
import unicodedata
from collections.abc import Iterator
from typing import Any, TypeAlias

import yaml
from yaml import events

from kadmit.cel import gotext

Json: TypeAlias = Any

_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_BOTH = (True, True)
_END = b"...\n"  # libyaml marks the end of a document in which a text ends with empty lines; Kubernetes does not

# Texts that YAML 1.1, as Kubernetes reads it, takes for something else.
_WORDS = frozenset(
    word
    for words in (
        "y Y yes Yes YES true True TRUE on On ON n N no No NO false False FALSE off Off OFF ~ null Null NULL",
        ".nan .NaN .NAN .inf .Inf .INF +.inf +.Inf +.INF -.inf -.Inf -.INF",
    )
    for word in words.split()
) | {""}
_STARTS = frozenset("+-.0123456789")
_WHOLE = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|[0-9_]+)\Z")
_FRACTION = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_SIXTIES = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?\Z")
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?(?:[ \t]*(?:Z|[-+][0-9]{1,2}:?[0-9]{0,2}))?)?\Z"
)


def dump(value: Json) -> bytes:
    """One document, with a line break at its end."""
    out = io.StringIO()
    yaml.emit(_document(value), stream=out, Dumper=_DUMPER, allow_unicode=True, width=80)
    text = out.getvalue().encode()
    return text[: -len(_END)] if text.endswith(b"\n" + _END) else text


def _document(value: Json) -> Iterator[Any]:
    yield events.StreamStartEvent()
    yield events.DocumentStartEvent(explicit=False)
    yield from _node(value)
    yield events.DocumentEndEvent(explicit=False)
    yield events.StreamEndEvent()


def _node(value: Json) -> Iterator[Any]:
    """Events of a value and all in it. The stack holds iterators over what is still to be written."""
    stack: list[Iterator[Any]] = [iter((value,))]
    while stack:
        try:
            item = next(stack[-1])
        except StopIteration:
            stack.pop()
            continue
        if isinstance(item, dict) and item:
            yield events.MappingStartEvent(None, None, True, flow_style=False)
            stack.append(_members(item))
        elif isinstance(item, list | tuple) and item:
            yield events.SequenceStartEvent(None, None, True, flow_style=False)
            stack.append(_items(item))
        elif isinstance(item, events.Event):
            yield item
        else:
            yield from _leaf(item)


def _members(value: dict[str, Json]) -> Iterator[Any]:
    for key in sorted(value, key=functools.cmp_to_key(_compare_keys)):
        yield key
        yield value[key]
    yield events.MappingEndEvent()


def _items(value: Json) -> Iterator[Any]:
    yield from value
    yield events.SequenceEndEvent()


def _leaf(value: Json) -> Iterator[Any]:
    if isinstance(value, str):
        yield events.ScalarEvent(None, None, _BOTH, value, style=_style(value))
    elif isinstance(value, dict):
        yield events.MappingStartEvent(None, None, True, flow_style=True)
        yield events.MappingEndEvent()
    elif isinstance(value, list | tuple):
        yield events.SequenceStartEvent(None, None, True, flow_style=True)
        yield events.SequenceEndEvent()
    else:
        yield events.ScalarEvent(None, None, _BOTH, _scalar(value))


def _scalar(value: Json) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return gotext.format_double(value) if isinstance(value, float) else str(value)


def _style(text: str) -> str | None:
    if "\n" in text:
        return "|"
    return '"' if _means_something_else(text) else None


def _means_something_else(text: str) -> bool:
    if text in _WORDS:
        return True
    if text[0] not in _STARTS:
        return False
    return any(pattern.match(text) for pattern in (_WHOLE, _SIXTIES, _TIME)) or _is_fraction(text.replace("_", ""))


def _is_fraction(text: str) -> bool:
    return _FRACTION.match(text) is not None and math.isfinite(float(text))


def _compare_keys(a: str, b: str) -> int:
    return -1 if _precedes(a, b) else 1 if _precedes(b, a) else 0


def _precedes(a: str, b: str) -> bool:
    """Numbers within keys by their value, letters after everything else."""
    at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)
    if at is None:
        return len(a) < len(b)
    a_letter, b_letter = _is_letter(a[at]), _is_letter(b[at])
    if a_letter and b_letter:
        return a[at] < b[at]
    if a_letter or b_letter:
        return b_letter
    # A zero that differs stands inside a number if digits other than zero stand before it.
    inside = "0" in (a[at], b[at]) and _follows_a_number(a, at)
    a_number, a_end = _number(a, at, inside=inside)
    b_number, b_end = _number(b, at, inside=inside)
    if a_number != b_number:
        return a_number < b_number
    return a_end < b_end if a_end != b_end else a[at] < b[at]


def _follows_a_number(text: str, at: int) -> bool:
    digits = re.search(r"[0-9]*\Z", text[:at])
    return digits is not None and digits[0].strip("0") != ""


def _number(text: str, at: int, *, inside: bool) -> tuple[int, int]:
    end = at
    while end < len(text) and text[end] in "0123456789":
        end += 1
    return int(("1" if inside else "0") + text[at : min(end, at + 300)]), end


def _is_letter(char: str) -> bool:
    return (char.isascii() and char.isalpha()) or unicodedata.category(char).startswith("L")
