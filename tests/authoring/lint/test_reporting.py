"""Findings in words, for each kind of reader."""

import importlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kadmit.authoring import checking, manifests
from kadmit.authoring.checking import Checked
from kadmit.authoring.lint import catalogue, reporting
from kadmit.authoring.manifests import File

ROOT = Path(__file__).parent.parent.parent.parent
CORPUS = Path(__file__).parent / "corpus"
SCHEMA = json.loads((ROOT / "docs" / "schemas" / "check.schema.json").read_text())
jsonschema = importlib.import_module("jsonschema")  # comes without types
NOW = datetime(2026, 11, 15, tzinfo=UTC)
FLAWED = sorted((CORPUS / "flawed").glob("*.yaml"))


def checked(*paths: Path, name: str = "") -> Checked:
    read = [m for path in paths for m in manifests.read(File(name or path.name, path.read_bytes()))]
    return checking.check(read, now=NOW)


def test_json_has_the_documented_form() -> None:
    made = json.loads(reporting.report(checked(*FLAWED), "json"))
    jsonschema.Draft202012Validator(SCHEMA).validate(made)
    assert len(made["findings"]) > len(FLAWED)


def test_no_findings_have_the_documented_form_too() -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(reporting.report(checked(), "json")))


def test_the_form_is_strict() -> None:
    made = json.loads(reporting.report(checked(FLAWED[0]), "json"))
    made["findings"][0]["more"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(made)


def test_text_has_place_severity_code_object_message_and_fix() -> None:
    found = reporting.report(checked(CORPUS / "flawed" / "unbound.yaml"), "text").splitlines()
    told = 'no binding among the files puts "few-ports" to use'
    assert found[:2] == [
        f'unbound.yaml:6:12: info KA604: ValidatingAdmissionPolicy "few-ports": {told}',
        "    fix: add a binding of the policy, or give its file, too",
    ]


def _sarif(*paths: Path, name: str = "") -> dict[str, Any]:
    log: dict[str, Any] = json.loads(reporting.report(checked(*paths, name=name), "sarif"))
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    run: dict[str, Any] = log["runs"][0]
    return run


def test_sarif_has_each_rule_once_and_points_at_it() -> None:
    run = _sarif(*FLAWED)
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules)) > 30
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    assert {result["level"] for result in run["results"]} == {"error", "warning", "note"}


def test_sarif_places_are_addresses() -> None:
    (result, *_) = _sarif(CORPUS / "flawed" / "cost.yaml", name="a folder/cost.yaml")["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%20folder/cost.yaml"}
    assert place["region"] == {"startLine": 12, "startColumn": 19}


def test_github_annotations_are_one_line_each_and_escaped() -> None:
    lines = reporting.report(checked(CORPUS / "flawed" / "invalid-policy.yaml"), "github").splitlines()
    assert len(lines) == 5
    first = "::error file=invalid-policy.yaml,line=9,col=3,title=KA001 the server refuses the object::ValidatingAdmissionPolicy"
    assert lines[0].startswith(first)
    assert "%0A" in lines[2]
    assert not any("\n" in line for line in lines)


def test_github_knows_notices() -> None:
    assert reporting.report(checked(CORPUS / "flawed" / "unused-params.yaml"), "github").startswith("::notice ")


@pytest.mark.parametrize(
    ("paths", "told"),
    [
        ((), "0 objects checked: no findings"),
        (("sound/no-latest-tag.yaml",), "2 objects checked: no findings"),
        (("sound/silenced.yaml",), "1 object checked: no findings (4 silenced)"),
        (("sound/selector-params.yaml",), "2 objects checked, 1 object of other kinds: no findings"),
        (("flawed/unbound.yaml",), "3 objects checked: 2 warnings, 1 info"),
        (("flawed/cost.yaml",), "2 objects checked: 1 warning"),
    ],
)
def test_the_summary_counts(paths: tuple[str, ...], told: str) -> None:
    assert reporting.summary(checked(*(CORPUS / path for path in paths))) == told


@pytest.mark.parametrize("rule", catalogue.RULES, ids=lambda rule: rule.code)
def test_a_rule_is_explained_with_its_examples(rule: Any) -> None:
    text = reporting.explained(rule)
    assert text.startswith(f"{rule.code}: {rule.title} ({rule.severity.value})\n")
    assert rule.explanation in text
    assert rule.fix in text
    assert "\nBad:\n" in text
    assert "\nGood:\n" in text
