"""Recorded conversations about policies, with policies off in the server and on in a webhook that it calls over TLS."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conformance import cases, ledger, replay
from tests.conformance.serving import TOKENS, Served
from tests.webhook import protocol
from tests.webhook.expected_failures import EXPECTED
from tests.webhook.processes import NAMESPACE, Webhook, kubeconfig
from tests.webhook.settling import Settled

SUITE = "recorded cases through kadmit webhook"
OFF = "--disable-admission-plugins=MutatingAdmissionPolicy,ValidatingAdmissionPolicy"
USERS = {user: token for token, user, *_ in csv.reader(TOKENS.read_text().splitlines())}
AREAS = [area for area in cases.areas() if area.startswith("policy-")]


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    with Served([OFF]) as server:
        yield server


@pytest.fixture(scope="session")
def webhook(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webhook]:
    plain = replay.Server(served.url, USERS)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    plain.request("POST", "/api/v1/namespaces", body=namespace)
    configured = kubeconfig(tmp_path_factory.mktemp("config"), served.url, USERS["admin"])
    with Webhook(configured, "--timeout=30") as process:  # costly expressions take seconds, on a busy machine more
        yield process


@pytest.fixture(scope="session")
def hooks() -> Any:
    return replay.Webhooks()


def run(path: Path, served: Served, webhook: Webhook, hooks: Any) -> str | None:
    server = Settled(served.url, USERS, str(served.audit_log), webhook)
    server.audit_at = served.audit_log.stat().st_size if served.audit_log.exists() else 0
    try:
        got = replay.run_case(path, server, hooks, 0)
    except SystemExit as e:
        return f"stopped: {e}"
    finally:
        server.close()
    return protocol.compared(path, got)


@pytest.mark.parametrize("area", AREAS)
def test_area(area: str, served: Served, webhook: Webhook, hooks: Any, record_property: ledger.Record) -> None:
    paths = cases.of_area(area)
    found = {cases.name(p): ledger.attempt(lambda p=p: run(p, served, webhook, hooks)) for p in paths}  # type: ignore[misc]
    failures = {name: text for name, text in found.items() if text is not None}
    ledger.settle(record_property, SUITE, ran=list(found), failures=failures, expected=EXPECTED)


def test_nine_of_ten_cases_pass() -> None:
    known = {cases.name(p) for area in AREAS for p in cases.of_area(area)}
    assert set(EXPECTED) <= known
    assert len(EXPECTED) <= len(known) * 0.1
