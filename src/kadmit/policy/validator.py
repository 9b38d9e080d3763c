"""One evaluation of a validating policy with one params object: decisions and audit annotations."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from kadmit.cel import cost
from kadmit.cel.gotext import trim_space
from kadmit.cel.types import Kind
from kadmit.cel.values import Value, type_of
from kadmit.policy.evaluation import Budget, Conditions, Failed, OutOfBudget, evaluate, evaluate_conditions
from kadmit.policy.model import AuditAnnotation, Policy, Validation

MAX_MESSAGE_BYTES = 5 * 1024
OUT_OF_BUDGET_START = "validation failed due to running out of cost budget"


class Decision(Struct, frozen=True):
    """What one validation said. `failed`: it could not be evaluated, and `denied` is what the failure policy makes of that."""

    denied: bool
    message: str = ""
    reason: str = ""
    failed: bool = False

    @property
    def error_type(self) -> str:
        """How metrics count it; "" is no error."""
        return error_type(self.message) if self.denied or self.failed else ""


def error_type(message: str) -> str:
    """NB: kube-apiserver tells errors apart by how they begin, and so counts what users write alike."""
    if message.startswith("compilation"):
        return "compile_error"
    return "out_of_budget" if message.startswith(OUT_OF_BUDGET_START) else "invalid_error"


class Annotation(Struct, frozen=True):
    """An audit annotation to publish, or why it cannot be."""

    key: str
    value: str = ""
    error: str = ""


class Validated(Struct, frozen=True):
    decisions: tuple[Decision, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    conditions: Conditions | None = None


def validate(policy: Policy, bound: Mapping[str, Value], at_conditions: Mapping[str, Value]) -> Validated:
    """Evaluate a policy. `at_conditions`: the variables as match conditions see them."""
    conditions = None
    if policy.conditions:
        conditions = evaluate_conditions(policy.conditions, at_conditions, fail=policy.fail)
        if conditions.error:
            return Validated((_undecided(policy, conditions.error),), conditions=conditions)
        if not conditions.matches:
            return Validated(conditions=conditions)
    budget = Budget(cost.PER_BINDING_BUDGET)
    composed = policy.composition.bind(bound)
    try:
        results = [evaluate(v.expression, composed, budget) for v in policy.validations]
    except OutOfBudget as e:
        return Validated((_undecided(policy, str(e)),), conditions=conditions)
    decisions = _decide(policy, results, bound, budget)
    try:
        annotations = _annotate(policy, bound)
    except OutOfBudget as e:
        return Validated((_undecided(policy, str(e)),), conditions=conditions)
    return Validated(decisions, annotations, conditions)


def _undecided(policy: Policy, message: str) -> Decision:
    return Decision(denied=policy.fail, message=message, failed=True)


def without_authorizer(bound: Mapping[str, Value]) -> dict[str, Value]:
    return {k: v for k, v in bound.items() if not k.startswith("authorizer")}


def _decide(policy: Policy, results: Sequence[Value], bound: Mapping[str, Value], budget: Budget) -> tuple[Decision, ...]:
    """NB: message expressions are all evaluated, also where the validation held, out of the same budget."""
    composed = policy.composition.bind(without_authorizer(bound))
    messages: list[Value] = []
    spent: OutOfBudget | None = None
    try:
        for validation in policy.validations:
            expression = validation.message_expression
            messages.append(None if expression is None else evaluate(expression, composed, budget))
    except OutOfBudget as e:
        spent, messages = e, []
    messages += [None] * (len(results) - len(messages))
    return tuple(
        _decision(policy, validation, result, message, spent)
        for validation, result, message in zip(policy.validations, results, messages, strict=True)
    )


def _decision(policy: Policy, validation: Validation, result: Value, message: Value, spent: OutOfBudget | None) -> Decision:
    if isinstance(result, Failed):
        return _undecided(policy, result.text)
    if spent is not None:
        return _undecided(policy, f"failed messageExpression: {spent}")
    if result is True:
        return Decision(denied=False)
    return Decision(denied=True, message=_message(validation, message), reason=validation.reason or "Invalid")


def _message(validation: Validation, evaluated: Value) -> str:
    """The evaluated message if it is fit to be shown, else the fixed one, else the expression."""
    text = trim_space(evaluated) if evaluated.__class__ is str else ""
    if len(text.encode()) > MAX_MESSAGE_BYTES or "\n" in text:
        text = ""
    return text or trim_space(validation.message) or f"failed expression: {trim_space(validation.expression.text)}"


def _annotate(policy: Policy, bound: Mapping[str, Value]) -> tuple[Annotation, ...]:
    if not policy.audit_annotations:
        return ()
    budget = Budget(cost.PER_BINDING_BUDGET)
    composed = policy.composition.bind(without_authorizer(bound))
    made = (_annotation(policy, a, evaluate(a.expression, composed, budget)) for a in policy.audit_annotations)
    return tuple(a for a in made if a is not None)


def _annotation(policy: Policy, annotation: AuditAnnotation, value: Value) -> Annotation | None:
    if isinstance(value, Failed):
        return Annotation(annotation.key, error=value.text) if policy.fail else None
    if value.__class__ is str:
        text = trim_space(value)
        return Annotation(annotation.key, text) if text else None
    if type_of(value).kind is Kind.NULL:
        return None
    unsupported = f"valueExpression '{annotation.expression.text}' resulted in unsupported return type: {type_of(value)}. "
    return Annotation(annotation.key, error=unsupported + "Return type must be either string or null.")
