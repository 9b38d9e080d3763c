"""Which way to go at a choice that one token does not settle: ANTLR's adaptive prediction.

All alternatives are followed at once, token by token, until one is left. Each is a set of `Config`: a state of the
grammar's graph and the stack of states to return to. At first nothing is assumed about who called the rule; then the
outcome depends on the tokens only, and is remembered in automata. If alternatives meet in the same state with the same
stack, the search is made again with the true stack; if they meet even then, the first alternative wins.

Why all this, when the fast parser does without: if the tokens fit none of the alternatives, how far this search came
is what the error message shows.
"""

from collections.abc import Callable, Iterator
from typing import Protocol

from msgspec import Struct, field

from kadmit.cel import lexer as lex
from kadmit.cel.grammar import Edge, Place, State


class Input(Protocol):
    """The tokens. They are read when they are first asked for, because reading them may report errors."""

    def kind(self, index: int) -> int: ...


class NoWayError(Exception):
    """No alternative fits the tokens between the two indexes."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__(start, end)
        self.start = start
        self.end = end


class Stack:
    """States to return to. Several stacks in one: each entry is a state and the stack below it; no state twice.

    Equal stacks of one family are one object, so that comparing is cheap.
    """

    __slots__ = ("entries",)

    def __init__(self, entries: tuple[tuple[State, "Stack"], ...]) -> None:
        self.entries = entries


class Stacks:
    """A family of stacks."""

    def __init__(self) -> None:
        self.empty = Stack(())
        self._known: dict[tuple[tuple[int, int], ...], Stack] = {}

    def push(self, below: Stack, state: State) -> Stack:
        return self._of(((state, below),))

    def _of(self, entries: tuple[tuple[State, Stack], ...]) -> Stack:
        key = tuple((state.number, id(below)) for state, below in entries)
        return self._known.setdefault(key, Stack(entries))

    def merge(self, one: Stack, other: Stack) -> Stack:
        """Both in one. The empty stack stands for any caller, so it takes in every other.

        NB: a true stack is never empty but in the start rule, which nothing is merged with.
        """
        if one is other:
            return one
        if one is self.empty or other is self.empty:
            return self.empty
        merged = dict(one.entries)
        for state, below in other.entries:
            merged[state] = self.merge(merged[state], below) if state in merged else below
        return self._of(tuple(sorted(merged.items(), key=lambda entry: entry[0].number)))


class Config(Struct, eq=False):
    """One way to have come here."""

    state: State
    alternative: int
    stack: Stack
    precedence: int = 0  # it holds only where the rule runs with at most this precedence; 0: always
    left_rule: bool = False  # it went on behind the rule that the choice is in
    keep: bool = False  # the filter of left-recursive rules must not drop it

    def moved(self, state: State) -> "Config":
        return Config(state, self.alternative, self.stack, self.precedence, self.left_rule, self.keep)


class Configs:
    """Configurations in the order in which they were found; those that differ in their stacks only are merged."""

    __slots__ = ("_by_key", "_stacks")

    def __init__(self, stacks: Stacks) -> None:
        self._stacks = stacks
        self._by_key: dict[tuple[int, int, int], Config] = {}

    def __iter__(self) -> Iterator[Config]:
        return iter(self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)

    def add(self, config: Config) -> None:
        known = self._by_key.setdefault((config.state.number, config.alternative, config.precedence), config)
        if known is not config:
            known.stack = self._stacks.merge(known.stack, config.stack)
            known.left_rule = known.left_rule or config.left_rule
            known.keep = known.keep or config.keep

    def alternatives(self) -> set[int]:
        return {config.alternative for config in self}

    def only_alternative(self) -> int:
        """The one that all belong to, or 0."""
        alternatives = self.alternatives()
        return alternatives.pop() if len(alternatives) == 1 else 0

    def meetings(self) -> list[set[int]]:
        """Alternatives by state and stack."""
        found: dict[tuple[int, int], set[int]] = {}
        for config in self:
            found.setdefault((config.state.number, id(config.stack)), set()).add(config.alternative)
        return list(found.values())

    def all_stopped(self) -> bool:
        return all(config.state.place is Place.STOP for config in self)

    def conflict(self) -> bool:
        """Whether going on is pointless: some alternatives have met, and no state belongs to one alternative alone."""
        if self.all_stopped():
            return True
        by_state: dict[int, set[int]] = {}
        for config in self:
            by_state.setdefault(config.state.number, set()).add(config.alternative)
        return any(len(met) > 1 for met in self.meetings()) and all(len(found) > 1 for found in by_state.values())

    def winner(self) -> int:
        """The first alternative of every meeting, if it is the same for all; else 0."""
        first = {min(met) for met in self.meetings()}
        return first.pop() if len(first) == 1 else 0

    def identity(self) -> frozenset[tuple[int, int, int, int, bool, bool]]:
        return frozenset((c.state.number, c.alternative, c.precedence, id(c.stack), c.left_rule, c.keep) for c in self)


class _Search(Struct):
    """How configurations are followed: from one choice, with stacks of one family."""

    decision: State
    stacks: Stacks
    true_stack: bool
    precedence: int  # of the rule as it runs; asked only with true stacks

    def begin(self, stack: Stack) -> Configs:
        configs = Configs(self.stacks)
        for number, edge in enumerate(self.decision.edges, 1):
            self._follow(Config(edge.target, number, stack), configs, set(), collecting=True, at_end=False)
        return configs

    def step(self, configs: Configs, kind: int) -> Configs:
        """What remains behind the token."""
        token = 1 << kind
        stopped: list[Config] = []
        moved = Configs(self.stacks)
        for config in configs:
            if config.state.place is Place.STOP:
                if self.true_stack or kind == lex.EOF:
                    stopped.append(config)
                continue
            for edge in config.state.edges:
                if edge.tokens & token:
                    moved.add(config.moved(edge.target))
        if not stopped and kind != lex.EOF and moved.only_alternative():
            return moved
        reached = self._closed(moved, at_end=kind == lex.EOF)
        if not (self.true_stack and any(config.state.place is Place.STOP for config in reached)):
            for config in stopped:
                reached.add(config)
        return reached

    def _closed(self, moved: Configs, *, at_end: bool) -> Configs:
        reached = Configs(self.stacks)
        busy: set[tuple[int, int, int, int, bool]] = set()
        for config in moved:
            self._follow(config, reached, busy, collecting=False, at_end=at_end)
        if not at_end or reached.all_stopped():
            return reached
        ended = Configs(self.stacks)
        for config in reached:
            if config.state.place is Place.STOP:
                ended.add(config)
        return ended

    def _follow(
        self,
        config: Config,
        configs: Configs,
        busy: set[tuple[int, int, int, int, bool]],
        *,
        collecting: bool,
        at_end: bool,
    ) -> None:
        """Adds all configurations that wait for a token and can be reached without one."""
        todo = [(config, 0)]
        while todo:
            here, depth = todo.pop()
            if here.state.place is Place.STOP:
                if here.stack is not self.stacks.empty:
                    todo.extend((self._returned(here, state, below), depth) for state, below in here.stack.entries)
                    continue
                if self.true_stack:
                    configs.add(here)
                    continue
            if not here.state.is_silent():
                configs.add(here)
            for edge in self._edges(here):
                after = self._through(here, edge, collecting=collecting and depth == 0, at_end=at_end)
                if after is None:
                    continue
                if here.state.place is Place.STOP:
                    after.left_rule = True
                    after.keep = after.keep or self._returns_outermost(here.state, edge)
                    key = (after.state.number, after.alternative, after.precedence, id(after.stack), after.keep)
                    if key not in busy:
                        busy.add(key)
                        todo.append((after, depth - 1))
                else:
                    todo.append((after, depth + 1 if edge.follow is not None and depth >= 0 else depth))

    def _returned(self, config: Config, state: State, below: Stack) -> Config:
        return Config(state, config.alternative, below, config.precedence, config.left_rule)

    def _returns_outermost(self, stop: State, edge: Edge) -> bool:
        return self.decision.precedence_loop_end is not None and edge.calls_outermost and stop.rule is self.decision.rule

    def _edges(self, config: Config) -> list[Edge]:
        """Another turn of a left-recursive rule that was called from itself is left to the caller."""
        state = config.state
        return state.edges[1:] if _is_for_the_caller(state, config.stack) else state.edges

    def _through(self, config: Config, edge: Edge, *, collecting: bool, at_end: bool) -> Config | None:
        if edge.follow is not None and config.state.place is not Place.STOP:
            called = config.moved(edge.target)
            called.stack = self.stacks.push(config.stack, edge.follow)
            return called
        if edge.precedence and collecting:
            return self._with_precedence(config, edge)
        if edge.tokens and not (at_end and edge.tokens & 1 << lex.EOF):
            return None
        return config.moved(edge.target)

    def _with_precedence(self, config: Config, edge: Edge) -> Config | None:
        after = config.moved(edge.target)
        if self.true_stack:
            return after if edge.precedence >= self.precedence else None
        after.precedence = min(config.precedence or edge.precedence, edge.precedence)
        return after


def _is_for_the_caller(state: State, stack: Stack) -> bool:
    end = state.precedence_loop_end
    if end is None or not stack.entries:
        return False
    return all(back is end for back, _ in stack.entries)


class _Node(Struct, eq=False):
    """A state of an automaton: what is known after some tokens."""

    configs: Configs
    prediction: int = 0  # the alternative, once it is certain
    needs_stack: bool = False
    conditions: tuple[tuple[int, int], ...] = ()  # (precedence, alternative), where it depends on the rule's precedence
    edges: dict[int, "_Node | None"] = field(default_factory=dict)


class _Automaton:
    """What has been found out about one choice without knowing the callers."""

    # Far more than the grammar needs; a limit all the same, for nothing may grow with what users send.
    MAX_NODES = 2000

    def __init__(self, decision: State, stacks: Stacks) -> None:
        self._search = _Search(decision, stacks, true_stack=False, precedence=0)
        self._starts: dict[int, _Node] = {}
        self._known: dict[frozenset[tuple[int, int, int, int, bool, bool]], _Node] = {}

    def start(self, precedence: int) -> _Node:
        decision = self._search.decision
        key = precedence if decision.precedence_loop_end is not None else 0
        if key not in self._starts:
            configs = self._search.begin(self._search.stacks.empty)
            if decision.precedence_loop_end is not None:
                configs = self._filtered(configs, precedence)
            self._starts[key] = self._node(configs)
        return self._starts[key]

    def _filtered(self, configs: Configs, precedence: int) -> Configs:
        """Another turn only where the precedence allows it; and leaving is no choice where another turn does the same."""
        kept = Configs(self._search.stacks)
        turns: dict[int, Stack] = {}
        for config in configs:
            if config.alternative == 1 and (not config.precedence or config.precedence >= precedence):
                turns[config.state.number] = config.stack
                kept.add(Config(config.state, 1, config.stack, 0, config.left_rule, config.keep))
        for config in configs:
            same = turns.get(config.state.number) is config.stack
            if config.alternative != 1 and (config.keep or not same):
                kept.add(config)
        return kept

    def after(self, node: _Node, kind: int) -> _Node | None:
        if kind not in node.edges:
            configs = self._search.step(node.configs, kind)
            node.edges[kind] = self._node(configs) if len(configs) else None
        return node.edges[kind]

    def _node(self, configs: Configs) -> _Node:
        identity = configs.identity()
        if identity not in self._known:
            if len(self._known) >= self.MAX_NODES:
                self._known.clear()
                self._starts.clear()
            self._known[identity] = self._judged(configs)
        return self._known[identity]

    def _judged(self, configs: Configs) -> _Node:
        node = _Node(configs)
        if only := configs.only_alternative():
            node.prediction = only
        elif configs.conflict():
            node.needs_stack = True
            node.prediction = min(configs.alternatives())
        if node.prediction:
            node.conditions = _conditions(configs)
        return node


def _conditions(configs: Configs) -> tuple[tuple[int, int], ...]:
    """Each alternative with the precedence that it needs, or nothing if none needs any."""
    needed: dict[int, int] = {}
    for config in configs:
        known = needed.get(config.alternative)
        least = config.precedence if known is None else max(known, config.precedence)
        needed[config.alternative] = least if known != 0 and config.precedence else 0
    if not any(needed.values()):
        return ()
    return tuple((precedence, alternative) for alternative, precedence in sorted(needed.items()))


_LOCAL_STACKS = Stacks()
_AUTOMATA: dict[int, _Automaton] = {}


class Predictor:
    """Predicts within one text. What depends on true stacks is remembered only as long as the text is read."""

    def __init__(self, tokens: Input) -> None:
        self.stacks = Stacks()
        self._tokens = tokens
        self._starts: dict[tuple[int, int, int], Configs] = {}
        self._steps: dict[tuple[int, int], Configs] = {}

    def predict(self, decision: State, index: int, *, precedence: int, stack: Callable[[], Stack]) -> int:
        """The alternative to take, from 1. `precedence` and `stack` are those of the rule as it runs."""
        automaton = _AUTOMATA.get(decision.number)
        if automaton is None:
            automaton = _AUTOMATA.setdefault(decision.number, _Automaton(decision, _LOCAL_STACKS))
        node = automaton.start(precedence)
        at = index
        kind = self._tokens.kind(at)
        while True:
            after = automaton.after(node, kind)
            if after is None:
                return _finished(node.configs, precedence) or _no_way(index, at)
            if after.prediction:
                if not after.conditions and not after.needs_stack:
                    return after.prediction
                allowed = [alternative for needed, alternative in after.conditions if not needed or needed >= precedence]
                if after.needs_stack and len(allowed) != 1:
                    return self._predict_in_full(_Search(decision, self.stacks, True, precedence), stack(), index)
                return min(allowed) if allowed else _no_way(index, index)
            node = after
            if kind != lex.EOF:
                at += 1
                kind = self._tokens.kind(at)

    def _predict_in_full(self, search: _Search, stack: Stack, index: int) -> int:
        """NB: an error is put at the first token here, however far the search came; so does the parser of cel-go."""
        start = (search.decision.number, id(stack), search.precedence)
        if start not in self._starts:
            self._starts[start] = search.begin(stack)
        configs = self._starts[start]
        at = index
        while True:
            kind = self._tokens.kind(at)
            reached = self._step(search, configs, kind)
            if not len(reached):
                return _finished(configs, search.precedence) or _no_way(index, index)
            if found := reached.only_alternative() or reached.winner():
                return found
            configs = reached
            if kind != lex.EOF:
                at += 1

    def _step(self, search: _Search, configs: Configs, kind: int) -> Configs:
        """NB: all configurations that were ever reached stay alive in here, so their ids stay theirs."""
        key = (id(configs), kind)
        if key not in self._steps:
            self._steps[key] = search.step(configs, kind)
        return self._steps[key]


def _no_way(start: int, end: int) -> int:
    raise NoWayError(start, end)


def _finished(configs: Configs, precedence: int) -> int:
    """The first alternative that came to the end of the rule before the tokens went wrong, or 0."""
    ended = [c for c in configs if c.left_rule or (c.state.place is Place.STOP and not c.stack.entries)]
    allowed = [c.alternative for c in ended if not c.precedence or c.precedence >= precedence]
    return min(allowed or [c.alternative for c in ended], default=0)
