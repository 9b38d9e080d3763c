"""Where in a YAML or JSON file a field stands: for people who look for what an error is about.

Only asked when there is something to tell, so the file is parsed a second time then, by the parser's own nodes.
"""

import re
from collections.abc import Sequence
from typing import Any, TypeAlias

import yaml

Path: TypeAlias = Sequence[str]

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PART = re.compile(r"\[([^\]]*)\]|([^.\[]+)")
_IN_EXPRESSION = re.compile(r"<input>:([0-9]{1,9}):")


def parts(field: str) -> list[str]:
    """spec.rules[0].operations as its parts: spec, rules, 0, operations."""
    return [index or name for index, name in _PART.findall(field)]


class Positions:
    """The lines of one file, counted from 1."""

    def __init__(self, data: bytes) -> None:
        try:
            self._roots: list[Any] = list(yaml.compose_all(data, Loader=_LOADER))
        except (yaml.YAMLError, UnicodeDecodeError):
            self._roots = []  # JSON that is not YAML: tabs, for one

    def line(self, document: int, path: Path, message: str = "") -> int:
        """The line of a field, or of the nearest thing around it; inside an expression, if the message tells where."""
        if document >= len(self._roots):
            return 1
        line, node = _found(self._roots[document], path)
        inside = _IN_EXPRESSION.search(message)
        return line if inside is None else _line_of_text(node, int(inside[1]))


def _found(root: Any, path: Path) -> tuple[int, Any]:
    """The line of the key and the value at the end of a path, as far as there is one."""
    line, node = root.start_mark.line + 1, root
    for part in path:
        if isinstance(node, yaml.MappingNode):
            named = [(key, value) for key, value in node.value if key.value == part]
            if not named:
                break
            key, node = named[-1]
            line = key.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode) and part.isdecimal() and int(part) < len(node.value):
            node = node.value[int(part)]
            line = node.start_mark.line + 1
        else:
            break
    return line, node


def _line_of_text(node: Any, nth: int) -> int:
    """The nth line of a text. NB: only literal blocks keep their lines."""
    first: int = node.start_mark.line + 1
    style = getattr(node, "style", None)
    return first + nth if style == "|" else first + 1 if style == ">" else first
