"""Every recorded conversation, replayed over TLS against a real `kadmit serve`."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conformance import cases, ledger, replay
from tests.conformance.expected_failures import SERVED
from tests.conformance.serving import TOKENS, Served

pytestmark = [
    # replay leaves sockets to the garbage collector
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
SUITE = "recorded cases over HTTPS"
OWN_SUITE = "own recordings over HTTPS"
USERS = {user: token for token, user, *_ in csv.reader(TOKENS.read_text().splitlines())}


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    with Served() as server:
        yield server


@pytest.fixture(scope="session")
def hooks() -> Any:
    return replay.Webhooks()


def run(path: Path, served: Served, hooks: Any) -> str | None:
    server = replay.Server(served.url, USERS, str(served.audit_log))
    server.audit_at = served.audit_log.stat().st_size if served.audit_log.exists() else 0
    try:
        got = replay.run_case(path, server, hooks, 0)
    except SystemExit as e:
        return f"stopped: {e}"
    return cases.compared(path, got)


@pytest.mark.parametrize("area", cases.areas() + cases.own_areas())
def test_area(area: str, served: Served, hooks: Any, record_property: ledger.Record) -> None:
    paths = cases.of_area(area)
    found = {cases.name(p): ledger.attempt(lambda p=p: run(p, served, hooks)) for p in paths}  # type: ignore[misc]
    failures = {name: text for name, text in found.items() if text is not None}
    suite = OWN_SUITE if area in cases.own_areas() else SUITE
    ledger.settle(record_property, suite, ran=list(found), failures=failures, expected=SERVED)


def test_expected_failures_are_recorded_cases() -> None:
    known = {cases.name(p) for area in cases.areas() + cases.own_areas() for p in cases.of_area(area)}
    assert set(SERVED) <= known
