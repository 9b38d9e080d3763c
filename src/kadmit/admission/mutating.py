"""The mutating half: policies, then webhooks, then both again where somebody changed what they had seen.

A change makes earlier IfNeeded policies and webhooks run once more, in a second round; there is no third. NB: any policy
mutation that was applied counts as a change, even if the object is the same afterwards; a webhook's patch counts if the object
differs, where on CREATE every non-empty patch does.
"""

import contextlib
from collections.abc import Generator, Sequence
from typing import Any, cast

from msgspec import Struct, field

from kadmit.admission import answers, changes, events, exemptions, patchtext, policies, webhooks
from kadmit.admission.answers import Answer, CallFailed
from kadmit.admission.events import MUTATING, POLICIES, WEBHOOKS
from kadmit.admission.outcome import Record
from kadmit.admission.policies import Invocation, PolicyError
from kadmit.admission.snapshot import Candidates, Snapshot
from kadmit.admission.webhooks import Call, Webhook
from kadmit.api import errors
from kadmit.api.errors import ApiError, Status
from kadmit.api.gojson import marshal, quoted
from kadmit.api.meta import GroupVersionKind
from kadmit.kinds.conversion import UnknownConversion
from kadmit.kinds.settling import OtherKind, Unconvertible
from kadmit.matching.attributes import Attributes, Json
from kadmit.matching.criteria import Match
from kadmit.patch import jsonpatch
from kadmit.patch.errors import PatchError
from kadmit.patch.values import equal
from kadmit.policy import bindings
from kadmit.policy.bindings import RequestVariables
from kadmit.policy.evaluation import evaluate_conditions
from kadmit.policy.model import BoundPolicy, Policy
from kadmit.policy.mutator import Rejection, mutate
from kadmit.policy.world import World

Calls = Generator[Sequence[Call], Sequence[Answer], Attributes]

SCHEME = "pkg/api/legacyscheme/scheme.go:30"
POLICY_CHECKS = "apiserver_mutating_admission_policy_check_total"


class _Reinvocation(Struct):
    """Who has run, who must run again, and what the object was when they were last done."""

    ran: set[Any] = field(default_factory=set)
    again: set[Any] = field(default_factory=set)
    last: Json | None = None

    def require(self) -> None:
        self.again |= self.ran
        self.ran = set()


class _Chain(Struct):
    """One request's way through the mutating half."""

    candidates: Candidates
    world: World
    record: Record
    attributes: Attributes
    variables: RequestVariables
    namespaces: dict[str, Json | None] = field(default_factory=dict)  # `namespaceObject`, once somebody needs it
    policies: _Reinvocation = field(default_factory=_Reinvocation)
    webhooks: _Reinvocation = field(default_factory=_Reinvocation)
    changed: bool = False  # whether a second round is due
    fine_times: bool = True  # whether times in managedFields may still be finer than JSON can keep
    unfit: OtherKind | None = None  # a webhook has made the object another kind


def run(snapshot: Snapshot, attributes: Attributes, world: World, record: Record) -> Calls:
    """Yields webhook calls one at a time, is sent their answers, gives the attributes after it. Raises ApiError."""
    variables = RequestVariables(attributes, world.authorizer)
    candidates = snapshot.candidates(attributes, world)
    chain = _Chain(candidates, world, record, attributes, variables)
    explained = record.events is not None
    if explained:
        record.happened(events.entered(MUTATING, snapshot, attributes, world))
    by_policies, by_webhooks = not exemptions.from_policies(attributes), not exemptions.from_webhooks(attributes)
    for round_number in (0, 1):
        if explained:
            record.happened(events.Began(MUTATING, POLICIES, round_number, chain.attributes, not by_policies))
        if by_policies:
            _run_policies(chain, round_number)
        if explained:
            record.happened(events.Began(MUTATING, WEBHOOKS, round_number, chain.attributes, not by_webhooks))
        if by_webhooks:
            yield from _run_webhooks(chain, round_number)
        if not chain.changed:
            break
    if explained:
        record.happened(events.Left(MUTATING, chain.attributes))
    return chain.attributes


# ---------------------------------------------------------------- policies


def _run_policies(chain: _Chain, round_number: int) -> None:
    state = chain.policies
    if round_number and not equal(state.last, chain.attributes.object):
        state.require()
    found: list[PolicyError] = []
    invoked: list[Invocation] = []
    for item in policies.invocations(_candidates(chain, round_number), chain.attributes, chain.world, chain.record):
        if isinstance(item, PolicyError):
            found.append(item)
        else:
            invoked.append(item)
    if invoked:
        found += _invoke_all(chain, invoked, _namespace(chain), round_number)
    state.last = chain.attributes.object
    refused = policies.refusal(chain.attributes, found)
    if refused is not None:
        raise refused


def _candidates(chain: _Chain, round_number: int) -> Sequence[BoundPolicy]:
    """In the second round, only those of which anything may still be heard; whoever explains hears of all."""
    every = chain.candidates.mutating_policies
    return every if not round_number or chain.record.events is not None else [b for b in every if _may_speak_again(b.policy)]


def _may_speak_again(policy: Policy) -> bool:
    """One that never runs twice could still fail: by its conditions, or by params that are gone."""
    return policy.reinvoke or bool(policy.conditions) or policy.param_kind is not None


def _namespace(chain: _Chain) -> Json | None:
    """`namespaceObject`, the same in both rounds. Raises ApiError."""
    name = chain.attributes.namespace
    if name not in chain.namespaces:
        found = policies.request_namespace(chain.attributes, chain.world)
        chain.namespaces[name] = bindings.namespace_variable(found)
    return chain.namespaces[name]


def _invoke_all(chain: _Chain, invoked: Sequence[Invocation], namespace: Json | None, round_number: int) -> list[PolicyError]:
    found: list[PolicyError] = []
    applied = False
    for invocation in invoked:
        outcome = _invoke(chain, invocation, namespace, round_number)
        found += outcome.errors
        applied = applied or outcome.applied
    if applied:
        chain.policies.require()
        chain.changed = True
    return found


class _Invoked(Struct):
    errors: list[PolicyError] = field(default_factory=list)
    applied: bool = False


def _invoke(chain: _Chain, invocation: Invocation, namespace: Json | None, round_number: int) -> _Invoked:
    policy, world = invocation.policy, chain.world
    try:
        versioned = policies.versioned(chain.attributes, invocation.match.kind, world)
    except UnknownConversion as e:
        return _Invoked([policies.misconfigured(chain.record, policy, None, f"failed to configure policy: {e}")])
    problem = _unmatched(chain, invocation, versioned)
    if problem is not None:
        return problem
    if round_number and not (policy.reinvoke and invocation.key in chain.policies.again):
        if chain.record.events is not None:
            chain.record.happened(events.NotAgain(policy, invocation.binding, invocation.param))
        return _Invoked()
    done = _mutate_all(chain, invocation, versioned, namespace)
    if policy.reinvoke:
        chain.policies.ran.add(invocation.key)
    return done


def _unmatched(chain: _Chain, invocation: Invocation, versioned: Attributes) -> _Invoked | None:
    """What match conditions say against running: nothing (None), that it does not match, or an error."""
    policy = invocation.policy
    if not policy.conditions:
        return None
    params = _without_kind(invocation, chain.world)
    kind, asks = invocation.match.kind, policy.asks_authorizer
    bound = chain.variables.bind(versioned, versioned.resource, kind, params=params, authorizer=asks)
    said = evaluate_conditions(policy.conditions, bound, fail=policy.fail)
    count_conditions(chain.record, policy, versioned.operation, said.failures)
    if chain.record.events is not None:
        chain.record.happened(events.Asked(policy, bound, said, invocation.binding, params))
    if said.error:
        return _Invoked([PolicyError(policy, invocation.binding, said.error, "Invalid")])
    return None if said.matches else _Invoked()


def count_conditions(record: Record, policy: Policy, operation: str, failures: int) -> None:
    """NB: policies of both kinds are counted alike, as validating."""
    if not failures:
        return
    labels = {"name": policy.name, "kind": "policy", "type": "validate", "operation": operation}
    for _ in range(failures):
        record.count("apiserver_admission_match_condition_evaluation_errors_total", **labels)


def _without_kind(invocation: Invocation, world: World) -> Json | None:
    """NB: mutating policies see built-in params without apiVersion and kind."""
    param = invocation.param
    if param is None or invocation.policy.param_kind is None or world.is_custom(invocation.policy.param_kind):
        return param
    return {k: v for k, v in param.items() if k not in ("apiVersion", "kind")}


def _mutate_all(chain: _Chain, invocation: Invocation, versioned: Attributes, namespace: Json | None) -> _Invoked:
    policy, record = invocation.policy, chain.record
    done = _Invoked()
    before, match = versioned.object, invocation.match
    params = _without_kind(invocation, chain.world)
    plain = chain.variables.bind(
        versioned, match.resource, match.kind, params=params, namespace=namespace, authorizer=policy.asks_authorizer
    )
    for index, mutation in enumerate(policy.mutations):
        if plain["object"] is None:
            continue
        labels = {"policy": policy.name, "policy_binding": invocation.binding.name}
        bound = policy.composition.bind(plain)
        try:
            result = mutate(mutation, bound, match.kind, chain.world)
        except ApiError as error:
            record.count(POLICY_CHECKS, **labels, error_type=_error_type(error))
            if record.events is not None:
                record.happened(events.Mutated(policy, invocation.binding, params, match, index, dict(plain), error))
            raise
        del bound["variables"]  # NB: it holds what holds it; let go, the bindings need no garbage collector
        if not isinstance(result, Rejection):
            result = _returned(result, plain["object"], match.kind, versioned, chain.world)
        if record.events is not None:
            record.happened(events.Mutated(policy, invocation.binding, params, match, index, dict(plain), result))
        if isinstance(result, Rejection):
            record.count(POLICY_CHECKS, **labels, error_type=result.error_type)
            done.errors.append(PolicyError(policy, invocation.binding, result.text, "Invalid"))
            continue
        record.count(POLICY_CHECKS, **labels, error_type="no_error")
        plain["object"] = result
        done.applied = True
        chain.fine_times = False
    _take_over(chain, invocation, versioned, before, plain["object"])
    return done


def _returned(result: Json, before: Json, kind: GroupVersionKind, versioned: Attributes, world: World) -> "Json | Rejection":
    """The object in the version of the request, if kube-apiserver can have it there."""
    if kind != versioned.kind:
        return _back(result, kind, versioned.kind, world)
    if versioned.subresource == "scale" and result is not before and _is_custom(versioned, world):
        # NB: a patched Scale of a custom kind is read as an object without a type, which has no way back.
        return Rejection(f"request to convert CR to an invalid group/version: {kind.group_version}")
    return result


def _is_custom(versioned: Attributes, world: World) -> bool:
    return any(world.is_custom(kind) for _, kind in world.equivalents(versioned.resource, ""))


def _back(result: Json, kind: GroupVersionKind, wanted: GroupVersionKind, world: World) -> "Json | Rejection":
    """NB: kube-apiserver cannot convert a changed built-in object back to the version of the request."""
    if world.is_custom(kind):
        return result
    if kind.group != wanted.group:
        to = quoted(str(wanted.group_version))
        return Rejection(f'{kind.version}.{kind.kind} is not suitable for converting to {to} in scheme "{SCHEME}"')
    return Rejection(f"converting ({kind.version}.{kind.kind}) to ({wanted.version}.{wanted.kind}): unknown conversion")


def _error_type(error: ApiError) -> str:
    """NB: what is found out when the whole object is converted or written comes after its mutations were counted."""
    is_late = not error.status.reason or str(error).startswith("Internal error occurred: failed to convert object: ")
    return "no_error" if is_late else "invalid_error"


def _take_over(chain: _Chain, invocation: Invocation, versioned: Attributes, before: Json | None, after: Json | None) -> None:
    if after is None or after is before:
        return
    changed = after if invocation.match.kind == versioned.kind else chain.world.convert(after, versioned.kind)
    chain.attributes = chain.attributes.with_object(changed)


# ---------------------------------------------------------------- webhooks


def _run_webhooks(chain: _Chain, round_number: int) -> Generator[Sequence[Call], Sequence[Answer], None]:
    state = chain.webhooks
    if round_number and not equal(state.last, chain.attributes.object):
        state.require()
    try:
        for index, webhook in chain.candidates.mutating_webhooks:
            match = should_call(webhook, chain.attributes, chain.world, chain.record, kind="admit")
            if match is None:
                continue
            if round_number and webhook.uid not in state.again:
                if chain.record.events is not None:
                    chain.record.happened(events.NotAgain(webhook))
                continue
            changed = yield from _call(chain, webhook, match, round_number, index)
            if changed:
                state.require()
                chain.changed = True
            if webhook.reinvoke:
                state.ran.add(webhook.uid)
        if chain.unfit is not None:
            raise ApiError(Status(500, "", str(chain.unfit)))
    finally:
        state.last = chain.attributes.object


def should_call(webhook: Webhook, attributes: Attributes, world: World, record: Record, *, kind: str) -> Match | None:
    """What the webhook takes the request for, None if it is not about it. Raises ApiError."""
    if record.events is not None:
        record.happened(events.Considered(webhook, attributes))
    match = webhook.criteria.match(attributes, world, world)
    if isinstance(match, ApiError):
        raise refused(record, webhook, match)
    if match is None or not webhook.conditions:
        return match
    try:
        versioned = policies.versioned(attributes, match.kind, world)
    except UnknownConversion as e:
        raise refused(record, webhook, errors.internal(str(e))) from None
    bound = bindings.variables(versioned, attributes.resource, match.kind, who=world.authorizer)
    said = evaluate_conditions(webhook.conditions, bound, fail=webhook.fail)
    if record.events is not None:
        record.happened(events.Asked(webhook, bound, said))
    # NB: the two metrics disagree about what a validating webhook is called.
    labels = {"name": webhook.name, "kind": "webhook", "operation": attributes.operation}
    for _ in range(said.failures):
        type_ = "admit" if kind == "admit" else "validating"
        record.count("apiserver_admission_match_condition_evaluation_errors_total", **labels, type=type_)
    if said.error:
        raise errors.forbidden(attributes.resource.group_resource, attributes.name, said.error)
    if not said.matches:
        type_ = "admit" if kind == "admit" else "validate"
        record.count("apiserver_admission_match_condition_exclusions_total", **labels, type=type_)
        return None
    return match


def refused(record: Record, webhook: Webhook, error: ApiError) -> ApiError:
    """The error, after it has been told."""
    if record.events is not None:
        record.happened(events.Refused(webhook, error))
    return error


def failed_to_call(record: Record, webhook: Webhook, failed: CallFailed) -> None:
    if record.events is not None:
        record.happened(events.Failed(webhook, str(failed)))


def prepare(webhook: Webhook, attributes: Attributes, match: Match, world: World, *, mutating: bool) -> Call:
    """The call to make; raises CallFailed, or ApiError where the webhook cannot be called in a dry run."""
    if attributes.dry_run and not webhooks.supports_dry_run(webhook):
        raise errors.bad_request(f"admission webhook {quoted(webhook.name)} does not support dry run")
    version = webhook.review_version
    if version is None:
        wanted = "webhook does not accept known AdmissionReview versions (v1, v1beta1)"
        raise CallFailed(f"could not create admission objects: {wanted}", 400)
    try:
        versioned = policies.versioned(attributes, match.kind, world)
    except UnknownConversion as e:
        raise errors.internal(str(e)) from None
    return Call(webhook, version, webhooks.admission_request(versioned, match.resource, match.kind), mutating)


def _call(
    chain: _Chain, webhook: Webhook, match: Match, round_number: int, index: int
) -> Generator[Sequence[Call], Sequence[Answer], bool]:
    """Call one webhook and take its answer; whether it changed the object. Raises ApiError."""
    suffix = f"round_{round_number}_index_{index}"
    changed = False
    try:
        call = prepare(webhook, chain.attributes, match, chain.world, mutating=True)
        (answer,) = yield [call]
        changed = _take_answer(chain, call, answer, match, suffix)
        observe(chain.record, webhook, chain.attributes, "admit", code=200)
    except CallFailed as failed:
        failed_to_call(chain.record, webhook, failed)
        if webhook.fail:
            observe(chain.record, webhook, chain.attributes, "admit", code=failed.code, error="calling_webhook_error")
            raise errors.internal(f"failed calling webhook {quoted(webhook.name)}: {failed}") from None
        observe(chain.record, webhook, chain.attributes, "admit", code=failed.code)
        chain.record.count("apiserver_admission_webhook_fail_open_count", name=webhook.name, type="admit")
        chain.record.annotate(f"failed-open.mutation.webhook.admission.k8s.io/{suffix}", webhook.name)
    except _Denied as denied:
        code = denied.error.status.code
        observe(chain.record, webhook, chain.attributes, "admit", code=code, error="no_error")
        raise refused(chain.record, webhook, denied.error) from None
    except ApiError as error:
        observe(chain.record, webhook, chain.attributes, "admit", code=0, error="apiserver_internal_error")
        raise refused(chain.record, webhook, error) from None
    finally:
        mutated = {"configuration": webhook.configuration, "webhook": webhook.name, "mutated": changed}
        chain.record.annotate(f"mutation.webhook.admission.k8s.io/{suffix}", marshal(mutated))
    return changed


class _Denied(Exception):
    """The webhook said no."""

    def __init__(self, error: ApiError) -> None:
        super().__init__(str(error))
        self.error = error


def read_answer(record: Record, call: Call, answer: Answer) -> answers.Verdict:
    """What a webhook said; raises CallFailed."""
    try:
        verdict = answers.read(call, answer)
    except CallFailed:
        if record.events is not None:
            record.happened(events.Called(call, answer))
        raise
    if record.events is not None:
        record.happened(events.Called(call, answer, verdict))
    return verdict


def take_words(record: Record, webhook: Webhook, verdict: answers.Verdict) -> None:
    """Audit annotations and warnings count whatever comes of the request."""
    for key, value in verdict.annotations.items():
        record.annotate(f"{webhook.name}/{key}", value)
    for text in verdict.warnings:
        record.warn(text)


def _take_answer(chain: _Chain, call: Call, answer: Answer, match: Match, suffix: str) -> bool:
    webhook = call.webhook
    verdict = read_answer(chain.record, call, answer)
    take_words(chain.record, webhook, verdict)
    if not verdict.allowed:
        raise _Denied(ApiError(answers.denial(webhook.name, verdict.result)))
    if not verdict.patch:
        return False
    try:
        patch = jsonpatch.decode(verdict.patch)
    except PatchError as e:
        raise CallFailed(f"received undecodable patch in webhook response: {e}") from None
    if not len(patch):
        return False
    return _take_patch(chain, call, patch, verdict, match, suffix)


def _take_patch(chain: _Chain, call: Call, patch: jsonpatch.Patch, verdict: answers.Verdict, match: Match, suffix: str) -> bool:
    webhook = call.webhook
    live = call.request["object"]
    if live is None:
        text = (
            f"admission webhook {quoted(webhook.name)} attempted to modify the object, which is not supported for this operation"
        )
        raise errors.internal(text)
    if verdict.patch_type != "JSONPatch":
        code = answers.denial(webhook.name, verdict.result).code
        raise CallFailed(f"unsupported patch type {quoted(verdict.patch_type)}", code)
    try:
        patched = patch.apply(live)
    except PatchError as e:
        raise errors.internal(str(e)) from None
    try:
        settled = _settled(chain, match, cast("Json", patched), live)
    except Unconvertible as e:
        raise errors.internal(str(e)) from None
    _annotate_patch(chain.record, webhook, verdict, suffix)
    # NB: new times lose their fractions on the way through a patch, so the first patch always changes something.
    fresh = chain.fine_times and changes.has_new_times(chain.attributes, chain.world)
    changed = fresh or not equal(live, settled) or changes.has_lost(live, patched)
    chain.fine_times = False
    if chain.record.events is not None:
        chain.record.happened(events.Patched(webhook, live, settled, changed))
    as_is = chain.unfit is not None or match.kind == chain.attributes.kind
    chain.attributes = chain.attributes.with_object(settled if as_is else chain.world.convert(settled, chain.attributes.kind))
    return changed


def _settled(chain: _Chain, match: Match, patched: Json, live: Json) -> Json:
    """The patched object, be it what it may: another version of the kind is as good, another kind is only found out later."""
    try:
        return chain.world.settle_patched(match.kind, patched, live)
    except OtherKind as other:
        if not chain.world.is_custom(match.kind):
            with contextlib.suppress(UnknownConversion):
                return chain.world.convert(other.object, match.kind)
        chain.unfit = other
        return other.object


def _annotate_patch(record: Record, webhook: Webhook, verdict: answers.Verdict, suffix: str) -> None:
    head = marshal({"configuration": webhook.configuration, "webhook": webhook.name})
    operations = patchtext.patch_text(verdict.patch)
    value = f'{head[:-1]},"patch":{operations},"patchType":"JSONPatch"}}'
    record.annotate(f"patch.webhook.admission.k8s.io/{suffix}", value, request_level=True)


def observe(record: Record, webhook: Webhook, attributes: Attributes, kind: str, *, code: int, error: str = "") -> None:
    """Metrics of one call; `error`: it rejected the request, and why."""
    labels = {"name": webhook.name, "type": kind, "operation": attributes.operation}
    if error:
        shown = min(code, 600) if code else 0
        record.count("apiserver_admission_webhook_rejection_count", **labels, error_type=error, rejection_code=str(shown))
    rejected = "true" if error else "false"
    record.count("apiserver_admission_webhook_request_total", **labels, code=str(min(code, 600)), rejected=rejected)
