"""What one policy made of a request, as other tools count it: each policy by itself, whatever its binding does with it."""

from collections.abc import Iterable

from msgspec import Struct

from kadmit.admission import events
from kadmit.authoring.suite.outcome import Outcome
from kadmit.policy.mutator import Rejection

PASS, FAIL, SKIP = "pass", "fail", "skip"


class Decision(Struct, frozen=True):
    """Whether the policy was about the request at all, and what it had against it."""

    result: str
    messages: tuple[str, ...] = ()


def of(policy: str, outcome: Outcome) -> Decision:
    """What the policy of this name decided, through all its bindings and params."""
    found = outcome.admission.record.events or ()
    messages = [*_of_validations(policy, found), *_of_mutations(policy, found), *_of_configuration(policy, found)]
    if messages:
        return Decision(FAIL, tuple(messages))
    asked = any(isinstance(e, events.Judged | events.Mutated) and e.policy.name == policy for e in found)
    return Decision(PASS if asked else SKIP)


def _of_validations(policy: str, found: Iterable[events.Event]) -> list[str]:
    judged = [e for e in found if isinstance(e, events.Judged) and e.policy.name == policy]
    return [decision.message for e in judged for decision in e.validated.decisions if decision.denied]


def _of_mutations(policy: str, found: Iterable[events.Event]) -> list[str]:
    mutated = [e for e in found if isinstance(e, events.Mutated) and e.policy.name == policy]
    return [e.result.text for e in mutated if isinstance(e.result, Rejection)]


def _of_configuration(policy: str, found: Iterable[events.Event]) -> list[str]:
    return [e.text for e in found if isinstance(e, events.Misconfigured) and e.policy.name == policy and e.policy.fail]
