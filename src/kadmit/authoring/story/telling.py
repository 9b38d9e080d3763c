"""From what the chain has recorded to a story.

Events are split where policies or webhooks begin a round; within such a stage every policy and webhook of the snapshot gets an
entry, from the events that are about it, or from the clause by which the request did not match.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from kadmit.admission import events
from kadmit.admission.events import MUTATING, POLICIES, VALIDATING, WEBHOOKS, Event
from kadmit.admission.outcome import Record
from kadmit.authoring.admission import Admission
from kadmit.authoring.explanation import SKIPPED
from kadmit.authoring.manifests import Json, Manifest
from kadmit.authoring.story import policies, webhooks
from kadmit.authoring.story.places import Places
from kadmit.authoring.story.policies import NOT_REACHED
from kadmit.authoring.story.segments import Segment, segments
from kadmit.authoring.story.shape import Stage, Story
from kadmit.matching.attributes import Attributes, user_info

EXEMPT, PASSED, REFUSED = "exempt", "passed", "refused"
OWN_RULES = "the kind's own rules"

_EXEMPT = {
    POLICIES: "policies are never asked about policies, their bindings, and reviews of access and tokens",
    WEBHOOKS: "webhooks are never asked about what configures admission",
}


def tell(admission: Admission, manifests: Sequence[Manifest]) -> Story:
    told = _Telling(admission, Places(manifests))
    return Story(admission, _request(admission), tuple(told.stages()), tuple(_metrics(admission.record)))


def _metrics(record: Record) -> Iterator[Json]:
    """Counters that the request would move, each with by how much."""
    for increment, times in Counter(record.increments).items():
        yield {"metric": increment.metric, "labels": dict(increment.labels), "times": times}


def _request(admission: Admission) -> Json:
    found = next((e.attributes for e in admission.record.events or () if isinstance(e, events.Entered)), None)
    made: Json = {"operation": admission.operation, "resource": admission.resource, "name": admission.name}
    made |= {"namespace": admission.namespace} if admission.namespace else {}
    return made if found is None else made | _attributes(found)


def _attributes(attributes: Attributes) -> Json:
    made: Json = {"subresource": attributes.subresource} if attributes.subresource else {}
    made |= {"kind": attributes.kind._asdict(), "user": user_info(attributes.user)}
    return made | {"dryRun": attributes.dry_run}


class _Telling(Struct):
    admission: Admission
    places: Places

    def stages(self) -> Iterator[Stage]:
        found = list(segments(self.admission.record))
        first: dict[str, Stage] = {}
        for half in (MUTATING, VALIDATING):
            mine = [s for s in found if s.began.half == half]
            for segment in mine:
                stage = self._stage(segment, first.get(segment.name), found)
                first.setdefault(segment.name, stage)
                yield stage
            yield from self._missing(half, {s.began.who for s in mine})
            if half == MUTATING:
                yield from self._own_rules()

    def _missing(self, half: str, there: set[str]) -> Iterator[Stage]:
        """NB: an admitted request has been everywhere that it had to be."""
        if not self.admission.allowed:
            yield from (Stage(f"{half} {who}", did=NOT_REACHED) for who in (POLICIES, WEBHOOKS) if who not in there)

    def _own_rules(self) -> Iterator[Stage]:
        """Between the halves; not everything that is refused there is refused by the kind's rules, but nearly."""
        halves = {type(e): e for e in self.admission.record.events or () if isinstance(e, events.Entered | events.Left)}
        judged = any(isinstance(e, events.Entered) and e.half == VALIDATING for e in self.admission.record.events or ())
        if self.admission.allowed or judged:
            yield Stage(OWN_RULES, did=PASSED)
        elif not halves:
            yield Stage(OWN_RULES, did=REFUSED, because="the request was refused before admission")
        elif events.Left in halves:
            yield Stage(OWN_RULES, did=REFUSED)
        else:
            yield Stage(OWN_RULES, did=NOT_REACHED)

    def _stage(self, segment: Segment, before: Stage | None, found: Sequence[Segment]) -> Stage:
        began = segment.began
        if began.exempt:
            return Stage(segment.name, began.round, EXEMPT, _EXEMPT[began.who])
        telling = policies if began.who == POLICIES else webhooks
        entries = telling.entries(segment.entered, began, segment.happened, self.places)
        if before is not None:
            known = {(e.kind, e.name, e.because) for e in before.entries if e.did == SKIPPED}
            entries = (e for e in entries if (e.kind, e.name, e.because) not in known)
        return Stage(segment.name, began.round, because=_why_again(began, found), entries=tuple(entries))


def _why_again(began: events.Began, found: Sequence[Segment]) -> str:
    """NB: a mutation of a policy counts as a change even if it changed nothing."""
    if not began.round:
        return ""
    names: dict[str, None] = {}
    for segment in found:
        if segment.began.half == MUTATING and segment.began.round == 0:
            names |= dict.fromkeys(filter(None, map(_changer, segment.happened)))
    return f"the first round changed the object: {', '.join(names)}"


def _changer(event: Event) -> str:
    if isinstance(event, events.Mutated) and isinstance(event.result, dict):
        return f"policy {event.policy.name}"
    return f"webhook {event.webhook.name}" if isinstance(event, events.Patched) and event.changed else ""
