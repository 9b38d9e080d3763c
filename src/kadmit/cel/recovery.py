"""Reads any text, right or wrong, and reports what is wrong in it as the parser of cel-go does.

That parser is ANTLR's: it drops a token too many, conjures up one that is missing, or skips tokens until it finds one
that may follow, and goes on. It reports only what it finds after having read a token properly again. The grammar is
data (`grammar`), rules are walked by generators on a stack of our own: nothing recurses, however deep the text nests.
"""

import re
from collections.abc import Callable, Generator, Iterator
from typing import TypeVar

from msgspec import Struct, field

from kadmit.cel import grammar
from kadmit.cel import lexer as lex
from kadmit.cel.grammar import END_OF_RULE, RULES, Call, Choice, Element, Loop, Optional, Place, Recursion, Rule, State, Token
from kadmit.cel.prediction import NoWayError, Predictor, Stack

MAX_DEPTH = 250
MAX_RECOVERIES = 30
MAX_SKIPPED = 256
MAX_REPORTS = 100
_WITHOUT_LIMIT = -1

# A keyword behind a dot is worded differently, for the sake of older messages.
_KEYWORD_BEHIND_DOT = re.compile(r"no viable alternative at input '.(true|false|null)'")

Report = Callable[[int, str], None]


class HaltedError(Exception):
    """Reading stops for good; str() is what remains to be said, if anything."""


class Word(Struct, frozen=True):
    """A token as it stands in the text, or one that was conjured up."""

    kind: int
    offset: int
    text: str
    index: int = -1
    space: str = ""  # what is hidden before it


class Words:
    """The tokens, read when they are first asked for: text that cannot be read is reported at that moment."""

    def __init__(self, text: str, report: Report) -> None:
        self._stretches = lex.stretches(text)
        self._report = report
        self._read: list[Word] = []
        self.index = 0
        self.current = self.word(0)

    def word(self, index: int) -> Word:
        """Behind the end there is nothing but the end."""
        read = self._read
        while len(read) <= index:
            if read and read[-1].kind == lex.EOF:
                return read[-1]
            read.append(self._next())
        return read[index]

    def kind(self, index: int) -> int:
        return self.word(index).kind

    def _next(self) -> Word:
        space = ""
        while True:
            stretch = next(self._stretches)
            space += stretch.space
            if stretch.kind != lex.UNREADABLE:
                return Word(stretch.kind, stretch.start, stretch.text, len(self._read), space)
            self._report(stretch.start, f"token recognition error at: '{stretch.text}'")

    def move_on(self) -> None:
        if self.current.kind != lex.EOF:
            self.index += 1
            self.current = self.word(self.index)

    def between(self, first: Word, last: Word) -> str:
        """The text of both and of all between them, hidden text included; the end has no text."""
        words = self._read[first.index : last.index + 1]
        pieces = [piece for word in words for piece in (word.space, "" if word.kind == lex.EOF else word.text)]
        return "".join(pieces[1:])


class Tree(Struct, eq=False):
    """What one run of a rule has read. Labels hold what the grammar names; a label that is missing was not read."""

    rule: Rule
    parent: "Tree | None"
    caller: State | None  # where it was called from
    kind: str  # the name of the rule, or of the alternative taken
    start: Word
    words: dict[str, list[Word]] = field(default_factory=dict)
    parts: dict[str, list["Tree"]] = field(default_factory=dict)
    children: list["Tree"] = field(default_factory=list)
    stack: Stack | None = None

    def word(self, label: str) -> Word | None:
        found = self.words.get(label)
        return found[0] if found else None

    def part(self, label: str) -> "Tree | None":
        found = self.parts.get(label)
        return found[0] if found else None

    def child(self, rule: str, number: int = 0) -> "Tree | None":
        found = [child for child in self.children if child.rule.name == rule]
        return found[number] if number < len(found) else None


class _MismatchError(Exception):
    """Another token was expected."""

    def __init__(self, word: Word, expected: int) -> None:
        super().__init__(word)
        self.word = word
        self.expected = expected


_Walk = Generator[Call, Tree, None]


class Reader:
    """Reads one text."""

    def __init__(self, text: str, report: Report) -> None:
        self._tell = report
        self._reports = 0
        self._words = Words(text, self._report)
        self._predictor = Predictor(self._words)
        self._state: State = RULES["start"].start
        self._tree: Tree | None = None
        self._precedences: list[int] = []
        self._active: dict[str, int] = {}
        self._recovering = False
        self._error_index = -1
        self._error_states: set[State] = set()
        self._recoveries = 0

    def read(self) -> Tree:
        """The tree of the whole text. Raises HaltedError where there is no point in going on."""
        runs = [self._run("start", 0, None)]
        result: Tree | None = None
        while runs:
            try:
                call = next(runs[-1]) if result is None else runs[-1].send(result)
            except StopIteration as done:
                runs.pop()
                result = done.value
            else:
                runs.append(self._run(call.rule, call.precedence, call.state))
                result = None
        assert result is not None
        return result

    # Rules

    def _run(self, name: str, precedence: int, caller: State | None) -> Generator[Call, Tree, Tree]:
        rule = RULES[name]
        parent = self._tree
        tree = Tree(rule, parent, caller, name, self._words.current)
        self._state = rule.start
        self._tree = tree
        if rule.left_recursive:
            self._precedences.append(precedence)
        elif parent is not None:
            parent.children.append(tree)
        self._enter(rule)
        try:
            yield from self._walk_all(rule.body)
        except _MismatchError as error:
            self._report_mismatch(error)
            self._recover()
        except NoWayError as error:
            self._report_no_way(error)
            self._recover()
        return self._unrolled(parent) if rule.left_recursive else self._left(tree)

    def _left(self, tree: Tree) -> Tree:
        self._exit(tree.rule)
        if tree.caller is not None:
            self._state = tree.caller
        self._tree = tree.parent
        return tree

    def _unrolled(self, parent: Tree | None) -> Tree:
        """Ends a left-recursive rule: the last tree stands for all, and only now belongs to its parent."""
        result = self._current_tree()
        self._precedences.pop()
        self._exit(result.rule)
        self._tree = parent
        if parent is not None:
            parent.children.append(result)
        return result

    def _enter(self, rule: Rule) -> None:
        active = self._active.get(rule.name, 0) + 1
        self._active[rule.name] = active
        if active > MAX_DEPTH:
            raise HaltedError(f"expression recursion limit exceeded: {MAX_DEPTH}")

    def _exit(self, rule: Rule) -> None:
        self._active[rule.name] = max(self._active[rule.name] - 1, 0)

    def _current_tree(self) -> Tree:
        assert self._tree is not None
        return self._tree

    # Elements

    def _walk_all(self, elements: list[Element]) -> _Walk:
        for element in elements:
            match element:
                case Token():
                    self._walk_token(element)
                case Call():
                    self._state = element.state
                    tree = self._current_tree()
                    part = yield element
                    _keep(tree.parts, element.label, part)
                case Optional():
                    yield from self._walk_optional(element)
                case Loop(at_least_once=True):
                    yield from self._walk_loop(element)
                case Loop():
                    yield from self._walk_free_loop(element)
                case Choice():
                    yield from self._walk_choice(element)
                case Recursion():
                    yield from self._walk_recursion(element)

    def _walk_token(self, token: Token) -> None:
        self._state = token.state
        tree = self._current_tree()
        _keep(tree.words, token.label, self._match(token.kinds))

    def _walk_optional(self, optional: Optional) -> _Walk:
        self._state = optional.state
        self._sync()
        if self._next_is(optional.state.edges[0].target.next_tokens()):
            yield from self._walk_all(optional.body)

    def _walk_free_loop(self, loop: Loop) -> _Walk:
        self._state = loop.state
        self._sync()
        while self._another_turn(loop):
            yield from self._walk_all(loop.body)
            self._state = loop.back
            self._sync()

    def _walk_loop(self, loop: Loop) -> _Walk:
        self._state = loop.state
        self._sync()
        another = True
        while another:
            yield from self._walk_all(loop.body)
            self._state = loop.back
            self._sync()
            another = self._another_turn(loop)

    def _another_turn(self, loop: Loop) -> bool:
        if loop.predicted:
            return self._predict(loop.decision()) == 1
        return self._next_is(loop.turn.next_tokens())

    def _walk_choice(self, choice: Choice) -> _Walk:
        self._state = choice.state
        self._sync()
        names = list(choice.bodies)
        if choice.predicted:
            name = names[self._predict(choice.state) - 1]
        else:
            name = names[self._number_of_fitting(choice.state)]
        tree = self._current_tree()
        tree.kind = name
        yield from self._walk_all(choice.bodies[name])

    def _number_of_fitting(self, state: State) -> int:
        for number, edge in enumerate(state.edges):
            if self._next_is(edge.target.next_tokens()):
                return number
        raise NoWayError(self._words.index, self._words.index)

    def _walk_recursion(self, recursion: Recursion) -> _Walk:
        self._state = recursion.state
        self._sync()
        while self._predict(recursion.state) == 1:
            self._exit(self._current_tree().rule)
            name = self._turn_of(recursion)
            self._push_recursion(name)
            yield from self._walk_all(recursion.bodies[name][1])
            self._state = recursion.back
            self._sync()

    def _turn_of(self, recursion: Recursion) -> str:
        names = list(recursion.bodies)
        if len(names) == 1:
            return names[0]
        self._state = recursion.turn
        self._sync()
        return names[self._predict(recursion.turn) - 1]

    def _push_recursion(self, kind: str) -> None:
        """What has been read becomes the first child of a new tree in its place."""
        operand = self._current_tree()
        tree = Tree(operand.rule, operand.parent, operand.caller, kind, operand.start, children=[operand])
        operand.parent = tree
        self._tree = tree
        self._enter(tree.rule)

    # Tokens

    def _next_is(self, kinds: int) -> bool:
        return bool(kinds >> self._words.current.kind & 1)

    def _match(self, kinds: int) -> Word:
        word = self._words.current
        if kinds >> word.kind & 1:
            self._matched()
            self._words.move_on()
            return word
        return self._recover_inline()

    def _matched(self) -> None:
        self._recovering = False
        self._error_states = set()
        self._error_index = -1

    def _predict(self, decision: State) -> int:
        precedence = self._precedences[-1] if self._precedences else 0
        return self._predictor.predict(decision, self._words.index, precedence=precedence, stack=self._stack)

    def _stack(self) -> Stack:
        """The states to return to; remembered with the trees."""
        waiting: list[Tree] = []
        here = self._tree
        while here is not None and here.stack is None:
            waiting.append(here)
            here = here.parent
        stack = here.stack if here is not None and here.stack is not None else self._predictor.stacks.empty
        for one in reversed(waiting):
            if one.caller is not None:
                stack = self._predictor.stacks.push(stack, grammar.behind(one.caller))
            one.stack = stack
        return stack

    def _callers(self) -> Iterator[State]:
        tree = self._tree
        while tree is not None and tree.caller is not None:
            yield tree.caller
            tree = tree.parent

    def _expected(self, state: State) -> int:
        return grammar.expected_tokens(state, self._callers())

    # Errors

    def _report(self, offset: int, message: str) -> None:
        if self._reports >= MAX_REPORTS:
            self._tell(offset, f"Syntax error: More than {MAX_REPORTS} syntax errors")
            raise HaltedError
        self._reports += 1
        self._tell(offset, "Syntax error: " + _KEYWORD_BEHIND_DOT.sub(r"mismatched input '\1' expecting IDENTIFIER", message))

    def _begin_recovering(self) -> bool:
        """False while an earlier error has not been overcome: then nothing is reported."""
        if self._recovering:
            return False
        self._recovering = True
        return True

    def _report_mismatch(self, error: _MismatchError) -> None:
        if self._begin_recovering():
            message = f"mismatched input {_quoted(error.word.text)} expecting {grammar.names(error.expected)}"
            self._report(error.word.offset, message)

    def _report_no_way(self, error: NoWayError) -> None:
        if self._begin_recovering():
            first, last = self._words.word(error.start), self._words.word(error.end)
            text = first.text if first.kind == lex.EOF else self._words.between(first, last)
            self._report(last.offset, f"no viable alternative at input {_quoted(text)}")

    def _report_unwanted(self) -> None:
        if self._begin_recovering():
            word = self._words.current
            expected = grammar.names(self._expected(self._state))
            self._report(word.offset, f"extraneous input {_quoted(word.text)} expecting {expected}")

    def _report_missing(self) -> None:
        if self._begin_recovering():
            word = self._words.current
            self._report(word.offset, f"missing {grammar.names(self._expected(self._state))} at {_quoted(word.text)}")

    def _mismatch(self) -> _MismatchError:
        return _MismatchError(self._words.current, self._expected(self._state))

    def _sync(self) -> None:
        """Makes sure, before a choice and after each turn of a loop, that the next token makes sense there."""
        if self._recovering:
            return
        state = self._state
        following = state.next_tokens()
        if following & END_OF_RULE or self._next_is(following):
            return
        if state.place is Place.LOOP_BACK:
            self._report_unwanted()
            self._skip_until(self._expected(state) | self._recovery_set(), _WITHOUT_LIMIT)
        elif not self._drop_one():
            raise self._mismatch()

    def _recover_inline(self) -> Word:
        """Drops a token too many, or conjures up a missing one."""
        self._count_recovery()
        if self._drop_one():
            word = self._words.current
            self._words.move_on()
            return word
        behind = self._state.edges[0].target
        if self._next_is(self._expected(behind)):
            self._report_missing()
            return self._conjured()
        raise self._mismatch()

    def _drop_one(self) -> bool:
        """Drops the token at hand if the one behind it is expected."""
        if not self._expected(self._state) >> self._words.kind(self._words.index + 1) & 1:
            return False
        self._report_unwanted()
        self._words.move_on()
        self._matched()
        return True

    def _conjured(self) -> Word:
        expected = self._expected(self._state)
        kind = (expected & -expected).bit_length() - 1
        name = lex.NAMES[kind] if lex.NAMES[kind].startswith("'") else "undefined"
        near = self._words.current
        if near.kind == lex.EOF and self._words.index:
            near = self._words.word(self._words.index - 1)
        return Word(kind, near.offset, f"<missing {name}>")

    def _recover(self) -> None:
        """Skips to a token that may follow one of the rules that are running."""
        self._count_recovery()
        skipped = 0
        if self._error_index == self._words.index and self._state in self._error_states:
            self._words.move_on()  # or else the same error would come up for ever
            skipped = 1
        self._error_index = self._words.index
        self._error_states.add(self._state)
        self._skip_until(self._recovery_set(), MAX_SKIPPED - skipped)

    def _recovery_set(self) -> int:
        found = 0
        for caller in self._callers():
            found |= grammar.behind(caller).next_tokens()
        return found & ~END_OF_RULE

    def _skip_until(self, kinds: int, limit: int) -> None:
        while self._words.current.kind != lex.EOF and not self._next_is(kinds):
            if not limit:
                raise HaltedError(f"error recovery token lookahead limit exceeded: {MAX_SKIPPED}")
            limit -= 1
            self._words.move_on()

    def _count_recovery(self) -> None:
        if self._recoveries == MAX_RECOVERIES:
            self._report(self._words.current.offset, f"error recovery attempt limit exceeded: {MAX_RECOVERIES}")
            raise HaltedError
        self._recoveries += 1


_T = TypeVar("_T")


def _keep(found: dict[str, list[_T]], label: str, value: _T) -> None:
    if label:
        found.setdefault(label, []).append(value)


def _quoted(text: str) -> str:
    return "'" + text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r") + "'"
