"""Lines of a generated function: names, indentation, and cost that is added up until it must be written down.

No text of a user gets in here: lines are made of our own words, of numbered names (`t7`, `k3`), and of constants that
are handed to the function by name.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct, field

from kadmit.cel.values import Value

MAX_LINES = 1500
MAX_INDENT = 60


class TooBig(Exception):
    """Not worth a generated function; the exact evaluator will do."""


class Operand(Struct, frozen=True):
    """Python text that gives a value, and what is known of it: a Python class, or a CEL type name, or None."""

    text: str
    known: object = None


class Emission(Struct):
    """A function under construction."""

    lines: list[str] = field(default_factory=list)
    constants: dict[str, Value] = field(default_factory=dict)
    indent: int = 2
    pending: int = 0  # cost of straight-line code that is not written down yet
    _names: int = 0
    _by_identity: dict[int, str] = field(default_factory=dict)
    _strings: dict[str, str] = field(default_factory=dict)

    def name(self) -> str:
        self._names += 1
        return f"t{self._names}"

    def constant(self, value: Value) -> str:
        """The name of a value that the function is handed."""
        if value.__class__ is str:
            return (
                self._strings.setdefault(value, self._new_constant(value)) if value not in self._strings else self._strings[value]
            )
        known = self._by_identity.get(id(value))
        if known is None:
            known = self._by_identity[id(value)] = self._new_constant(value)
        return known

    def _new_constant(self, value: Value) -> str:
        name = f"k{len(self.constants)}"
        self.constants[name] = value  # NB: also keeps the value alive, so that its id stays its own
        return name

    def line(self, text: str) -> None:
        if len(self.lines) >= MAX_LINES or self.indent > MAX_INDENT:
            raise TooBig
        self.lines.append("  " * self.indent + text)

    def assign(self, text: str, known: object = None) -> Operand:
        name = self.name()
        self.line(f"{name} = {text}")
        return Operand(name, known)

    def charge(self, amount: int) -> None:
        self.pending += amount

    def charge_text(self, text: str) -> None:
        """Cost that only shows at run time."""
        self.line(f"c += {text}")

    def flush(self) -> None:
        """Write the pending cost down: control flow parts here."""
        if self.pending:
            self.line(f"c += {self.pending}")
            self.pending = 0

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """An indented block with its own cost."""
        self.flush()
        self.line(header)
        self.indent += 1
        before = len(self.lines)
        yield
        self.flush()
        if len(self.lines) == before:
            self.line("pass")
        self.indent -= 1

    def in_variable(self, operand: Operand) -> Operand:
        """The operand under a name of its own, so that it may be mentioned twice."""
        return operand if operand.text.isidentifier() else self.assign(operand.text, operand.known)
