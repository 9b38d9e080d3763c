"""What a text must be: exactly this, or one that contains these, or one that a pattern matches."""

from msgspec import Struct

from kadmit.cel.values import CelError


class Text(Struct, frozen=True):
    """Everything that is given must hold. Patterns are Go's, found anywhere in the text."""

    exact: str | None = None
    contains: tuple[str, ...] = ()
    matches: str = ""

    def holds(self, found: str) -> bool:
        is_exact = self.exact is None or found == self.exact
        return is_exact and all(part in found for part in self.contains) and (not self.matches or _matches(self.matches, found))

    def __str__(self) -> str:
        if self.exact is not None:
            return f'"{self.exact}"'
        parts = [f'contains "{part}"' for part in self.contains]
        return " and ".join([*parts, *([f"matches {self.matches}"] if self.matches else [])]) or "anything"


def pattern_error(pattern: str) -> str:
    """What is wrong with a pattern; nothing if it can be used."""
    from kadmit.cel import re2

    found = re2.compile_pattern(pattern)
    return found.message if isinstance(found, CelError) else ""


def _matches(pattern: str, found: str) -> bool:
    from kadmit.cel import re2

    compiled = re2.compile_pattern(pattern)
    return not isinstance(compiled, CelError) and compiled.search(found)
