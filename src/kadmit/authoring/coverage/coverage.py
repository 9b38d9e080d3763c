"""Which expressions, branches and match clauses of policies were never decisive while requests were made.

`points` says what there is to cover. Here the records of requests are taken in, what was met is counted, and what was
not is reported with the place where it stands.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import NamedTuple, TypeAlias, TypeVar

from kadmit.admission import events
from kadmit.admission.events import MUTATING, POLICIES
from kadmit.admission.outcome import Record
from kadmit.admission.webhooks import Webhook
from kadmit.api import registration
from kadmit.authoring.coverage import points, signatures
from kadmit.authoring.coverage.report import Covered, Missing, Report
from kadmit.authoring.coverage.watching import Clauses, Meet, PolicyWatch, WebhookWatch
from kadmit.authoring.manifests import Manifest
from kadmit.authoring.story.segments import Segment, segments
from kadmit.policy.model import Binding, BoundPolicy, Policy

Counts: TypeAlias = dict[str, int]  # which points were met; plain data, so that it can go from process to process
Watch: TypeAlias = PolicyWatch | WebhookWatch | Clauses
W = TypeVar("W", PolicyWatch, WebhookWatch, Clauses)

MAX_RECENT = 1000

__all__ = ["Counts", "Coverage", "Covered", "Missing", "Report"]


class _Names(NamedTuple):
    """What things are called in one half."""

    policy: str
    binding: str
    webhooks: str


_MUTATING = _Names(registration.MUTATING_POLICY, registration.MUTATING_BINDING, registration.MUTATING_WEBHOOKS)
_VALIDATING = _Names(registration.VALIDATING_POLICY, registration.VALIDATING_BINDING, registration.VALIDATING_WEBHOOKS)


class Coverage:
    """Watches requests; `manifests` are the policies, bindings and webhook configurations that are asked about."""

    def __init__(self, manifests: Iterable[Manifest]) -> None:
        places = {(m.file.name, m.document, m.within): m for m in manifests if m.kind.group == registration.GROUP}
        self._manifests: dict[tuple[str, str], list[Manifest]] = {}
        for manifest in places.values():
            self._manifests.setdefault((manifest.kind.kind, manifest.name), []).append(manifest)
        self._counts: Counts = {}
        self._watches: dict[Hashable, Watch] = {}
        self._compiled: dict[str, Policy] = {}  # policies that were met, lest the report compile them again
        self._recent: dict[int, tuple[object, tuple[Watch, Meet] | None]] = {}  # by identity of what is watched, kept here

    def observe(self, record: Record) -> None:
        """Take in what one request met; its record must have events."""
        for segment in segments(record):
            if not segment.began.exempt:
                names = _MUTATING if segment.began.half == MUTATING else _VALIDATING
                (self._policies if segment.began.who == POLICIES else self._webhooks)(segment, names)

    def counts(self) -> Counts:
        return dict(self._counts)

    def add_counts(self, data: Mapping[str, int]) -> None:
        """Take in what another has counted, perhaps in another process, of the same files."""
        for point, times in data.items():
            self._counts[point] = self._counts.get(point, 0) + times

    def report(self) -> Report:
        covered = (self._covered(manifest) for found in self._manifests.values() for manifest in found)
        return Report(tuple(c for c in covered if c.points))

    def _covered(self, manifest: Manifest) -> Covered:
        prefix = _prefix(manifest)
        listed = points.points(self._compiled.get(prefix) or points.compiled(manifest))
        missing = tuple(Missing.of(manifest, p) for p in listed if prefix + p.key not in self._counts)
        return Covered(manifest, len(listed), missing)

    # ------------------------------------------------------------ policies

    def _policies(self, segment: Segment, names: _Names) -> None:
        snapshot, attributes, around = segment.entered.snapshot, segment.began.attributes, segment.entered.around
        for bound in snapshot.mutating_policies if names is _MUTATING else snapshot.validating_policies:
            found = self._policy(bound.policy, names)
            if found is not None:
                watch, meet = found
                watch.clauses.meet(attributes, around, meet)
            if bound.policy.criteria.match(attributes, around, around) is not None:
                self._bindings(bound, segment, names)
        for event in segment.happened:
            match event:
                case events.Asked(of=Policy() as policy) | events.Mutated(policy=policy) | events.Judged(policy=policy):
                    self._evaluated(event, self._policy(policy, names))

    def _bindings(self, bound: BoundPolicy, segment: Segment, names: _Names) -> None:
        for binding in bound.bindings:
            found = None if binding.criteria is None else self._binding(binding, names)
            if found is not None:
                clauses, meet = found
                clauses.meet(segment.began.attributes, segment.entered.around, meet)

    @staticmethod
    def _evaluated(event: "events.Asked | events.Mutated | events.Judged", found: tuple[PolicyWatch, Meet] | None) -> None:
        if found is None:
            return
        watch, meet = found
        match event:
            case events.Asked():
                watch.asked(event, meet)
            case events.Mutated():
                watch.mutated(event, meet)
            case events.Judged():
                watch.judged(event, meet)

    # ------------------------------------------------------------ webhooks

    def _webhooks(self, segment: Segment, names: _Names) -> None:
        snapshot, around = segment.entered.snapshot, segment.entered.around
        considered = {e.webhook.uid: e.attributes for e in segment.happened if isinstance(e, events.Considered)}
        asked = {e.of.uid: e for e in segment.happened if isinstance(e, events.Asked) and isinstance(e.of, Webhook)}
        seen: dict[str, int] = {}
        for webhook in snapshot.mutating_webhooks if names is _MUTATING else snapshot.validating_webhooks:
            index = seen[webhook.configuration] = seen.get(webhook.configuration, -1) + 1
            found = self._webhook(webhook, index, names)
            if found is not None:
                watch, meet = found
                watch.clauses.meet(considered.get(webhook.uid, segment.began.attributes), around, meet)
                if webhook.uid in asked:
                    watch.asked(asked[webhook.uid], meet)

    # ------------------------------------------------------------ watches

    def _policy(self, policy: Policy, names: _Names) -> tuple[PolicyWatch, Meet] | None:
        return self._watched(policy, PolicyWatch, names.policy, policy.name, lambda: PolicyWatch(policy))

    def _binding(self, binding: Binding, names: _Names) -> tuple[Clauses, Meet] | None:
        assert binding.criteria is not None
        criteria = binding.criteria
        return self._watched(binding, Clauses, names.binding, binding.name, lambda: Clauses(criteria, "spec.matchResources"))

    def _webhook(self, webhook: Webhook, index: int, names: _Names) -> tuple[WebhookWatch, Meet] | None:
        return self._watched(
            webhook, WebhookWatch, names.webhooks, webhook.configuration, lambda: WebhookWatch(webhook, index), index
        )

    def _watched(
        self, of: "Policy | Binding | Webhook", watch: type[W], kind: str, name: str, make: Callable[[], W], index: int = 0
    ) -> tuple[W, Meet] | None:
        """Who watches it, and how its points are counted; None if nobody asks about it.

        All that was compiled from one manifest has one watch: a test run may have a hundred clusters with the same policy.
        """
        recent = self._recent.get(id(of))
        if recent is None:
            if len(self._recent) >= MAX_RECENT:
                self._recent.clear()
            manifest = self._manifest(of, kind, name, index)
            found = None
            if manifest is not None:
                prefix = _prefix(manifest)
                key = (prefix, index)
                if key not in self._watches:
                    self._watches[key] = make()
                    self._compiled |= {prefix: of} if isinstance(of, Policy) else {}
                found = self._watches[key], self._meet(prefix)
            recent = self._recent[id(of)] = of, found
        if recent[1] is None:
            return None
        assert isinstance(recent[1][0], watch)
        return recent[1][0], recent[1][1]

    def _manifest(self, of: "Policy | Binding | Webhook", kind: str, name: str, index: int) -> Manifest | None:
        """The one that says the same. NB: another file, or a test, may have another object of the same name."""
        found = self._manifests.get((kind, name), ())
        wanted = signatures.of_compiled(of) if found else ()
        for manifest in found:
            said = signatures.of_manifest(manifest)
            if index < len(said) and said[index] == wanted:
                return manifest
        return None

    def _meet(self, prefix: str) -> Meet:
        def meet(key: str) -> None:
            self._counts[prefix + key] = self._counts.get(prefix + key, 0) + 1

        return meet


def _prefix(manifest: Manifest) -> str:
    within = "/".join(("", *manifest.within))
    return f"{manifest.file.name}#{manifest.document}{within} {manifest.kind.kind}/{manifest.name} "
