"""What happened on the way through the chain, as data from which an explanation can be worked out afterwards.

The chain stays quiet about what can be derived: why a policy did not match, the value of a sub-expression, a diff. An event holds
what such work needs, and only what nobody changes any more. Nobody pays for events unless a Record asks for them.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from kadmit.admission.answers import Answer, Verdict
from kadmit.admission.snapshot import Snapshot
from kadmit.admission.webhooks import Call, Webhook
from kadmit.api.errors import ApiError
from kadmit.cel.values import Value
from kadmit.matching.attributes import Attributes, Json
from kadmit.matching.criteria import Match
from kadmit.matching.reasons import Surroundings
from kadmit.policy.evaluation import Conditions
from kadmit.policy.model import Binding, Policy
from kadmit.policy.mutator import Rejection
from kadmit.policy.validator import Validated
from kadmit.policy.world import World

MUTATING, VALIDATING = "mutating", "validating"
POLICIES, WEBHOOKS = "policies", "webhooks"


class Entered(NamedTuple):
    """A half of the chain begins."""

    half: str
    snapshot: Snapshot
    attributes: Attributes
    around: Surroundings


def entered(half: str, snapshot: Snapshot, attributes: Attributes, world: World) -> Entered:
    """NB: what the world says now; later it may say something else, not least because of this request."""
    same = tuple(world.equivalents(attributes.resource, attributes.subresource))
    namespace = world.namespace(attributes.namespace) if attributes.namespace else None
    return Entered(half, snapshot, attributes, Surroundings(same, namespace))


class Left(NamedTuple):
    """A half of the chain has let the request through."""

    half: str
    attributes: Attributes


class Began(NamedTuple):
    """All policies, or all webhooks, of a half: the first or the second time. `exempt`: none is asked about this kind."""

    half: str
    who: str
    round: int
    attributes: Attributes
    exempt: bool = False


class Misconfigured(NamedTuple):
    """A policy, or a binding of it, that cannot be asked."""

    policy: Policy
    binding: Binding | None
    text: str


class Chosen(NamedTuple):
    """The params of a binding whose policy matches; empty: the binding is skipped."""

    policy: Policy
    binding: Binding
    params: Sequence[Json | None]


class Asked(NamedTuple):
    """Match conditions, the variables that they saw, and what they said."""

    of: Policy | Webhook
    bound: Mapping[str, Value]
    said: Conditions
    binding: Binding | None = None
    param: Json | None = None


class NotAgain(NamedTuple):
    """In the second round, who is not run again: it never is, or nothing changed after it."""

    of: Policy | Webhook
    binding: Binding | None = None
    param: Json | None = None


class Mutated(NamedTuple):
    """One mutation of a policy: the variables that it saw, and the new object or why there is none. An ApiError ends the request,
    whatever the failure policy.
    """

    policy: Policy
    binding: Binding
    param: Json | None
    match: Match
    number: int
    bound: Mapping[str, Value]
    result: "Json | Rejection | ApiError"


class Judged(NamedTuple):
    """A validating policy with one params object."""

    policy: Policy
    binding: Binding
    param: Json | None
    match: Match
    bound: Mapping[str, Value]
    validated: Validated


class Considered(NamedTuple):
    """A webhook is asked whether it is about the request, as it is by now."""

    webhook: Webhook
    attributes: Attributes


class Called(NamedTuple):
    """A webhook's answer: a verdict, or what is wrong with it."""

    call: Call
    answer: Answer
    verdict: Verdict | None = None


class Patched(NamedTuple):
    """A webhook's patch was applied."""

    webhook: Webhook
    before: Json
    after: Json
    changed: bool


class Failed(NamedTuple):
    """A webhook that could not be called, or did not answer properly: what failurePolicy is about."""

    webhook: Webhook
    text: str


class Refused(NamedTuple):
    """An error that no failurePolicy forgives, or a webhook's no."""

    webhook: Webhook
    error: ApiError


Event: TypeAlias = (
    Entered
    | Left
    | Began
    | Misconfigured
    | Chosen
    | Asked
    | NotAgain
    | Mutated
    | Judged
    | Considered
    | Called
    | Patched
    | Failed
    | Refused
)
