"""The validating half: policies first, then all webhooks at once; nothing is changed any more."""

from collections.abc import Generator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kadmit.admission import answers, events, exemptions, policies
from kadmit.admission.answers import Answer, CallFailed
from kadmit.admission.events import POLICIES, VALIDATING, WEBHOOKS
from kadmit.admission.mutating import (
    count_conditions,
    failed_to_call,
    observe,
    prepare,
    read_answer,
    refused,
    should_call,
    take_words,
)
from kadmit.admission.outcome import Record
from kadmit.admission.policies import Invocation, PolicyError
from kadmit.admission.snapshot import Snapshot
from kadmit.admission.webhooks import Call, Webhook
from kadmit.api import errors
from kadmit.api.errors import ApiError, Cause
from kadmit.api.gojson import marshal, quoted
from kadmit.cel.values import Value
from kadmit.kinds.conversion import UnknownConversion
from kadmit.matching.attributes import Attributes, Json
from kadmit.policy import bindings
from kadmit.policy.model import Binding, BoundPolicy, Policy
from kadmit.policy.validator import Decision, Validated, error_type, validate
from kadmit.policy.world import World

Calls = Generator[Sequence[Call], Sequence[Answer], None]

POLICY_CHECKS = "apiserver_validating_admission_policy_check_total"
FAILURE_KEY = "validation.policy.admission.k8s.io/validation_failure"
MAX_ANNOTATION_BYTES = 10 * 1024
_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413, "Invalid": 422}


def run(snapshot: Snapshot, attributes: Attributes, world: World, record: Record) -> Calls:
    """Yields one batch of webhook calls, is sent all answers. Raises ApiError if the request is refused."""
    candidates = snapshot.candidates(attributes, world)
    by_policies, by_webhooks = not exemptions.from_policies(attributes), not exemptions.from_webhooks(attributes)
    if record.events is not None:
        record.happened(events.entered(VALIDATING, snapshot, attributes, world))
        record.happened(events.Began(VALIDATING, POLICIES, 0, attributes, not by_policies))
    if by_policies:
        _run_policies(candidates.validating_policies, attributes, world, record)
    if record.events is not None:
        record.happened(events.Began(VALIDATING, WEBHOOKS, 0, attributes, not by_webhooks))
    if by_webhooks:
        yield from _run_webhooks(candidates.validating_webhooks, attributes, world, record)
    if record.events is not None:
        record.happened(events.Left(VALIDATING, attributes))


# ---------------------------------------------------------------- policies


class _Denial(Struct, frozen=True):
    policy: Policy
    binding: Binding | None
    message: str
    reason: str = ""

    def __str__(self) -> str:
        through = f" with binding '{self.binding.name}'" if self.binding is not None else ""
        return f"ValidatingAdmissionPolicy '{self.policy.name}'{through} denied request: {self.message}"


class _Judgement(Struct):
    """What all policies say together."""

    attributes: Attributes
    world: World
    record: Record
    denials: list[_Denial] = field(default_factory=list)
    annotations: dict[tuple[str, str], list[str]] = field(default_factory=dict)  # by policy and key


def _run_policies(candidates: Sequence[BoundPolicy], attributes: Attributes, world: World, record: Record) -> None:
    judgement = _Judgement(attributes, world, record)
    for bound in candidates:
        for item in policies.invocations((bound,), attributes, world, record):
            if isinstance(item, PolicyError):
                if item.policy.fail:
                    judgement.denials.append(_Denial(item.policy, item.binding, item.text))
            else:
                _judge(judgement, item)
    for (policy, key), values in judgement.annotations.items():
        record.annotate(f"{policy}/{key}", ", ".join(values))
    if judgement.denials:
        raise _refusal(attributes, judgement.denials[0])


def _refusal(attributes: Attributes, denial: _Denial) -> ApiError:
    """Only the first denial is told."""
    status = policies.forbidden(attributes, str(denial)).status
    reason = denial.reason or "Invalid"
    assert status.details is not None
    details = replace(status.details, causes=(Cause(message=str(denial)),))
    return ApiError(replace(status, code=_CODES.get(reason, 422), reason=reason, details=details))


def _judge(judgement: _Judgement, invocation: Invocation) -> None:
    policy, binding, attributes = invocation.policy, invocation.binding, judgement.attributes
    try:
        versioned = policies.versioned(attributes, invocation.match.kind, judgement.world)
    except UnknownConversion as e:
        text = f"failed to configure binding: failed to convert object version: {e}"
        policies.misconfigured(judgement.record, policy, binding, text)
        if policy.fail:
            judgement.denials.append(_Denial(policy, binding, text))
        return
    namespace = policies.request_namespace(attributes, judgement.world)
    validated = _validated(judgement, invocation, versioned, namespace)
    for i, decision in enumerate(validated.decisions):
        _act(judgement, policy, binding, i, decision)
    for annotation in validated.annotations:
        if annotation.error:
            judgement.denials.append(_Denial(policy, binding, annotation.error))
            _count(judgement.record, policy, binding, "deny", annotation.error)
        else:
            published = judgement.annotations.setdefault((policy.name, annotation.key), [])
            value = cut(annotation.value)
            if value not in published:
                published.append(value)


def cut(value: str) -> str:
    """NB: by bytes, and what is left of a character that is cut through shows as one replacement for each byte."""
    if len(value) * 4 <= MAX_ANNOTATION_BYTES:
        return value
    kept = value.encode()[:MAX_ANNOTATION_BYTES]
    whole = kept.decode(errors="ignore")
    return whole + "\ufffd" * (len(kept) - len(whole.encode()))


def _validated(judgement: _Judgement, invocation: Invocation, versioned: Attributes, namespace: Json | None) -> Validated:
    policy, match = invocation.policy, invocation.match
    param = _with_kind(invocation)
    who = judgement.world.authorizer
    bound = bindings.variables(
        versioned, match.resource, match.kind, params=param, namespace=bindings.namespace_variable(namespace), who=who
    )
    at_conditions = bindings.variables(versioned, versioned.resource, match.kind, params=param, who=who)
    validated = validate(policy, bound, at_conditions)
    if validated.conditions is not None:
        count_conditions(judgement.record, policy, versioned.operation, validated.conditions.failures)
    if judgement.record.events is not None:
        _tell(judgement.record, invocation, param, bound, at_conditions, validated)
    return validated


def _tell(
    record: Record,
    invocation: Invocation,
    param: Json | None,
    bound: Mapping[str, Value],
    at_conditions: Mapping[str, Value],
    validated: Validated,
) -> None:
    policy, binding = invocation.policy, invocation.binding
    if validated.conditions is not None:
        record.happened(events.Asked(policy, at_conditions, validated.conditions, binding, param))
        if validated.conditions.error or not validated.conditions.matches:
            return
    record.happened(events.Judged(policy, binding, param, invocation.match, bound, validated))


def _with_kind(invocation: Invocation) -> Json | None:
    """NB: validating policies see params with apiVersion and kind, whatever the kind."""
    param, kind = invocation.param, invocation.policy.param_kind
    if param is None or kind is None or "kind" in param:
        return param
    return {"apiVersion": str(kind.group_version), "kind": kind.kind, **param}


def _count(record: Record, policy: Policy, binding: Binding, action: str, message: str) -> None:
    labels = {"policy": policy.name, "policy_binding": binding.name}
    record.count(POLICY_CHECKS, **labels, enforcement_action=action, error_type=error_type(message))


def _act(judgement: _Judgement, policy: Policy, binding: Binding, index: int, decision: Decision) -> None:
    """What the binding's actions make of a decision."""
    record = judgement.record
    if not decision.denied:
        if decision.failed:
            _count(record, policy, binding, "allow", decision.message)
        return
    for action in binding.actions:
        if action == "Deny":
            judgement.denials.append(_Denial(policy, binding, decision.message, decision.reason))
            _count(record, policy, binding, "deny", decision.message)
        elif action == "Audit":
            record.annotate(FAILURE_KEY, _failure(policy, binding, index, decision))
            _count(record, policy, binding, "audit", decision.message)
        elif action == "Warn":
            through = f"'{policy.name}' with binding '{binding.name}'"
            record.warn(f"Validation failed for ValidatingAdmissionPolicy {through}: {decision.message}")
            _count(record, policy, binding, "warn", decision.message)


def _failure(policy: Policy, binding: Binding, index: int, decision: Decision) -> str:
    told = {"message": decision.message, "policy": policy.name, "binding": binding.name, "expressionIndex": index}
    return marshal([{**told, "validationActions": list(binding.actions)}])


# ---------------------------------------------------------------- webhooks


def _run_webhooks(candidates: Sequence[Webhook], attributes: Attributes, world: World, record: Record) -> Calls:
    matched = [(w, m) for w in candidates if (m := should_call(w, attributes, world, record, kind="validate")) is not None]
    found: list[ApiError] = []
    calls: list[tuple[int, Call]] = []
    for index, (webhook, match) in enumerate(matched):
        try:
            calls.append((index, prepare(webhook, attributes, match, world, mutating=False)))
        except CallFailed as failed:
            found += _failed(record, webhook, attributes, index, failed)
        except ApiError as error:
            observe(record, webhook, attributes, "validating", code=0, error="apiserver_internal_error")
            found.append(refused(record, webhook, error))
    if calls:
        replies = yield [call for _, call in calls]
        for (index, call), answer in _as_they_came(calls, replies):
            found += _take_answer(record, call, answer, attributes, index)
    if found:
        raise found[0]


def _as_they_came(calls: list[tuple[int, Call]], replies: Sequence[Answer]) -> list[tuple[tuple[int, Call], Answer]]:
    """NB: of webhooks that are called at once, the first to refuse is the one that users read, however they are sorted."""
    return sorted(zip(calls, replies, strict=True), key=lambda pair: pair[1].arrival)


def _take_answer(record: Record, call: Call, answer: Answer, attributes: Attributes, index: int) -> list[ApiError]:
    webhook = call.webhook
    try:
        verdict = read_answer(record, call, answer)
    except CallFailed as failed:
        return _failed(record, webhook, attributes, index, failed)
    take_words(record, webhook, verdict)
    if verdict.allowed:
        observe(record, webhook, attributes, "validating", code=200)
        return []
    denied = ApiError(answers.denial(webhook.name, verdict.result))
    observe(record, webhook, attributes, "validating", code=denied.status.code, error="no_error")
    return [refused(record, webhook, denied)]


def _failed(record: Record, webhook: Webhook, attributes: Attributes, index: int, failed: CallFailed) -> list[ApiError]:
    failed_to_call(record, webhook, failed)
    if webhook.fail:
        observe(record, webhook, attributes, "validating", code=failed.code, error="calling_webhook_error")
        return [errors.internal(f"failed calling webhook {quoted(webhook.name)}: {failed}")]
    observe(record, webhook, attributes, "validating", code=failed.code)
    record.count("apiserver_admission_webhook_fail_open_count", name=webhook.name, type="validating")
    record.annotate(f"failed-open.validating.webhook.admission.k8s.io/round_0_index_{index}", webhook.name)
    return []
