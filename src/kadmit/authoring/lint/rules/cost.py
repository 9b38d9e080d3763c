"""KA204: an expression whose cost reaches its limit on a large object."""

import math
import re
from collections.abc import Iterator
from contextlib import suppress

from msgspec.structs import replace

from kadmit.api.meta import GroupVersionKind, GroupVersionResource
from kadmit.authoring.lint import samples
from kadmit.authoring.lint.project import Expression, Policy, Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity
from kadmit.authoring.lint.trials import Yes
from kadmit.cel import ast, composition, cost, environment
from kadmit.cel.program import Program
from kadmit.cel.source import CompileError
from kadmit.cel.values import CelError, Value
from kadmit.matching.attributes import CREATE, Attributes
from kadmit.policy.bindings import variables

RULE = Rule(
    code="KA204",
    title="cost can reach the limit on a large object",
    severity=Severity.WARNING,
    explanation="""\
One expression may cost 1,000,000, or it fails and the failure policy decides. Loops inside of loops get there on
objects that are large, but real: they are tried on made-up objects with lists of 50 items, of 20 and of 10 inside of
those, maps of 30 keys and texts of 64 characters. Each question to the authorizer costs 350,000.""",
    fix="make one loop of two: collect what is compared in a variable first, and use `in`, sets.contains() or a map",
    bad="""\
validations:
- expression: >-
    object.spec.containers.all(a, a.env.all(e, object.spec.containers.all(b, b.env.all(f,
    a.name == b.name || e.name != f.name))))
matchConditions:
- name: with-env
  expression: object.spec.containers.all(c, has(c.env))
""",
    good="""\
validations:
- expression: >-
    object.spec.containers.all(c,
    c.?env.orValue([]).map(e, e.name).distinct().size() == c.?env.orValue([]).size())
""",
)

MOST_TEXTS = 3
MOST_KINDS = 3
_FIRST = 0.04  # lists of two items
_TELLING = 0.2  # from here on, lists in lists grow, too
_LIMIT = cost.PER_CALL_LIMIT
_BEYOND = 2 * _LIMIT  # where evaluation really ends: the fast way is not left at the limit itself
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASKING = "check"
_SQUARES = frozenset({"sort", "sortBy", "distinct", "intersects", "equivalent"})  # their cost grows with the square


def find(project: Project) -> Iterator[Finding]:
    for policy in project.policies:
        for expression in policy.expressions:
            loops = _loops(expression)
            if loops > 1:
                yield from _in_expression(policy, expression, loops)


def _loops(expression: Expression) -> int:
    """How many loops stand within each other. NB: only these can get there, and making large objects takes time."""
    waiting, most, asked = [(expression.root, 0)], 0, 0
    while waiting:
        node, depth = waiting.pop()
        if isinstance(node, ast.Comprehension):
            depth += 1
        elif isinstance(node, ast.Call):
            asked += node.function == _ASKING
            depth += 2 if node.function in _SQUARES else node.function == _ASKING
        most = max(most, depth)
        waiting += [(part, depth) for part in ast.children(node)]
    return max(most, 2 if asked > 2 else 0)


def _in_expression(policy: Policy, expression: Expression, loops: int) -> Iterator[Finding]:
    trial = _Trial(policy, expression)
    if trial.program is None:
        return
    for kind in policy.kinds[:MOST_KINDS]:
        for text in ("", *_constants(expression, policy)):
            if trial.reaches_the_limit(kind, text, loops):
                said = f"on a large {kind.kind} this costs more than {_LIMIT:,}, and fails with `{cost.LIMIT_EXCEEDED}`"
                yield expression.finding(RULE, None, said)
                return


def _constants(expression: Expression, policy: Policy) -> list[str]:
    """Texts of the expression: an object that has them keeps its loops going."""
    found: dict[str, None] = {}
    waiting = [expression.root, *(v.root for v in policy.variables.values())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Literal) and isinstance(node.value, str) and node.value:
            found[node.value] = None
        waiting += ast.children(node)
    return list(found)[:MOST_TEXTS]


def _sized(size: float) -> samples.Size:
    items = tuple(max(round(most * size), 1) for most in samples.LARGE.items)
    return replace(samples.LARGE, items=items, keys=max(round(samples.LARGE.keys * size), 1))


class _Trial:
    """An expression, compiled to be run on objects of many sizes."""

    def __init__(self, policy: Policy, expression: Expression) -> None:
        self._policy = policy
        self._names = frozenset(name for e in policy.expressions for name in _NAME.findall(e.text)) | {"metadata", "spec"}
        listed = [(v.name, v.text) for v in policy.declared]
        params = policy.spec.get("paramKind") is not None
        self._composed, env = composition.compose(listed, environment.admission(params=params), policy.scope)
        self.program: Program | None = None
        with suppress(CompileError):
            self.program = env.compile(expression.text, limit=_BEYOND)

    def reaches_the_limit(self, kind: GroupVersionKind, text: str, loops: int) -> bool:
        """Whether an object of a size up to 1 is enough; sizes grow as fast as what was seen allows, lest it takes long."""
        size, used, power = _FIRST, self._cost(kind, _FIRST, text), float(loops)
        while used < _LIMIT and size < 1:
            if size >= _TELLING and used * (1 / size) ** power * 2 < _LIMIT:
                return False
            room = (1.2 * _LIMIT / max(used, 1)) ** (1 / power)
            larger = min(size * min(max(room, 1.2), 2.5), 1.0)
            more = self._cost(kind, larger, text)
            power = max(math.log(max(more, 1) / max(used, 1)) / math.log(larger / size), 1.0)
            size, used = larger, more
        return used >= _LIMIT

    def _cost(self, kind: GroupVersionKind, size: float, text: str) -> int:
        """What it costs on an object with so much of what the policy speaks of."""
        schema = self._policy.project.schema_of(kind)
        assert schema is not None
        assert self.program is not None
        made = samples.of(schema, replace(_sized(size), text=text, names=self._names))
        value = samples.named(made, str(kind.group_version), kind.kind, "default")
        bound = self._composed.bind(self._bound(kind, value))
        result, used = self.program.run(bound)
        over = isinstance(result, CelError) and result.message.endswith(cost.LIMIT_EXCEEDED)
        return _LIMIT if over else used

    def _bound(self, kind: GroupVersionKind, value: dict[str, Value]) -> dict[str, Value]:
        resource = self._policy.project.known.kind(kind)
        assert resource is not None
        old = None if "CREATE" in self._policy.operations else value
        place = GroupVersionResource(*resource.gvr)
        attributes = Attributes(kind, place, CREATE, "sample", "default", object=value, old_object=old)
        params = self._policy.project.trials.params(self._policy)
        return variables(attributes, place, kind, params=params, namespace={"metadata": {}}, who=Yes())
