"""Audit policies, against what Kubernetes' own reader and evaluator answered (auditpolicies.jsonl)."""

import json
from pathlib import Path
from typing import Any

import pytest

from kadmit.api import auditpolicy
from kadmit.api.auditpolicy import Level, PolicyError
from kadmit.cel.library.authorizer import Attributes, User

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "auditpolicies.jsonl").read_text().splitlines()
]
READABLE = [row for row in ROWS if "asked" in row]
BROKEN = [row for row in ROWS if "error" in row]
HEADER = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"


def _attributes(ask: dict[str, Any]) -> Attributes:
    return Attributes(
        User(ask["User"], groups=tuple(ask["Groups"])),
        ask["Verb"],
        path=ask["Path"],
        resource_request=ask["IsResource"],
        group=ask["Group"],
        resource=ask["Resource"],
        subresource=ask["Subresource"],
        namespace=ask["Namespace"],
        name=ask["Name"],
    )


@pytest.mark.parametrize("row", READABLE, ids=lambda row: row["policy"].removeprefix(HEADER))
def test_a_policy_decides_as_kubernetes_does(row: dict[str, Any]) -> None:
    policy = auditpolicy.parse(row["policy"])
    for asked in row["asked"]:
        decision = policy.decide(_attributes(asked["ask"]))
        found = (decision.level.text, sorted(decision.omit_stages), decision.omit_managed_fields)
        assert found == (asked["level"], asked["omitStages"], asked["omitManagedFields"]), asked["ask"]


@pytest.mark.parametrize("row", BROKEN, ids=lambda row: row["policy"].removeprefix(HEADER)[:80])
def test_a_broken_policy_is_refused_in_kubernetes_words(row: dict[str, Any]) -> None:
    with pytest.raises(PolicyError) as refused:
        auditpolicy.parse(row["policy"])
    assert str(refused.value) == row["error"]


@pytest.mark.parametrize(
    ("rule", "warning"),
    [
        ("- level: None\n  color: red\n", 'unknown field "rules[0].color"'),
        ("- level: None\n  resources: [{grp: a}]\n", 'unknown field "rules[0].resources[0].grp"'),
        ("- level: Request\n  level: None\n", 'yaml: unmarshal errors:\n  line 5: key "level" already set in map'),
    ],
)
def test_unknown_and_repeated_fields_are_warnings(rule: str, warning: str) -> None:
    said = "Audit policy contains errors, falling back to lenient decoding: strict decoding error: "
    assert auditpolicy.parse(f"{HEADER}rules:\n{rule}").warnings == (said + warning,)


def test_a_good_policy_has_no_warnings() -> None:
    assert auditpolicy.parse(f"{HEADER}rules:\n- level: None\n").warnings == ()


def test_levels_are_ordered() -> None:
    assert Level.NONE < Level.METADATA < Level.REQUEST < Level.REQUEST_RESPONSE
