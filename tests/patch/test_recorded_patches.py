"""What kube-apiserver answered to PATCH requests: see tests/conformance.

Only the patch is applied here; a recorded object may hold defaults besides what we compute, but nothing may differ.
"""

import json
from pathlib import Path

import orjson
import pytest
import yaml
from tests.patch.metas import BY_KIND

from kadmit.patch import jsonpatch, mergepatch, patchbody, strategic
from kadmit.patch.errors import PatchError, Reason

CASES = Path(__file__).parents[1] / "conformance" / "cases"
RECORDED = [
    "registration-patch/json-patch",
    "registration-patch/json-patch-errors",
    "registration-patch/merge-patch",
    "registration-patch/strategic-errors",
    "registration-patch/strategic-match-conditions-by-name",
    "registration-patch/strategic-order",
    "registration-patch/strategic-other-lists",
    "registration-patch/strategic-webhooks-by-name",
    "kinds-verbs/patch-json",
    "kinds-verbs/patch-merge",
    "kinds-verbs/patch-strategic-service-ports",
]
INAPPLICABLE = "the server rejected our request due to an error in our request"


def patched(live: dict[str, object], content_type: str, body: bytes) -> object:
    if content_type == "application/json-patch+json":
        return patchbody.json_patch(body).patch.apply(live, limits=jsonpatch.PATCH_REQUEST)
    if content_type == "application/merge-patch+json":
        return mergepatch.apply(live, patchbody.merge_patch(body).patch)
    meta = BY_KIND[str(live["kind"])]
    return strategic.apply(live, patchbody.strategic_patch(body).patch, meta)


def answer(live: dict[str, object], content_type: str, body: bytes) -> tuple[object, str]:
    try:
        return patched(live, content_type, body), ""
    except PatchError as error:
        inapplicable = error.reason in {Reason.INAPPLICABLE, Reason.TEST_FAILED}
        return live, INAPPLICABLE if inapplicable else error.message


def covers(recorded: object, ours: object) -> bool:
    """The server sent what we have, and perhaps more members. Of what is empty it sends nothing."""
    if isinstance(recorded, dict) and isinstance(ours, dict):
        return all(covers(recorded.get(key), value) for key, value in ours.items() if value not in ({}, []))
    if isinstance(recorded, list) and isinstance(ours, list):
        return len(recorded) == len(ours) and all(map(covers, recorded, ours))
    return recorded == ours


def picked(document: object, path: str | None) -> object:
    for part in (path or "").replace("[0]", ".0").split(".") if path else []:
        document = document[int(part)] if isinstance(document, list) else document.get(part)  # type: ignore[attr-defined]
    return document


@pytest.mark.parametrize("name", RECORDED)
def test_patches_are_answered_as_recorded(name: str) -> None:
    case = yaml.load((CASES / f"{name}.yaml").read_text(), Loader=yaml.CSafeLoader)
    expected = json.loads((CASES / f"{name}.expected.json").read_text())["steps"]
    live: dict[str, object] = {}
    compared = 0
    for step, recorded in zip(case["steps"], expected, strict=True):
        if "create" in step:
            live = step["create"]
            continue
        request = step["send"]
        if request["contentType"] not in _PATCHES or request["path"].endswith("/none"):
            continue
        body = request["body"] if isinstance(request["body"], str) else orjson.dumps(request["body"]).decode()
        result, message = answer(_with_default(live), request["contentType"], body.encode())
        compared += _compare(step.get("pick"), recorded, result, message)
        if recorded["status"] == 200:
            assert isinstance(result, dict)
            live = result
    assert compared > 0


_PATCHES = {"application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json"}


def _with_default(live: dict[str, object]) -> dict[str, object]:
    """The one default that a recorded `test` looks at."""
    spec = live.get("spec")
    if not isinstance(spec, dict) or "AdmissionPolicy" not in str(live["kind"]) or str(live["kind"]).endswith("Binding"):
        return live
    return {**live, "spec": {"failurePolicy": "Fail", **spec}}


def _compare(pick: str | None, recorded: dict[str, object], result: object, message: str) -> int:
    """1 if there was something to compare: a refusal by validation is not ours."""
    body = recorded["body"]
    if recorded["status"] == 200:
        assert message == ""
        if pick and "[name=" in pick:
            return 0
        dropped = ["nosuch", "colour"] if "warnings" in recorded else []
        assert covers(body, picked(_without(result, dropped), pick))
        return 1
    assert isinstance(body, dict | int)
    if isinstance(body, dict) and (message or body["message"] == INAPPLICABLE):
        assert message == body["message"]
        return 1
    return 0


def _without(value: object, names: list[str]) -> object:
    """Unknown fields, which the server drops with a warning."""
    if isinstance(value, dict):
        return {key: _without(child, names) for key, child in value.items() if key not in names}
    return value
