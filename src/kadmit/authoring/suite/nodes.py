"""Values of a suite's file on their way to being understood: each knows where it stands, and where to complain.

Reading never stops at the first mistake: a value that is not what it should be is noted, and something harmless goes on in its
place. Who began the reading raises `BadSuite` at its end, if anything was noted.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from msgspec import Struct, field

from kadmit.authoring.manifests import File
from kadmit.authoring.suite.model import Problem

T = TypeVar("T")

_KINDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}


class Problems(Struct):
    """What was found wrong with one document of a file."""

    file: File
    document: int = 0
    found: list[Problem] = field(default_factory=list)

    def add(self, path: Sequence[str], message: str, hint: str = "", *, of_key: bool = True) -> None:
        line, column = self.file.positions.place(self.document, path, None if of_key else 0)
        self.found.append(Problem(self.file.name, line, column, message, hint))


class Node(Struct, frozen=True):
    """A value, the way to it, and where its problems are noted."""

    problems: Problems
    path: tuple[str, ...]
    value: Any

    @property
    def title(self) -> str:
        """Its path, as people write one."""
        made = ""
        for part in self.path:
            made += f"[{part}]" if part.isdecimal() else f".{part}" if made else part
        return made or "the suite"

    def complain(self, message: str, hint: str = "") -> None:
        self.problems.add(self.path, f"{self.title}: {message}", hint)

    def complain_at_value(self, message: str, hint: str = "") -> None:
        self.problems.add(self.path, f"{self.title}: {message}", hint, of_key=False)

    # ------------------------------------------------------------ what it should be

    def _is(self, kinds: type | tuple[type, ...], wanted: str) -> bool:
        value = self.value
        fits = isinstance(value, kinds) and not (isinstance(value, bool) and kinds is not bool)
        if not fits:
            self.complain(f"must be {wanted}, is {_KINDS.get(value.__class__, 'nothing')}")
        return fits

    def text(self, *, wanted: str = "a text") -> str:
        return str(self.value) if self._is(str, wanted) else ""

    def number(self) -> int:
        return int(self.value) if self._is(int, "a whole number") else 0

    def flag(self) -> bool:
        return bool(self.value) if self._is(bool, "true or false") else False

    def one_of(self, choices: Sequence[str]) -> str:
        text = self.text(wanted=f"one of {', '.join(choices)}")
        if text and text not in choices:
            self.complain_at_value(f'must be one of {", ".join(choices)}, is "{text}"', nearest(text, choices))
            return ""
        return text

    def object(self, *, wanted: str = "an object") -> dict[str, Any]:
        return self.value if self._is(dict, wanted) else {}

    def elements(self, *, wanted: str = "a list") -> list["Node"]:
        values = self.value if self._is(list, wanted) else []
        return [Node(self.problems, (*self.path, str(i)), value) for i, value in enumerate(values)]

    def texts(self) -> tuple[str, ...]:
        return tuple(element.text() for element in self.elements(wanted="a list of texts"))

    def members(self) -> Iterator[tuple[str, "Node"]]:
        for key, value in self.object().items():
            yield key, Node(self.problems, (*self.path, key), value)

    # ------------------------------------------------------------ what is in it

    def known(self, keys: Iterable[str], *, wanted: str = "an object") -> bool:
        """Notes every key that is not among these; whether it is an object at all."""
        allowed = list(keys)
        if not self._is(dict, wanted):
            return False
        for key in self.value:
            if key not in allowed:
                there = nearest(key, allowed) or f"there {'are' if len(allowed) > 1 else 'is'} {', '.join(allowed)}"
                self.problems.add((*self.path, key), f'{self.title}: unknown key "{key}"', there)
        return True

    def has(self, key: str) -> bool:
        return isinstance(self.value, dict) and key in self.value

    def at(self, key: str) -> "Node":
        return Node(self.problems, (*self.path, key), self.value.get(key) if isinstance(self.value, dict) else None)

    def get(self, key: str, read: Callable[["Node"], T], otherwise: T) -> T:
        return read(self.at(key)) if self.has(key) else otherwise


def nearest(word: str, choices: Iterable[str]) -> str:
    """A hint for a word that is nearly one of these."""
    import difflib

    by_lower = {choice.lower(): choice for choice in choices}
    found = difflib.get_close_matches(word.lower(), by_lower, n=1)
    return f'did you mean "{by_lower[found[0]]}"?' if found else ""
