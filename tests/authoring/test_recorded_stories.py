"""Every request of the recorded conversations with kube-apiserver has a story, and the story says what really happened.

What an expression comes to in a story is worked out afterwards; here it is held to what the chain decided by it. And whoever
records events gets the same answers as who does not.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conformance import cases, inprocess, replay

from kadmit.admission import events
from kadmit.admission.outcome import Record
from kadmit.api.errors import ApiError, Status
from kadmit.authoring.admission import Admission
from kadmit.authoring.coverage.coverage import Coverage
from kadmit.authoring.manifests import File, Manifest
from kadmit.authoring.story import page, story, tree
from kadmit.authoring.story.shape import Outcome, Run, Story
from kadmit.cel.library.authorizer import User

AREAS = [
    "policy-matching",
    "policy-order-reinvocation",
    "policy-params",
    "policy-validating",
    "policy-variables-conditions-failure",
    "webhook-failure",
    "webhook-matching",
    "webhook-reinvocation",
]
SLOW = "cost-"  # cases that spend whole budgets
REQUEST = Manifest(File("request", b"{}"), 0, {})


class Telling(inprocess.Server):
    """A cluster that keeps the story of every request."""

    def __init__(self, hooks: inprocess.Hooks) -> None:
        super().__init__(hooks)
        self.told: list[Story] = []
        self.coverage = Coverage([])

    def _handle(
        self, method: str, path: str, query: dict[str, str], body: bytes, content_type: str, user: User, record: Record
    ) -> tuple[int, Any]:
        record.events = []
        status: Status | None = None
        try:
            return super()._handle(method, path, query, body, content_type, user, record)
        except ApiError as e:
            status = e.status
            raise
        finally:
            if record.events:
                self.coverage.observe(record)
                self.told.append(story.tell(Admission(REQUEST, method, "", "", "", status=status, record=record)))


def told(path: Path) -> tuple[list[Story], str | None]:
    """All stories of a case, and what is different from the recording."""
    hooks = inprocess.Hooks()
    server = Telling(hooks)
    try:
        got = replay.run_case(path, server, hooks, 0)
    except inprocess.NeedsHttp:
        return server.told, None
    return server.told, cases.compared(path, got, without="authorization.k8s.io/")


def runs(found: Story) -> Iterator[Run]:
    return (run for stage in found.stages for entry in stage.entries for bound in entry.bindings for run in bound.runs)


def judged(found: Story) -> Iterator[tuple[events.Judged, list[Outcome]]]:
    """Decisions of the chain, each with the outcomes of the story that are about them."""
    decided = [e for e in found.admission.record.events or () if isinstance(e, events.Judged) and e.policy.validations]
    validations = [[o for o in run.outcomes if o.evaluated.what == "validation"] for run in runs(found)]
    yield from zip(decided, (v for v in validations if v), strict=True)


@pytest.mark.parametrize("area", AREAS)
def test_stories_of_an_area_say_what_happened(area: str) -> None:
    found = [path for path in cases.of_area(area) if not path.name.startswith(SLOW)]
    assert found
    for path in found:
        stories, difference = told(path)
        assert difference is None, f"{path}: {difference}"
        for one in stories:
            _is_whole(one)
            for event, outcomes in judged(one):
                _agree(event, outcomes)


def _is_whole(found: Story) -> None:
    """It can be shown in every way."""
    laid_out = tree.tree(found, whole=True, reviews=True)
    assert tree.text(laid_out)
    json.dumps(found.as_json(reviews=True))
    assert page.page([laid_out])


def _agree(event: events.Judged, outcomes: list[Outcome]) -> None:
    """An expression fails, or is true or false, in the story as it did in the chain."""
    decisions = event.validated.decisions
    if len(decisions) != len(outcomes):
        return  # out of budget before all were decided
    for decision, outcome in zip(decisions, outcomes, strict=True):
        evaluated = outcome.evaluated
        if decision.error_type == "out_of_budget":
            continue
        assert bool(evaluated.error) == decision.failed, evaluated
        if not decision.failed:
            assert (evaluated.value is not True) == decision.denied, evaluated
