"""The examples of every rule: the bad one gives its finding, the good one gives none at all."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.authoring.lint.framing import whole

from kadmit.authoring import checking, manifests
from kadmit.authoring.lint import catalogue
from kadmit.authoring.lint.rule import Finding, Rule
from kadmit.authoring.manifests import File

NOW = datetime(2026, 11, 1, tzinfo=UTC)
UNBOUND = "KA604"  # examples are short


def findings(text: str) -> list[Finding]:
    read = manifests.read(File("example.yaml", text.encode()))
    return list(checking.check(read, now=NOW).findings)


@pytest.mark.parametrize("rule", catalogue.RULES, ids=lambda rule: rule.code)
def test_a_bad_example_gives_the_finding(rule: Rule) -> None:
    found = findings(whole(rule.bad))
    assert rule.code in {f.code for f in found}, found
    others = {f.code for f in found} - {rule.code, UNBOUND}
    assert not others, [f.message for f in found if f.code in others]


@pytest.mark.parametrize("rule", catalogue.RULES, ids=lambda rule: rule.code)
def test_a_good_example_gives_no_finding(rule: Rule) -> None:
    found = findings(whole(rule.good))
    assert [(f.code, f.message) for f in found if f.code != UNBOUND or rule.code == UNBOUND] == []


@pytest.mark.parametrize("rule", catalogue.RULES, ids=lambda rule: rule.code)
def test_a_finding_has_its_place_and_a_fix(rule: Rule) -> None:
    text = whole(rule.bad)
    for found in findings(text):
        line, column = found.place
        lines = text.splitlines()
        assert 1 <= line <= len(lines)
        assert 1 <= column <= len(lines[line - 1]) + 1
        assert found.fix
        assert found.message[-1] not in ".\n"


def test_codes_are_in_order_and_no_code_is_given_twice() -> None:
    codes = [rule.code for rule in catalogue.RULES]
    assert codes == sorted(set(codes))
    assert all(re.fullmatch("KA[0-9]{3}", code) for code in codes)


def test_every_rule_is_documented_with_its_examples() -> None:
    page = (Path(__file__).parent.parent.parent.parent / "docs" / "check.md").read_text()
    for rule in catalogue.RULES:
        section = page.split(f"### {rule.code}: {rule.title}\n")[1].split("\n### ")[0]
        assert rule.explanation in section
        assert rule.bad in section
        assert rule.good in section
