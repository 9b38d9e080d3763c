"""CEL's grammar as data, and the state graph that it spans.

cel-go reads with a parser that ANTLR generates from this grammar. How that parser words an error, where it puts it and
how it goes on depends on the grammar's shape: which choices it makes by looking at one token, which by looking as far
as needed, where it checks that the next token makes sense. All of that is written down here; `recovery` walks it.

A rule is a sequence of elements. Every element knows its state in the graph: states say which tokens can come next.
Left-recursive rules (`calc: calc '*' calc | …`) are loops whose alternatives carry a precedence, as ANTLR rewrites them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from kadmit.cel import lexer as lex

# Sets of token kinds are bit masks. The end of a rule, reached without a token, is a member, too.
END_OF_RULE = 1 << 63


class Place(Enum):
    """What a state is. Tokens that cannot come next are treated differently before a choice and after a loop's turn."""

    PLAIN = "plain"
    STOP = "stop"
    CHOICE = "choice"
    BLOCK_END = "block end"
    LOOP_ENTRY = "loop entry"
    LOOP_BACK = "loop back"


@dataclass(eq=False, slots=True)
class State:
    number: int
    rule: "Rule"
    place: Place
    edges: list["Edge"] = field(default_factory=list)
    # Of a loop entry of a left-recursive rule: where each turn of the loop ends.
    precedence_loop_end: "State | None" = None
    _next: int = 0

    def is_silent(self) -> bool:
        """Whether one leaves it without a token."""
        return bool(self.edges) and not self.edges[0].tokens

    def next_tokens(self) -> int:
        """Tokens that can come next within the rule, and END_OF_RULE if it can end here. No rule is ever empty."""
        if not self._next:
            self._next = _next_tokens(self)
        return self._next


@dataclass(eq=False, slots=True, frozen=True)
class Edge:
    """A way out of a state: by a token, through a rule (then `follow` is where one comes back), or for nothing."""

    target: State
    tokens: int = 0
    follow: State | None = None
    precedence: int = 0  # only where the rule runs with at most this precedence
    calls_outermost: bool = False  # a call of a left-recursive rule from without


def _next_tokens(state: State) -> int:
    if state.place is Place.STOP:
        return END_OF_RULE
    found = 0
    seen = {state}
    todo = [state]
    while todo:
        for edge in todo.pop().edges:
            found |= edge.tokens
            if edge.target.place is Place.STOP and not edge.tokens:
                found |= END_OF_RULE
            elif not edge.tokens and edge.target not in seen:
                seen.add(edge.target)
                todo.append(edge.target)
    return found


@dataclass(eq=False, slots=True)
class Token:
    """One token out of a set. What is read is kept under the label."""

    kinds: int
    label: str = ""
    state: State = field(init=False)


@dataclass(eq=False, slots=True)
class Call:
    """Another rule."""

    rule: str
    label: str = ""
    precedence: int = 0
    state: State = field(init=False)


@dataclass(eq=False, slots=True)
class Optional:
    """Taken where the next token can begin it."""

    body: list["Element"]
    state: State = field(init=False)


@dataclass(eq=False, slots=True)
class Loop:
    """Zero or more turns, or one or more. `predicted`: one token does not tell whether there is another turn."""

    body: list["Element"]
    predicted: bool = False
    at_least_once: bool = False
    state: State = field(init=False)
    back: State = field(init=False)
    turn: State = field(init=False)

    def decision(self) -> State:
        return self.back if self.at_least_once else self.state


@dataclass(eq=False, slots=True)
class Choice:
    """One of several named bodies."""

    bodies: dict[str, list["Element"]]
    predicted: bool = True
    state: State = field(init=False)


@dataclass(eq=False, slots=True)
class Recursion:
    """What follows the first operand of a left-recursive rule: any number of named bodies, each with its precedence."""

    bodies: dict[str, tuple[int, list["Element"]]]
    state: State = field(init=False)
    turn: State = field(init=False)
    back: State = field(init=False)


Element: TypeAlias = Token | Call | Optional | Loop | Choice | Recursion


@dataclass(eq=False, slots=True)
class Rule:
    name: str
    body: list[Element]
    start: State = field(init=False)
    stop: State = field(init=False)
    left_recursive: bool = field(init=False)

    def __post_init__(self) -> None:
        self.left_recursive = isinstance(self.body[-1], Recursion)


def mask(*kinds: int) -> int:
    return sum(1 << kind for kind in kinds)


def _token(kind: int, label: str = "") -> Token:
    return Token(mask(kind), label)


def _mark() -> Optional:
    return Optional([_token(lex.QUESTION, "opt")])


def _sign() -> Optional:
    return Optional([_token(lex.MINUS, "sign")])


def _leading_dot() -> Optional:
    return Optional([_token(lex.DOT, "leadingDot")])


def _trailing_comma() -> Optional:
    return Optional([_token(lex.COMMA)])


def _arguments() -> Optional:
    return Optional([Call("exprList", "args")])


def _entry(key: str, label: str) -> list[Element]:
    return [Call(key, label), _token(lex.COLON, "cols"), Call("expr", "values")]


def _rules() -> dict[str, list[Element]]:
    return {**_operators(), **_operands(), **_initializers(), **_literals()}


def _operators() -> dict[str, list[Element]]:
    """From what binds least to what binds most."""
    return {
        "start": [Call("expr", "e"), _token(lex.EOF)],
        "expr": [
            Call("conditionalOr", "e"),
            Optional(
                [_token(lex.QUESTION, "op"), Call("conditionalOr", "e1"), _token(lex.COLON), Call("expr", "e2")],
            ),
        ],
        "conditionalOr": [Call("conditionalAnd", "e"), Loop([_token(lex.OR, "ops"), Call("conditionalAnd", "e1")])],
        "conditionalAnd": [Call("relation", "e"), Loop([_token(lex.AND, "ops"), Call("relation", "e1")])],
        "relation": [
            Call("calc"),
            Recursion(
                {"relation": (1, [Token(mask(*range(lex.EQUALS, lex.GREATER + 1)), "op"), Call("relation", precedence=2)])}
            ),
        ],
        "calc": [
            Call("unary"),
            Recursion(
                {
                    "product": (2, [Token(mask(lex.STAR, lex.SLASH, lex.PERCENT), "op"), Call("calc", precedence=3)]),
                    "sum": (1, [Token(mask(lex.PLUS, lex.MINUS), "op"), Call("calc", precedence=2)]),
                }
            ),
        ],
        "unary": [
            Choice(
                {
                    "memberExpr": [Call("member")],
                    "logicalNot": [Loop([_token(lex.EXCLAM, "ops")], at_least_once=True), Call("member")],
                    "negate": [Loop([_token(lex.MINUS, "ops")], at_least_once=True, predicted=True), Call("member")],
                }
            )
        ],
    }


def _operands() -> dict[str, list[Element]]:
    return {
        "member": [
            Call("primary"),
            Recursion(
                {
                    "select": (3, [_token(lex.DOT, "op"), _mark(), Call("escapeIdent", "id")]),
                    "memberCall": (
                        2,
                        [
                            _token(lex.DOT, "op"),
                            _token(lex.IDENTIFIER, "id"),
                            _token(lex.LPAREN, "open"),
                            _arguments(),
                            _token(lex.RPAREN),
                        ],
                    ),
                    "index": (1, [_token(lex.LBRACKET, "op"), _mark(), Call("expr", "index"), _token(lex.RBRACKET)]),
                }
            ),
        ],
        "primary": [Choice({**_plain_operands(), **_created()})],
    }


def _plain_operands() -> dict[str, list[Element]]:
    return {
        "ident": [_leading_dot(), _token(lex.IDENTIFIER, "id")],
        "globalCall": [
            _leading_dot(),
            _token(lex.IDENTIFIER, "id"),
            _token(lex.LPAREN, "op"),
            _arguments(),
            _token(lex.RPAREN),
        ],
        "nested": [_token(lex.LPAREN), Call("expr", "e"), _token(lex.RPAREN)],
    }


def _created() -> dict[str, list[Element]]:
    """Lists, maps and messages; and literals, which the grammar tries last."""
    return {
        "createList": [
            _token(lex.LBRACKET, "op"),
            Optional([Call("listInit", "elems")]),
            _trailing_comma(),
            _token(lex.RBRACKET),
        ],
        "createStruct": [
            _token(lex.LBRACE, "op"),
            Optional([Call("mapInitializerList", "entries")]),
            _trailing_comma(),
            _token(lex.RBRACE),
        ],
        "createMessage": [
            _leading_dot(),
            _token(lex.IDENTIFIER, "ids"),
            Loop([_token(lex.DOT), _token(lex.IDENTIFIER, "ids")]),
            _token(lex.LBRACE, "op"),
            Optional([Call("fieldInitializerList", "entries")]),
            _trailing_comma(),
            _token(lex.RBRACE),
        ],
        "constantLiteral": [Call("literal", "literal")],
    }


def _initializers() -> dict[str, list[Element]]:
    return {
        "exprList": [Call("expr", "e"), Loop([_token(lex.COMMA), Call("expr", "e")])],
        "listInit": [Call("optExpr", "elems"), Loop([_token(lex.COMMA), Call("optExpr", "elems")], predicted=True)],
        "fieldInitializerList": [
            *_entry("optField", "fields"),
            Loop([_token(lex.COMMA), *_entry("optField", "fields")], predicted=True),
        ],
        "optField": [_mark(), Call("escapeIdent", "name")],
        "mapInitializerList": [
            *_entry("optExpr", "keys"),
            Loop([_token(lex.COMMA), *_entry("optExpr", "keys")], predicted=True),
        ],
        "escapeIdent": [
            Choice(
                {
                    "simpleIdentifier": [_token(lex.IDENTIFIER, "id")],
                    "escapedIdentifier": [_token(lex.ESC_IDENTIFIER, "id")],
                },
                predicted=False,
            )
        ],
        "optExpr": [_mark(), Call("expr", "e")],
    }


def _literals() -> dict[str, list[Element]]:
    return {
        "literal": [
            Choice(
                {
                    "int": [_sign(), _token(lex.INT, "tok")],
                    "uint": [_token(lex.UINT, "tok")],
                    "double": [_sign(), _token(lex.FLOAT, "tok")],
                    "string": [_token(lex.STRING, "tok")],
                    "bytes": [_token(lex.BYTES, "tok")],
                    "true": [_token(lex.TRUE, "tok")],
                    "false": [_token(lex.FALSE, "tok")],
                    "null": [_token(lex.NULL, "tok")],
                }
            )
        ],
    }


class _Graph:
    """Lays out the states of all rules."""

    def __init__(self) -> None:
        self.rules = {name: Rule(name, body) for name, body in _rules().items()}
        self._count = 0
        for rule in self.rules.values():
            rule.start = self._state(rule)
            rule.stop = self._state(rule, Place.STOP)
        for rule in self.rules.values():
            end = self._state(rule)
            end.edges.append(Edge(rule.stop))
            self._sequence(rule.body, rule.start, end)
        for rule in self.rules.values():
            rule.stop.edges = self._returns_from(rule)

    def _state(self, rule: Rule, place: Place = Place.PLAIN) -> State:
        self._count += 1
        return State(self._count, rule, place)

    def _sequence(self, elements: list[Element], start: State, end: State) -> None:
        """NB: the last elements of all bodies of a block lead to the same state. Alternatives can meet only there."""
        here = start
        for element in elements[:-1]:
            after = self._state(here.rule)
            self._element(element, here, after)
            here = after
        self._element(elements[-1], here, end)

    def _element(self, element: Element, here: State, after: State) -> None:
        match element:
            case Token():
                element.state = here
                here.edges.append(Edge(after, element.kinds))
            case Call():
                element.state = here
                rule = self.rules[element.rule]
                outermost = rule.left_recursive and element.precedence == 0
                here.edges.append(Edge(rule.start, follow=after, calls_outermost=outermost))
            case Optional():
                element.state = self._block([element.body], here, after)
                element.state.edges.append(Edge(after))
            case Choice():
                element.state = self._block(list(element.bodies.values()), here, after)
            case Loop():
                self._loop(element, here, after)
            case Recursion():
                self._recursion(element, here, after)

    def _block(self, bodies: list[list[Element]], here: State, after: State) -> State:
        block = self._state(here.rule, Place.CHOICE)
        here.edges.append(Edge(block))
        for body in bodies:
            first = self._state(here.rule)
            block.edges.append(Edge(first))
            self._sequence(body, first, after)
        return block

    def _loop(self, loop: Loop, here: State, after: State) -> None:
        end = self._state(here.rule, Place.BLOCK_END)
        loop.back = self._state(here.rule, Place.LOOP_BACK)
        end.edges.append(Edge(loop.back))
        if loop.at_least_once:
            loop.state = loop.turn = self._block([loop.body], here, end)
            loop.back.edges = [Edge(loop.turn), Edge(after)]
        else:
            loop.state = self._state(here.rule, Place.LOOP_ENTRY)
            here.edges.append(Edge(loop.state))
            loop.turn = self._block([loop.body], loop.state, end)
            loop.state.edges.append(Edge(after))
            loop.back.edges = [Edge(loop.state)]

    def _recursion(self, recursion: Recursion, here: State, after: State) -> None:
        rule = here.rule
        end = self._state(rule, Place.BLOCK_END)
        recursion.back = self._state(rule, Place.LOOP_BACK)
        recursion.state = self._state(rule, Place.LOOP_ENTRY)
        recursion.turn = self._state(rule, Place.CHOICE)
        recursion.state.precedence_loop_end = end
        here.edges.append(Edge(recursion.state))
        recursion.state.edges = [Edge(recursion.turn), Edge(after)]
        for precedence, body in recursion.bodies.values():
            checked, first = self._state(rule), self._state(rule)
            recursion.turn.edges.append(Edge(checked))
            checked.edges.append(Edge(first, precedence=precedence))
            self._sequence(body, first, end)
        end.edges.append(Edge(recursion.back))
        recursion.back.edges.append(Edge(recursion.state))

    def _returns_from(self, rule: Rule) -> list[Edge]:
        """Where a rule may go on when nobody knows who called it: behind every call of it."""
        calls = [edge for state in self._all_states() for edge in state.edges if edge.target is rule.start]
        return [Edge(edge.follow, calls_outermost=edge.calls_outermost) for edge in calls if edge.follow is not None]

    def _all_states(self) -> list[State]:
        seen = [rule.start for rule in self.rules.values()]
        known = set(seen)
        for state in seen:
            for edge in state.edges:
                for target in (edge.target, edge.follow):
                    if target is not None and target not in known:
                        known.add(target)
                        seen.append(target)
        return seen


RULES = _Graph().rules


def expected_tokens(state: State, callers: Iterable[State]) -> int:
    """What can come next: within the rule and, where it can end, behind the calls that led to it (innermost first)."""
    following = state.next_tokens()
    found = following
    for caller in callers:
        if not following & END_OF_RULE:
            break
        following = behind(caller).next_tokens()
        found |= following
    if following & END_OF_RULE:
        found |= mask(lex.EOF)
    return found & ~END_OF_RULE


def behind(caller: State) -> State:
    """The state behind a call."""
    follow = caller.edges[0].follow
    assert follow is not None
    return follow


def names(kinds: int) -> str:
    """A set of tokens as messages show it."""
    found = [name for kind, name in lex.NAMES.items() if kinds >> kind & 1]
    return found[0] if len(found) == 1 else "{" + ", ".join(found) + "}"
