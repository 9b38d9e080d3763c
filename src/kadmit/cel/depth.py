"""Whether an expression may nest more deeply than cel-go allows: 250 levels, by two counts of its own.

While reading, each rule of the grammar counts how often it is active at once: in `a + b + c` that of calculations is
so once, once more per operator, and once more for each right side that is being read (there are two: of + and of *).
While building the tree, conditionals, relations, calculations and accesses count that lie within each other.

One cautious sum stands for both here: per bracket three levels and one per operator of a term. Where that sum is too
high, `broken` counts exactly; it is slower, but hardly any real expression comes near.
"""

from msgspec import Struct

from kadmit.cel import lexer as lex

LIMIT = 250

_LEVELS_PER_BRACKET = 3
_OPENING = frozenset((lex.LPAREN, lex.LBRACKET, lex.LBRACE))
_CLOSING = frozenset((lex.RPAREN, lex.RBRACKET, lex.RBRACE))
_TERM_ENDS = frozenset((lex.AND, lex.OR))
_STEPS = frozenset((*range(lex.EQUALS, lex.GREATER + 1), lex.DOT, lex.MINUS, lex.PLUS, lex.STAR, lex.SLASH, lex.PERCENT))


def may_exceed_limit(kinds: list[int]) -> bool:
    """A few tokens cannot nest deeply. Otherwise all brackets are measured."""
    return len(kinds) > LIMIT // _LEVELS_PER_BRACKET and _height(kinds) > LIMIT


class _Bracket(Struct):
    """What stands within one pair of brackets."""

    conditionals: int = 0
    steps: int = 0  # operators of the term at hand
    inner: int = 0  # the highest bracket within that term
    highest: int = 0  # the highest term so far

    def end_term(self) -> None:
        self.highest = max(self.highest, self.steps + self.inner)
        self.steps = self.inner = 0

    def height(self) -> int:
        self.end_term()
        return _LEVELS_PER_BRACKET + self.conditionals + self.highest


def _height(kinds: list[int]) -> int:
    """The cautious sum. Brackets that do not match are an error that others will find."""
    here = _Bracket()
    outside: list[_Bracket] = []
    for kind in kinds:
        if kind in _STEPS:
            here.steps += 1
        elif kind in _TERM_ENDS or kind == lex.COMMA:
            here.end_term()
        elif kind == lex.QUESTION:
            here.conditionals += 1
        elif kind in _OPENING:
            here.steps += 1
            outside.append(here)
            here = _Bracket()
        elif kind in _CLOSING and outside:
            height = here.height()
            here = outside.pop()
            here.inner = max(here.inner, height)
    return here.height()
