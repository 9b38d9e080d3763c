"""From YAML text to values, as `yaml` promises them.

Kubernetes turns YAML into JSON first, by rules of YAML 1.1 with exceptions: `yes` and `y` are true, `0755` is octal, `08` is 8,
a date stays text, `12:30` too. Numbers that are whole come out as integers, however they are written. Keys become text.
Values are built from the parser's events with a stack of our own, so that no nesting and no alias can exhaust us.
"""

import base64
import binascii
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, TypeAlias

import yaml
from msgspec import Struct, field
from yaml import events

from kadmit.api.yaml import Document, YamlError

Json: TypeAlias = Any

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MAX_DEPTH = 254  # as deep as JSON can be written
_TAG = "tag:yaml.org,2002:"
_WORDS: dict[str, Json] = {
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], True),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], False),
    **dict.fromkeys(["", "~", "null", "Null", "NULL"], None),
    **dict.fromkeys([".nan", ".NaN", ".NAN"], math.nan),
    **dict.fromkeys([".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"], math.inf),
    **dict.fromkeys(["-.inf", "-.Inf", "-.INF"], -math.inf),
}
_WHOLE = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]([0-7]+)|0[bB]([01]+)|0([0-7]+)|(0|[1-9][0-9]*))\Z")
_BASES = (16, 8, 2, 8, 10)
_FRACTION = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_NUMERIC = frozenset("0123456789+-.")
_MAX_DIGITS = 400  # longer texts overflow any number that YAML knows
_INT_MIN, _INT_MAX, _UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1
_WITH_EXPONENT = 1e21
# How many of all values may come out of aliases: nearly all in small documents, a tenth in huge ones.
_FEW, _MANY = 400_000, 4_000_000


def documents(text: str | bytes) -> Iterator[Document]:
    """Every document, empty ones too. Raises YamlError."""
    parsed = _events(text)
    for event in parsed:
        if isinstance(event, events.DocumentStartEvent):
            yield _Values().document(_Nodes(parsed).read(next(parsed)))


def _events(text: str | bytes) -> Iterator[Any]:
    try:
        yield from yaml.parse(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        raise YamlError(_syntax_error(error)) from None
    except yaml.YAMLError as error:
        reason = getattr(error, "reason", "control characters are not allowed")
        raise YamlError(f"yaml: {reason}") from None
    except UnicodeDecodeError:
        raise YamlError("yaml: invalid Unicode character") from None


def _syntax_error(error: yaml.MarkedYAMLError) -> str:
    """NB: lines are counted from 0 here, except for what the scanner finds."""
    line = error.problem_mark.line if error.problem_mark else 0
    if line:
        line += isinstance(error, yaml.scanner.ScannerError)
    elif error.context_mark:
        line = error.context_mark.line
    where = f"line {line}: " if line else ""
    return f"yaml: {where}{error.problem or 'unknown problem parsing YAML content'}"


# --- Nodes -----------------------------------------------------------------------------------------------------------


class _Node(Struct, eq=False):
    """A scalar, list, map or alias, as it stands in the text."""

    event: Any
    children: list["_Node"] = field(default_factory=list)

    @property
    def line(self) -> int:
        line: int = self.event.start_mark.line + 1
        return line


class _Nodes:
    """Reads one document's events into nodes."""

    def __init__(self, parsed: Iterator[Any]) -> None:
        self._parsed = parsed
        self._anchors: dict[str, _Node] = {}

    def read(self, event: Any) -> _Node:
        root = self._node(event)
        open_nodes = [root] if isinstance(event, events.CollectionStartEvent) else []
        while open_nodes:
            event = next(self._parsed)
            if isinstance(event, events.CollectionEndEvent):
                open_nodes.pop()
                continue
            node = self._node(event)
            open_nodes[-1].children.append(node)
            if isinstance(event, events.CollectionStartEvent):
                open_nodes.append(node)
                if len(open_nodes) > _MAX_DEPTH:
                    raise YamlError(f"yaml: exceeded max depth of {_MAX_DEPTH}")
        return root

    def _node(self, event: Any) -> _Node:
        node = _Node(event)
        if isinstance(event, events.AliasEvent):
            target = self._anchors.get(event.anchor or "")
            if target is None:
                raise YamlError(f"yaml: unknown anchor '{event.anchor}' referenced")
            node.children.append(target)
        elif event.anchor:
            self._anchors[event.anchor] = node
        return node


# --- Values ----------------------------------------------------------------------------------------------------------


class _Values:
    """Turns the nodes of one document into values, and counts, so that aliases cannot multiply without end."""

    def __init__(self) -> None:
        self._repeated: list[str] = []
        self._count = 0
        self._aliased = 0
        self._inside: list[_Node] = []  # anchors whose aliases are being followed

    def document(self, root: _Node) -> Document:
        return Document(self._value(root), tuple(self._repeated))

    def _value(self, node: _Node) -> Json:
        self._tally()
        event = node.event
        if isinstance(event, events.ScalarEvent):
            return _as_json(_scalar(event))
        if isinstance(event, events.AliasEvent):
            return self._alias(node)
        if isinstance(event, events.SequenceStartEvent):
            return [self._value(child) for child in node.children]
        made: dict[str, Json] = {}
        self._fill(made, node)
        return made

    def _tally(self) -> None:
        self._count += 1
        self._aliased += bool(self._inside)
        if self._aliased > 100 and self._count > 1000 and self._aliased / self._count > _allowed_share(self._count):
            raise YamlError("yaml: document contains excessive aliasing")

    def _alias(self, node: _Node) -> Json:
        self._enter(node)
        value = self._value(node.children[0])
        self._inside.pop()
        return value

    def _enter(self, alias: _Node) -> None:
        target = alias.children[0]
        if target in self._inside or len(self._inside) > _MAX_DEPTH:
            raise YamlError(f"yaml: anchor '{alias.event.anchor}' value contains itself")
        self._inside.append(target)

    def _fill(self, made: dict[str, Json], node: _Node) -> None:
        for key, value in zip(node.children[::2], node.children[1::2], strict=True):
            if _is_merge(key):
                self._merge(made, value)
                continue
            name = self._key(key)
            member = self._value(value)
            if name in made:
                self._repeated.append(f"line {value.line}: key {_shown_key(key)} already set in map")
            made[name] = member

    def _merge(self, made: dict[str, Json], node: _Node) -> None:
        """`<<`: NB: what it brings replaces what stands before it."""
        kind = node.event
        if isinstance(kind, events.MappingStartEvent):
            self._tally()
            self._fill(made, node)
        elif isinstance(kind, events.AliasEvent) and isinstance(node.children[0].event, events.MappingStartEvent):
            self._enter(node)
            self._tally()
            self._fill(made, node.children[0])
            self._inside.pop()
        elif isinstance(kind, events.SequenceStartEvent):
            for child in reversed(node.children):
                self._merge(made, child)
        else:
            raise YamlError("yaml: map merge requires map or sequence of maps as the value")

    def _key(self, node: _Node) -> str:
        while isinstance(node.event, events.AliasEvent):
            node = node.children[0]
        if not isinstance(node.event, events.ScalarEvent):
            raise YamlError(f"yaml: invalid map key: line {node.line}")
        self._tally()
        key = _scalar(node.event)
        if key is None:
            raise YamlError("unsupported map key of type: %!s(<nil>), key: <nil>")
        if isinstance(key, float):
            return _float_key(key)
        return ("true" if key else "false") if isinstance(key, bool) else str(key)


def _allowed_share(count: int) -> float:
    if count <= _FEW:
        return 0.99
    return 0.10 if count >= _MANY else 0.99 - 0.89 * (count - _FEW) / (_MANY - _FEW)


def _is_merge(node: _Node) -> bool:
    event = node.event
    return isinstance(event, events.ScalarEvent) and event.value == "<<" and (event.implicit[0] or event.tag == f"{_TAG}merge")


def _shown_key(node: _Node) -> str:
    while isinstance(node.event, events.AliasEvent):
        node = node.children[0]
    key = _scalar(node.event)
    if isinstance(key, bool):
        return "true" if key else "false"
    return f'"{key}"' if isinstance(key, str) else str(key)


def _float_key(key: float) -> str:
    if not math.isfinite(key):
        return ".nan" if math.isnan(key) else ".inf" if key > 0 else "-.inf"
    return str(int(key)) if key.is_integer() and abs(key) < _WITH_EXPONENT else repr(key)


# --- Scalars ---------------------------------------------------------------------------------------------------------


def _scalar(event: Any) -> Json:
    tag = event.tag
    if tag is None:
        return _resolved(event.value) if event.implicit[0] else event.value
    if not tag.startswith(_TAG) or tag == f"{_TAG}str":
        return event.value
    return _tagged(tag.removeprefix(_TAG), event.value)


_KINDS = {str: "str", bool: "bool", int: "int", float: "float", type(None): "null"}


def _tagged(tag: str, text: str) -> Json:
    if tag == "binary":
        return _binary(text)
    if tag not in ("bool", "int", "float", "null", "timestamp"):
        return text
    value = _resolved(text)
    kind = _KINDS[type(value)]
    if tag == kind or (tag == "float" and kind == "int"):
        return float(value) if tag == "float" else value
    if tag == "timestamp" and kind == "str":
        return text
    raise YamlError(f"yaml: cannot decode !!{kind} `{text}` as a !!{tag}")


def _binary(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        raise YamlError("yaml: !!binary value contains invalid base64 data") from None


def _resolved(text: str) -> Json:
    """What a plain text means."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC or len(text) > _MAX_DIGITS:
        return text
    if text[0] == ".":
        return float(text) if _FRACTION.match(text) else text
    return _number(text, text.replace("_", ""))


def _number(text: str, digits: str) -> Json:
    whole = _WHOLE.match(digits)
    if whole is not None:
        sign, *parts = whole.groups()
        number = next(int(part, base) for part, base in zip(parts, _BASES, strict=True) if part)
        number = -number if sign == "-" else number
        if _INT_MIN <= number <= (_INT_MAX if sign else _UINT_MAX):
            return number
    if _FRACTION.match(digits):
        found = float(digits)
        return found if math.isfinite(found) else text
    return text


def _as_json(value: Json) -> Json:
    """The value after a trip through JSON text."""
    if isinstance(value, float):
        if not math.isfinite(value):
            shown = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
            raise YamlError(f"json: unsupported value: {shown}")
        if value.is_integer() and abs(value) < _WITH_EXPONENT:
            written = int(Decimal(repr(value)))  # NB: Go writes the shortest digits that read back, then zeros
            return written if _INT_MIN <= written <= _INT_MAX else value
    elif value.__class__ is int and value > _INT_MAX:
        return float(value)
    return value
