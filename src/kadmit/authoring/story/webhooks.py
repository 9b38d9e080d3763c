"""What became of every webhook in one stage: called or not, with what, and what it answered."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from kadmit.admission import events
from kadmit.admission.events import MUTATING, Event
from kadmit.admission.webhooks import Webhook
from kadmit.api.registration import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS
from kadmit.authoring.explanation import ALLOWED, CHANGED, DENIED, FAILED, IGNORED, NOT_CALLED, SKIPPED, UNCHANGED
from kadmit.authoring.story.expressions import Owner
from kadmit.authoring.story.places import Places
from kadmit.authoring.story.policies import NOT_AGAIN, NOT_REACHED, several, stopped_by
from kadmit.authoring.story.shape import Called, Entry
from kadmit.matching import reasons
from kadmit.patch import jsondiff

T = TypeVar("T", bound=Event)


def entries(entered: events.Entered, began: events.Began, happened: Sequence[Event], places: Places) -> Iterator[Entry]:
    """All webhooks of the half, in the order in which they are called."""
    mutating = began.half == MUTATING
    seen: dict[str, int] = {}
    for webhook in entered.snapshot.mutating_webhooks if mutating else entered.snapshot.validating_webhooks:
        index = seen.get(webhook.configuration, 0)
        seen[webhook.configuration] = index + 1
        kind = MUTATING_WEBHOOKS if mutating else VALIDATING_WEBHOOKS
        owner = Owner(kind, webhook.configuration, f"webhooks[{index}]", places)
        yield _Webhook(webhook, owner, entered, began, happened).entry()


class _Webhook(NamedTuple):
    webhook: Webhook
    owner: Owner
    entered: events.Entered
    began: events.Began
    happened: Sequence[Event]

    def entry(self) -> Entry:
        considered = self._mine(events.Considered)
        attributes = considered[0].attributes if considered else self.began.attributes
        against = reasons.reason(self.webhook.criteria, attributes, self.entered.around)
        if against is not None:
            return self._entry(SKIPPED, str(against), details=several(against.details))
        if not considered:
            return self._entry(NOT_REACHED)
        asked = next(iter(self._mine(events.Asked)), None)
        conditions = () if asked is None else self.owner.conditions(self.webhook.conditions, asked.bound)
        if asked is not None and not asked.said.matches:
            return self._entry(FAILED if asked.said.error else SKIPPED, stopped_by(asked.said), conditions=conditions)
        if self._mine(events.NotAgain):
            why = "nothing changed the object after it was called" if self.webhook.reinvoke else "reinvocationPolicy is Never"
            return self._entry(NOT_AGAIN, why, conditions=conditions)
        did, because = self._came_to()
        return self._entry(did, because, conditions=conditions, call=self._call())

    def _entry(self, did: str, because: str = "", **more: Any) -> Entry:
        owner, webhook = self.owner, self.webhook
        place = owner.places.of(owner.kind, owner.name, owner.path)
        fail = "Fail" if webhook.fail else "Ignore"
        return Entry(owner.kind, webhook.name, did, because, configuration=owner.name, failure_policy=fail, place=place, **more)

    def _mine(self, kind: type[T]) -> list[T]:
        return [e for e in self.happened if isinstance(e, kind) and _about(e) is self.webhook]

    def _came_to(self) -> tuple[str, str]:
        """What it did, and why."""
        for failed in self._mine(events.Failed):
            return (FAILED if self.webhook.fail else IGNORED), failed.text
        called = next(iter(self._mine(events.Called)), None)
        for refused in self._mine(events.Refused):
            said_no = called is not None and called.verdict is not None and not called.verdict.allowed
            return (DENIED if said_no else FAILED), str(refused.error)
        if called is None:
            return NOT_REACHED, ""
        if called.answer.stand_in:
            return NOT_CALLED, "taken to allow the request"
        for patched in self._mine(events.Patched):
            return (CHANGED if jsondiff.diff(patched.before, patched.after) else UNCHANGED), ""
        return ALLOWED, ""

    def _call(self) -> Called | None:
        called = next(iter(self._mine(events.Called)), None)
        if called is None:
            return None
        failure = "".join(e.text for e in self._mine(events.Failed))
        patch = [op for e in self._mine(events.Patched) for op in jsondiff.diff(e.before, e.after)]
        made = Called(
            _target(self.webhook),
            self.webhook.timeout,
            called.call.review(""),
            called.answer.stand_in,
            failure=failure,
            patch=patch,
        )
        verdict = called.verdict
        if verdict is None:
            return made
        return Called(
            made.target,
            made.timeout,
            made.review,
            made.stand_in,
            verdict.allowed,
            failure,
            verdict.warnings,
            verdict.annotations,
            patch,
        )


def _about(event: Event) -> object:
    match event:
        case events.Asked() | events.NotAgain():
            return event.of
        case events.Called():
            return event.call.webhook
    return getattr(event, "webhook", None)


def _target(webhook: Webhook) -> str:
    """Where it is called."""
    client = webhook.client
    if client.get("url"):
        return str(client["url"])
    service = client.get("service") or {}
    path = service.get("path") or "/"
    return f"https://{service.get('name')}.{service.get('namespace')}.svc:{service.get('port') or 443}{path}"
