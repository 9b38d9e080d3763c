"""Recorded cases for servers that are started in a special way: with credentials for webhooks, with anonymous users."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.conformance import cases, ledger, replay
from tests.conformance.serving import Served
from tests.conformance.test_served import pytestmark, run

SUITE = "recorded cases for special servers"
NEEDS = {
    "anonymous": ("--anonymous-auth=true",),
    "configmap-params": (),
    "webhook-auth-context": ("--admission-control-config-file={folder}/admission.conf",),
    "webhook-auth-users": ("--admission-control-config-file={folder}/admission.conf",),
}
__all__ = ["pytestmark"]


def configured(needs: str, folder: Path, hooks: Any) -> None:
    """Fill in the files that the recorded server was started with."""
    for found in cases.CASES.glob(f"*/{needs}.config"):
        shutil.copytree(found, folder, dirs_exist_ok=True)
    for file in folder.iterdir():
        text = file.read_text().replace("${hookport}", str(hooks.port)).replace("${dir}", str(folder))
        file.write_text(text.replace("${ca}", hooks.ca))


@pytest.mark.parametrize("needs", NEEDS)
def test_cases_that_need(needs: str, tmp_path: Path, record_property: ledger.Record) -> None:
    hooks = replay.Webhooks()
    configured(needs, tmp_path, hooks)
    paths = [p for area in cases.areas() for p in cases.of_area(area, needs=needs)]
    assert paths
    with Served([flag.format(folder=tmp_path) for flag in NEEDS[needs]]) as served:
        found = {cases.name(p): ledger.attempt(lambda p=p: run(p, served, hooks)) for p in paths}  # type: ignore[misc]
    failures = {name: text for name, text in found.items() if text is not None}
    ledger.settle(record_property, SUITE, ran=list(found), failures=failures, expected={})


def test_every_special_case_is_run() -> None:
    ordinary = sum(len(cases.of_area(area)) for area in cases.areas())
    special = sum(len(cases.of_area(area, needs=needs)) for area in cases.areas() for needs in NEEDS)
    assert ordinary + special == len(list(cases.CASES.glob("*/*.yaml")))
