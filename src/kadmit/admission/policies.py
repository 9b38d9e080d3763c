"""Policies in the chain: who is invoked, with which params, and what their refusals look like to the user."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from kadmit.admission.events import Chosen, Misconfigured
from kadmit.admission.outcome import Record
from kadmit.api import errors
from kadmit.api.errors import ApiError, Cause
from kadmit.api.gojson import quoted
from kadmit.api.meta import GroupResource, GroupVersionKind
from kadmit.matching.attributes import Attributes, Json
from kadmit.matching.criteria import Match
from kadmit.policy import params
from kadmit.policy.model import Binding, BoundPolicy, Policy
from kadmit.policy.params import ParamsError
from kadmit.policy.world import World


class Invocation(NamedTuple):
    """A policy that is about the request, through a binding, with a params object."""

    policy: Policy
    binding: Binding
    match: Match
    param: Json | None

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What reinvocation remembers it by."""
        metadata = (self.param or {}).get("metadata") or {}
        return self.policy.name, self.binding.name, metadata.get("namespace") or "", metadata.get("name") or ""


class PolicyError(Struct, frozen=True):
    """Why a policy could not do its work. Without a binding, the policy as a whole could not."""

    policy: Policy
    binding: Binding | None
    text: str
    reason: str = ""

    def __str__(self) -> str:
        if self.binding is None:
            return f"policy {quoted(self.policy.name)} denied request: {self.text}"
        return f"policy '{self.policy.name}' with binding '{self.binding.name}' denied request: {self.text}"


def invocations(
    candidates: Sequence[BoundPolicy], attributes: Attributes, world: World, record: Record
) -> Iterator[Invocation | PolicyError]:
    """Every matching policy, binding and params object, in order; configuration errors where they come up."""
    for bound in candidates:
        policy = bound.policy
        match = policy.criteria.match(attributes, world, world)
        if isinstance(match, ApiError):
            yield misconfigured(record, policy, None, f"failed to configure policy: {match}")
        elif match is not None:
            wrong = params.configuration_error(policy, world)
            if wrong is not None:
                yield misconfigured(record, policy, None, f"failed to configure policy: {wrong}")
            else:
                yield from _through_bindings(bound, match, attributes, world, record)


def misconfigured(record: Record, policy: Policy, binding: Binding | None, text: str) -> PolicyError:
    if record.events is not None:
        record.happened(Misconfigured(policy, binding, text))
    return PolicyError(policy, binding, text)


def _through_bindings(
    bound: BoundPolicy, match: Match, attributes: Attributes, world: World, record: Record
) -> Iterator[Invocation | PolicyError]:
    for binding in bound.bindings:
        fits = match if binding.criteria is None else binding.criteria.match(attributes, world, world)
        if isinstance(fits, ApiError):
            yield misconfigured(record, bound.policy, binding, f"failed to configure binding: {fits}")
            continue
        if fits is None:
            continue
        try:
            found = params.collect(bound.policy, binding, attributes.namespace, world)
        except ParamsError as e:
            yield misconfigured(record, bound.policy, binding, f"failed to configure binding: {e}")
            continue
        if record.events is not None:
            record.happened(Chosen(bound.policy, binding, found))
        for param in found:
            yield Invocation(bound.policy, binding, match, param)


def request_namespace(attributes: Attributes, world: World) -> Json | None:
    """The Namespace that a request is about; a Namespace itself, and cluster-scoped objects, have none. Raises ApiError."""
    if not attributes.namespace or attributes.is_namespace:
        return None
    found = world.namespace(attributes.namespace)
    if found is None:
        raise errors.not_found(GroupResource("", "namespaces"), attributes.namespace)
    return found


def versioned(attributes: Attributes, kind: GroupVersionKind, world: World) -> Attributes:
    """The attributes with both objects in the version of `kind`; raises UnknownConversion."""
    if kind == attributes.kind:
        return attributes

    def converted(value: Json | None) -> Json | None:
        return None if value is None else world.convert(value, kind)

    return replace(attributes, object=converted(attributes.object), old_object=converted(attributes.old_object))


def forbidden(attributes: Attributes, cause: str) -> ApiError:
    """A refusal that names what was refused, even before it has a name."""
    metadata = (attributes.object or {}).get("metadata") or {}
    name = attributes.name or metadata.get("name") or metadata.get("generateName") or "Unknown"
    return errors.forbidden(attributes.resource.group_resource, name, cause)


def refusal(attributes: Attributes, found: Sequence[PolicyError]) -> ApiError | None:
    """The answer to errors of mutating policies, after those that failurePolicy Ignore forgives."""
    serious = [e for e in found if e.policy.fail]
    if not serious:
        return None
    status = forbidden(attributes, "").status
    assert status.details is not None
    details = replace(status.details, causes=tuple(Cause(message=str(e)) for e in serious))
    reason = serious[0].reason or status.reason
    return ApiError(replace(status, message=str(serious[0]), reason=reason, details=details))
