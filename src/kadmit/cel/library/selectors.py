"""Field and label selectors as texts, for authorization checks: read into requirements, or refused with a reason.

    spec.nodeName=node-1,status.phase!=Failed
    tier in (web, api), !legacy, size>3

A request for authorization carries the requirements. One whose selector cannot be read is authorized without them.
"""

import re

from msgspec import Struct

from kadmit.cel import gotext
from kadmit.cel.library import names


class FieldRequirement(Struct, frozen=True):
    field: str
    operator: str  # = or !=
    value: str


class LabelRequirement(Struct, frozen=True):
    key: str
    operator: str  # =, ==, !=, in, notin, gt, lt, exists, !
    values: tuple[str, ...] = ()


class _Malformed(Exception):
    pass


# ---------------------------------------------------------------- field selectors

_TERM = re.compile(r"(?:[^\\,]|\\.?)+", re.DOTALL)
_OPERATOR = re.compile(r"!=|==|=")
_ESCAPED = re.compile(r"\\(.?)|([,=])", re.DOTALL)


def parse_fields(text: str) -> tuple[FieldRequirement, ...] | str:
    """The requirements sorted by their text, or the text of the error. One without field and value asks nothing."""
    try:
        found = [_field_requirement(text, term) for term in sorted(_TERM.findall(text))]
    except _Malformed as malformed:
        return str(malformed)
    return tuple(r for r in found if r.field or r.value)


def _field_requirement(text: str, term: str) -> FieldRequirement:
    found = _OPERATOR.search(term)
    if found is None:
        raise _Malformed(f"invalid selector: '{text}'; can't understand '{term}'")
    value = _ESCAPED.sub(_unescaped, term[found.end() :])
    return FieldRequirement(term[: found.start()], "!=" if found[0] == "!=" else "=", value)


def _unescaped(found: re.Match[str]) -> str:
    if found[2]:
        raise _Malformed(f"invalid field selector: unescaped character in value: {ord(found[2])}")
    if found[1] not in ("\\", ",", "="):
        raise _Malformed(f"invalid field selector: invalid escape sequence: {found[0]}")
    return found[1]


# ---------------------------------------------------------------- label selectors

_TOKEN = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+|$)")
_BINARY = {"in": "in", "=": "=", "==": "==", ">": "gt", "<": "lt", "notin": "notin", "!=": "!="}
_BINARY_NAMES = "in, notin, =, ==, !=, gt, lt"
_SYMBOLS = frozenset(("==", "!=", "=", "!", "(", ")", ",", "<", ">"))
_INTEGER = "for 'Gt', 'Lt' operators, the value must be an integer"


def parse_labels(text: str) -> tuple[LabelRequirement, ...] | str:
    """The requirements sorted by key, or the text of the error."""
    try:
        return tuple(sorted(_Reader(_tokens(text)).requirements(), key=lambda r: r.key))
    except _Malformed as malformed:
        return str(malformed)


def _tokens(text: str) -> list[str]:
    """Symbols and words, and nothing for the end. NB: a zero byte ends the text."""
    return [*_TOKEN.findall(text.partition("\0")[0]), ""]


class _Reader:
    """Reads tokens from left to right; raises _Malformed."""

    __slots__ = ("position", "tokens")

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.position = 0

    @property
    def next(self) -> str:
        return self.tokens[self.position]

    def take(self) -> str:
        token = self.next
        if token:
            self.position += 1
        return token

    def requirements(self) -> list[LabelRequirement]:
        found: list[LabelRequirement] = []
        while self.next:
            if not _is_word(self.next) and self.next != "!":
                raise _Malformed(f"found '{self.next}', expected: !, identifier, or 'end of string'")
            found.append(self.requirement())
            separator = self.take()
            if separator not in ("", ","):
                raise _Malformed(f"found '{separator}', expected: ',' or 'end of string'")
            if separator and not _is_word(self.next) and self.next != "!":
                raise _Malformed(f"found '{self.next}', expected: identifier after ','")
        return found

    def requirement(self) -> LabelRequirement:
        try:
            requirement = self.key_and_operator()
            _check(requirement)
        except _Malformed as malformed:
            raise _Malformed(f"unable to parse requirement: {malformed}") from None
        return requirement

    def key_and_operator(self) -> LabelRequirement:
        negated = self.next == "!"
        if negated:
            self.take()
        key = self.take()
        if not _is_word(key):
            raise _Malformed(f"found '{key}', expected: identifier")
        _check_key(key)
        if negated:
            return LabelRequirement(key, "!")
        if self.next in ("", ","):
            return LabelRequirement(key, "exists")
        operator = self.operator()
        return LabelRequirement(key, operator, self.values() if operator in ("in", "notin") else self.value())

    def operator(self) -> str:
        token = self.take()
        if token not in _BINARY:
            raise _Malformed(f"found '{token}', expected: {_BINARY_NAMES}")
        return _BINARY[token]

    def value(self) -> tuple[str, ...]:
        if self.next in ("", ","):
            return ("",)
        token = self.take()
        if not _is_word(token):
            raise _Malformed(f"found '{token}', expected: identifier")
        return (token,)

    def values(self) -> tuple[str, ...]:
        opening = self.take()
        if opening != "(":
            raise _Malformed(f"found '{opening}' expected: '('")
        if self.next == ")":
            self.take()
            return ("",)
        if not _is_word(self.next) and self.next != ",":
            raise _Malformed(f"found '{self.next}', expected: ',', ')' or identifier")
        values = self.listed()
        self.take()
        return tuple(sorted(values))

    def listed(self) -> set[str]:
        """The values up to the closing bracket; a comma without a value beside it stands for an empty one."""
        values: set[str] = set()
        while True:
            taken = self.take()
            if _is_word(taken):
                values.add(taken)
                if self.next not in (")", ","):
                    raise _Malformed(f"found '{self.next}', expected: ',' or ')'")
            elif taken != ",":
                raise _Malformed(f"found '{taken}', expected: ',', or identifier")
            elif not values or self.next in (")", ","):
                values.add("")
            if self.next == ")":
                return values


def _is_word(token: str) -> bool:
    return bool(token) and token not in _SYMBOLS


def _check_key(key: str) -> None:
    problems = names.label_key(key)
    if problems:
        raise _Malformed(f"<nil>: Invalid value: {gotext.quote(key)}: {'; '.join(problems)}")


def _check(requirement: LabelRequirement) -> None:
    problems = []
    if requirement.operator in ("gt", "lt") and gotext.parse_int(requirement.values[0]) is None:
        problems.append(f"values[0]: Invalid value: {gotext.quote(requirement.values[0])}: {_INTEGER}")
    for i, value in enumerate(requirement.values):
        wrong = names.label_value(value)
        if wrong:
            problems.append(f"values[{i}][{requirement.key}]: Invalid value: {gotext.quote(value)}: {'; '.join(wrong)}")
    if problems:
        distinct = list(dict.fromkeys(problems))
        raise _Malformed(distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]")
