"""What there is to cover in a policy, a binding or a webhook configuration: each point is one thing that tests should do.

An expression has outcomes: a validation or match condition must once be true and once false, a variable once be evaluated, a
mutation once change an object, a message once be told, an audit annotation once be published. Inside of it, both branches of a
`?:` must be taken, every operand of `&&` and `||` must once decide, and once none of them. A match clause must once let a request
through and once be what keeps one out.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from kadmit.admission.webhooks import Webhook, compile_configuration
from kadmit.api import registration
from kadmit.authoring import registering
from kadmit.authoring.manifests import Manifest
from kadmit.cel.branches import Branches
from kadmit.cel.program import Program
from kadmit.cel.source import CompileError
from kadmit.matching.criteria import Criteria
from kadmit.matching.rules import Rule
from kadmit.policy import compiler
from kadmit.policy.model import Binding, MatchCondition, Policy

TRUE, FALSE, EVALUATED, CHANGED, TOLD, PUBLISHED = "true", "false", "evaluated", "changed", "told", "published"
EXCLUDED, LET_THROUGH = "excluded", "let through"
_NEVER = {
    TRUE: "never true",
    FALSE: "never false",
    EVALUATED: "never evaluated",
    CHANGED: "never changed an object",
    TOLD: "never told",
    PUBLISHED: "never published",
    EXCLUDED: "never kept a request out",
    LET_THROUGH: "never let a request through",
}


class Point(NamedTuple):
    """`key` names it among the points of its object; `field` and `offset` say where it stands."""

    key: str
    what: str  # validation, rule, …
    never: str  # what is wrong if it is not met
    field: str
    text: str = ""
    offset: int | None = None


class Written:
    """An expression where it stands, and the outcomes that it should have."""

    def __init__(self, what: str, field: str, outcomes: tuple[str, ...], text: str, program: Program | CompileError) -> None:
        self.what = what
        self.field = field
        self.outcomes = outcomes
        self.text = text
        self.program = program

    @cached_property
    def branches(self) -> Branches | None:
        return None if isinstance(self.program, CompileError) else Branches(self.program.checked.tree)

    @cached_property
    def points(self) -> tuple[Point, ...]:
        return (*self._outcomes(), *self._branches())

    def _outcomes(self) -> Iterator[Point]:
        for outcome in self.outcomes:
            yield Point(f"{self.field} {outcome}", self.what, _NEVER[outcome], self.field, self.text, 0)

    def _branches(self) -> Iterator[Point]:
        if self.branches is None:
            return
        for i, branch in enumerate(self.branches.points):
            if not (branch.root and TRUE in self.outcomes):  # the outcome of the whole says it
                yield Point(f"{self.field} #{i}", self.what, branch.never, self.field, branch.text, branch.offset)


# ---------------------------------------------------------------- expressions


def policy_conditions(policy: Policy) -> list[Written]:
    return _conditions(policy.conditions, "spec")


def webhook_conditions(webhook: Webhook, index: int) -> list[Written]:
    return _conditions(webhook.conditions, f"webhooks[{index}]")


def _conditions(conditions: Sequence[MatchCondition], path: str) -> list[Written]:
    return [
        Written(
            f"match condition {c.name}",
            f"{path}.matchConditions[{i}].expression",
            (TRUE, FALSE),
            c.expression.text,
            c.expression.program,
        )
        for i, c in enumerate(conditions)
    ]


def variables(policy: Policy) -> dict[str, Written]:
    """By name."""
    return {
        name: Written(f"variable {name}", f"spec.variables[{i}].expression", (EVALUATED,), getattr(program, "text", ""), program)
        for i, (name, program) in enumerate(policy.composition.programs.items())
    }


def mutations(policy: Policy) -> list[Written]:
    def way(applying: bool) -> str:
        return "applyConfiguration" if applying else "jsonPatch"

    return [
        Written(
            f"mutation {i}",
            f"spec.mutations[{i}].{way(m.apply_configuration)}.expression",
            (CHANGED,),
            m.expression.text,
            m.expression.program,
        )
        for i, m in enumerate(policy.mutations)
    ]


def validations(policy: Policy) -> list[Written]:
    return [
        Written(f"validation {i}", f"spec.validations[{i}].expression", (TRUE, FALSE), v.expression.text, v.expression.program)
        for i, v in enumerate(policy.validations)
    ]


def messages(policy: Policy) -> list[Written | None]:
    """Of each validation, or None where it has no expression for it."""
    return [
        None
        if (said := v.message_expression) is None
        else Written(f"message {i}", f"spec.validations[{i}].messageExpression", (TOLD,), said.text, said.program)
        for i, v in enumerate(policy.validations)
    ]


def annotations(policy: Policy) -> list[Written]:
    return [
        Written(
            f"audit annotation {a.key}",
            f"spec.auditAnnotations[{i}].valueExpression",
            (PUBLISHED,),
            a.expression.text,
            a.expression.program,
        )
        for i, a in enumerate(policy.audit_annotations)
    ]


# ---------------------------------------------------------------- clauses


def clauses(criteria: Criteria, path: str) -> Iterator[Point]:
    rules = "resourceRules" if criteria.empty_matches_all else "rules"
    for i, rule in enumerate(criteria.rules):
        outcomes = (LET_THROUGH,) if _is_about_all(rule) else (LET_THROUGH, EXCLUDED)
        yield from _clause("rule", f"{path}.{rules}[{i}]", outcomes)
    for i in range(len(criteria.exclude)):
        yield from _clause("exclude rule", f"{path}.excludeResourceRules[{i}]")
    if not criteria.namespace_selector.empty:
        yield from _clause("namespace selector", f"{path}.namespaceSelector")
    if not criteria.object_selector.empty:
        yield from _clause("object selector", f"{path}.objectSelector")


def _clause(what: str, field: str, outcomes: Sequence[str] = (LET_THROUGH, EXCLUDED)) -> Iterator[Point]:
    return (Point(f"{field} {outcome}", what, _NEVER[outcome], field) for outcome in outcomes)


def _is_about_all(rule: Rule) -> bool:
    """Whether it cannot keep anything out."""
    sets = (rule.operations, rule.groups, rule.versions)
    anything = all("*" in s for s in sets) and ("*", "*") in rule.resources
    return anything and rule.scope == "*" and not rule.names


# ---------------------------------------------------------------- whole objects


def compiled(manifest: Manifest) -> Policy | Binding | tuple[Webhook, ...] | None:
    """What a manifest comes to, if it is of a kind that has points."""
    value = registering.current(manifest.value, manifest.kind)
    match manifest.kind.kind:
        case registration.MUTATING_POLICY:
            return compiler.compile_mutating(value)
        case registration.VALIDATING_POLICY:
            return compiler.compile_validating(value)
        case registration.MUTATING_BINDING | registration.VALIDATING_BINDING:
            return compiler.compile_binding(value)
        case registration.MUTATING_WEBHOOKS | registration.VALIDATING_WEBHOOKS:
            return compile_configuration(value)
    return None


def points(made: Policy | Binding | tuple[Webhook, ...] | None) -> list[Point]:
    """All points of what a manifest came to."""
    match made:
        case Policy():
            return list(policy_points(made))
        case Binding():
            return list(clauses(made.criteria, "spec.matchResources")) if made.criteria is not None else []
        case tuple():
            return [p for i, hook in enumerate(made) for p in webhook_points(hook, i)]
    return []


def policy_points(policy: Policy) -> Iterator[Point]:
    yield from clauses(policy.criteria, "spec.matchConstraints")
    written = [*policy_conditions(policy), *variables(policy).values(), *mutations(policy), *validations(policy)]
    written += [m for m in messages(policy) if m is not None] + annotations(policy)
    yield from (point for w in written for point in w.points)


def webhook_points(webhook: Webhook, index: int) -> Iterator[Point]:
    yield from clauses(webhook.criteria, f"webhooks[{index}]")
    yield from (point for w in webhook_conditions(webhook, index) for point in w.points)
