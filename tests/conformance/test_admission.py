"""The admission chain, driven without a server: recorded cases whose webhooks answer in process.

What a case asks of HTTP (media types, headers, logins, watches, time) the cluster in memory cannot answer; such cases are
counted, and run over HTTPS by test_served.
"""

from pathlib import Path

import pytest
from tests.conformance import cases, inprocess, ledger, replay
from tests.conformance.expected_failures import IN_PROCESS

SUITE = "recorded cases in process"
OWN_SUITE = "own recordings in process"
AREAS = [
    area
    for area in cases.areas() + cases.own_areas()
    if area.removeprefix("own/").startswith(("policy-", "webhook-", "registration-defaults", "registration-validation-", "smoke"))
]


class _NeedsHttp(Exception):
    pass


def run(path: Path) -> str | None:
    hooks = inprocess.Hooks()
    server = inprocess.Server(hooks)
    try:
        got = replay.run_case(path, server, hooks, 0)
    except inprocess.NeedsHttp as e:
        raise _NeedsHttp from e
    return cases.compared(path, got, without="authorization.k8s.io/")  # which the server in front of admission writes


@pytest.mark.parametrize("area", AREAS)
def test_area(area: str, record_property: ledger.Record) -> None:
    found: dict[str, str | None] = {}
    over_http = 0
    for path in cases.of_area(area):
        try:
            found[cases.name(path)] = run(path)
        except _NeedsHttp:
            over_http += 1
        except Exception as e:
            found[cases.name(path)] = f"raises {type(e).__name__}: {e}"
    suite = OWN_SUITE if area in cases.own_areas() else SUITE
    ledger.count(record_property, suite, "left to HTTP", over_http)
    failures = {name: text for name, text in found.items() if text is not None}
    ledger.settle(record_property, suite, ran=list(found), failures=failures, expected=IN_PROCESS)
