"""Which fields of objects the expressions of a policy read, and what is known to be there at that moment.

A variable is read where it is used, for only then is it evaluated. `&&` and `||` drop the error of one side if the other decides,
so each side knows what the other says, whatever their order. Validations know of each other, too: if one of them denies, an error
of another changes nothing.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from kadmit.authoring.lint import facts
from kadmit.authoring.lint.facts import NONE, Facts, Frame, entered, holding, is_optional, loop_of, path_of
from kadmit.authoring.lint.paths import Path
from kadmit.authoring.lint.project import Expression, Policy, Webhook
from kadmit.cel import ast, room
from kadmit.cel.ast import Expr

MOST_STEPS = 100_000


class Read(Struct, frozen=True):
    """One path that is read. `steps` are the nodes that select its last parts, the last one first."""

    expression: Expression
    path: Path
    steps: tuple[Expr, ...]
    known: Facts

    def node(self, length: int) -> Expr:
        """The node that selects the last step of the path's first `length` parts."""
        return self.steps[min(len(self.path) - length, len(self.steps) - 1)]


class Patch(Struct, frozen=True):
    """One JSONPatch{…}, and what is known to be there when it is made."""

    expression: Expression
    node: ast.StructExpr
    frame: Frame
    known: Facts

    def value(self, name: str) -> Expr | None:
        return next((f.value for f in self.node.fields if f.name == name), None)


class Reading(Struct):
    """What was read."""

    reads: list[Read] = field(default_factory=list)
    patches: list[Patch] = field(default_factory=list)
    _done: set[tuple[int, Facts]] = field(default_factory=set)
    _steps: int = 0

    # ------------------------------------------------------------ one expression

    def read(self, expression: Expression, variables: Mapping[str, Expression], known: Facts) -> None:
        room.for_depth(self._walk, expression.root, Frame(expression, variables), known)

    def _walk(self, node: Expr, frame: Frame, known: Facts) -> None:
        self._steps += 1
        if self._steps > MOST_STEPS:
            return
        node = frame.written(node)
        variable = frame.variable(node)
        if variable is not None:
            self._variable(variable, known)
            return
        loop = loop_of(node)
        if loop is not None:
            self._loop(loop, node.id, frame, known)
            return
        match node:
            case ast.Select():
                self._select(node, node.operand, frame, known)
            case ast.Call(function="_[_]", args=(operand, index)):
                self._select(node, operand, frame, known)
                self._walk(index, frame, known)
            case ast.Call(function="has", args=(ast.Select(operand=operand),)):
                self._tested(operand, frame, known)
            case ast.Call(function="_&&_" | "_||_"):
                self._terms(node, frame, known)
            case ast.Call(function="_?_:_", args=(condition, a, b)):
                self._branches(condition, a, b, frame, known)
            case ast.Call(function="optMap" | "optFlatMap", target=target, args=(ast.Ident(name=name), body)) if target:
                self._walk(target, frame, known)
                path = path_of(target, frame)
                self._walk(body, frame.within(**{name: path}), known | ({path} if path else set()))
            case ast.StructExpr(type_name="JSONPatch"):
                self.patches.append(Patch(frame.expression, node, frame, known))
                self._parts(node, frame, known)
            case _:
                self._parts(node, frame, known)

    def _parts(self, node: Expr, frame: Frame, known: Facts) -> None:
        for part in ast.children(node):
            self._walk(part, frame, known)

    def _variable(self, frame: Frame, known: Facts) -> None:
        key = (id(frame.expression), known)
        if key not in self._done:
            self._done.add(key)
            self._walk(frame.expression.root, frame, known)

    def _select(self, node: Expr, operand: Expr, frame: Frame, known: Facts) -> None:
        path = path_of(node, frame)
        if path is None or is_optional(operand, frame):
            self._walk(operand, frame, known)
            return
        steps = list(_steps(node, frame))
        self.reads.append(Read(frame.expression, path, tuple(steps), known))
        for step in steps:  # indexes are expressions, too, and a chain ends in something
            if isinstance(step, ast.Call) and step.function == "_[_]" and step is not node:
                self._walk(step.args[1], frame, known)
        self._walk(_operand(steps[-1]), frame, known)

    def _tested(self, operand: Expr, frame: Frame, known: Facts) -> None:
        """has(): what stands before the last field must be there."""
        inner = frame.written(operand)
        if isinstance(inner, ast.Ident):
            path = path_of(inner, frame)
            if path is not None:
                self.reads.append(Read(frame.expression, path, (inner,), known))
        else:
            self._walk(operand, frame, known)

    # ------------------------------------------------------------ what decides

    def _terms(self, node: ast.Call, frame: Frame, known: Facts) -> None:
        """Each term with what all the others say. NB: sums from both ends, for there may be many terms."""
        true = node.function == "_&&_"
        terms = list(_flat(node, node.function, frame))
        said = [holding(term, frame, true=true) for term in terms]
        before: list[Facts | None] = [NONE]
        for facts_ in said:
            before.append(_joined(before[-1], facts_))
        after: Facts | None = NONE
        for i in range(len(terms) - 1, -1, -1):
            around = _joined(before[i], after)
            if around is not None:  # else it is never asked
                self._walk(terms[i], frame, known | around)
            after = _joined(after, said[i])

    def _branches(self, condition: Expr, a: Expr, b: Expr, frame: Frame, known: Facts) -> None:
        self._walk(condition, frame, known)
        for branch, true in ((a, True), (b, False)):
            said = holding(condition, frame, true=true)
            if said is not None:
                self._walk(branch, frame, known | said)

    def _loop(self, loop: facts.Loop, number: int, frame: Frame, known: Facts) -> None:
        self._walk(loop.over, frame, known)
        inside, chosen = entered(loop, frame, f"{frame.expression.field}#{number}")
        known |= chosen
        if loop.chosen is not None:
            self._walk(loop.chosen, inside, known)
            known |= holding(loop.chosen, inside, true=True) or NONE
        self._walk(loop.body, inside, known)


def _joined(one: Facts | None, other: Facts | None) -> Facts | None:
    return None if one is None or other is None else one | other


def _flat(node: Expr, function: str, frame: Frame) -> Iterator[Expr]:
    written = frame.written(node)
    if isinstance(written, ast.Call) and written.function == function:
        for arg in written.args:
            yield from _flat(arg, function, frame)
    else:
        yield node


def _steps(node: Expr, frame: Frame) -> Iterator[Expr]:
    """The selections of a chain, the last one first."""
    while True:
        node = frame.written(node)
        is_step = isinstance(node, ast.Select) or (isinstance(node, ast.Call) and node.function == "_[_]")
        if not is_step or frame.variable(node) is not None:
            return
        yield node
        node = _operand(node)


def _operand(node: Expr) -> Expr:
    return node.operand if isinstance(node, ast.Select) else node.args[0] if isinstance(node, ast.Call) else node


# ---------------------------------------------------------------- a whole policy


def of_policy(policy: Policy) -> Reading:
    """All that the expressions of a policy read, each expression with what is known when it is evaluated."""
    reading, variables = Reading(), policy.variables
    matched = of_conditions(policy.conditions, {}, reading)
    said = [_said(v, variables, true=True) for v in policy.validations]
    for i, expression in enumerate(policy.validations):
        others = NONE.union(*(facts_ for j, facts_ in enumerate(said) if j != i))
        reading.read(expression, variables, matched | others)
    for i, expression in policy.messages.items():
        denied = _said(policy.validations[i], variables, true=False) if i < len(policy.validations) else NONE
        reading.read(expression, variables, matched | denied)
    for expression in (*policy.annotations, *policy.mutations):
        reading.read(expression, variables, matched)
    return reading


def of_webhook(webhook: Webhook) -> Reading:
    reading = Reading()
    of_conditions(webhook.conditions, {}, reading)
    return reading


def of_conditions(conditions: Sequence[Expression], variables: Mapping[str, Expression], reading: Reading) -> Facts:
    """Match conditions; what is known when all of them hold. One that is false hides the errors of the others."""
    said = [_said(c, variables, true=True) for c in conditions]
    for i, expression in enumerate(conditions):
        reading.read(expression, variables, NONE.union(*(facts_ for j, facts_ in enumerate(said) if j != i)))
    return NONE.union(*said)


def _said(expression: Expression, variables: Mapping[str, Expression], *, true: bool) -> Facts:
    return room.for_depth(holding, expression.root, Frame(expression, variables), true=true) or NONE
