"""What admission changed, as a unified diff of YAML; in colours where there is somebody to see them."""

import difflib
from collections.abc import Iterator

from kadmit.authoring.manifests import Json
from kadmit.presentation import yamltext

BOLD, RED, GREEN, CYAN, PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[0m"


def unified(before: Json, after: Json, title: str) -> list[str]:
    """The lines of a diff; none where nothing changed."""
    lines = difflib.unified_diff(_lines(before), _lines(after), f"{title} as sent", f"{title} as admitted", lineterm="")
    return list(lines)


def _lines(value: Json) -> list[str]:
    return yamltext.dump(value).decode().splitlines()


def coloured(lines: list[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        colour = BOLD if number < 2 else {"@": CYAN, "-": RED, "+": GREEN}.get(line[:1])
        yield f"{colour}{line}{PLAIN}" if colour else line
