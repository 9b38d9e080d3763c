"""Broken expressions get the messages of cel-go, all of them, at the same places.

data/syntax-errors.jsonl holds what cel-go 0.26 says of each expression; the case cel-errors/syntax was recorded from a
real kube-apiserver.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kadmit.cel import macros, parser
from kadmit.cel.source import Issues

MACROS = macros.available(36)
ROWS = [json.loads(line) for line in (Path(__file__).parent / "data/syntax-errors.jsonl").read_text("utf-8").splitlines()]
RECORDED = Path(__file__).parents[1] / "conformance/cases/cel-errors"


def issues_of(text: str) -> Issues:
    tree, issues = parser.parse(text, macros=MACROS)
    assert tree is None
    return issues


def told(issues: Issues) -> list[str]:
    found = sorted(issues.found, key=lambda issue: issue.location)
    return [f"{issue.location.line}:{issue.location.column + 1}: {issue.message}" for issue in found]


@pytest.mark.parametrize("row", ROWS, ids=[row["expr"] for row in ROWS])
def test_messages_are_those_of_cel_go(row: dict[str, Any]) -> None:
    assert told(issues_of(row["expr"])) == row["errors"]


def _recorded() -> list[tuple[str, str]]:
    """Expressions as they stood in a JSON patch, with the server's text; what only the checker refused is left out."""
    case = yaml.safe_load((RECORDED / "syntax.yaml").read_text("utf-8"))
    steps = json.loads((RECORDED / "syntax.expected.json").read_text("utf-8"))["steps"]
    texts = [step["body"]["message"].partition("compilation failed: ")[2] for step in steps if "given" in step]
    patches = [f'[JSONPatch{{op: "add", path: "/result", value: {expr}}}]' for expr in case["cel"]]
    return [(expr, text) for expr, text in zip(patches, texts, strict=True) if "Syntax error" in text]


@pytest.mark.parametrize(("expr", "text"), _recorded())
def test_a_real_server_says_the_same_with_carets(expr: str, text: str) -> None:
    assert issues_of(expr).render() == text


def test_the_recorded_case_is_not_empty() -> None:
    assert len(_recorded()) > 30


LIMITS = {
    "(" * 40: "1:41: Syntax error: error recovery attempt limit exceeded: 30",
    "1 " * 300: "-1:0: error recovery token lookahead limit exceeded: 256",
}


@pytest.mark.parametrize("text", LIMITS)
def test_reading_on_has_limits(text: str) -> None:
    assert LIMITS[text] in told(issues_of(text))


def test_past_a_hundred_issues_the_rest_is_counted() -> None:
    assert issues_of("#" * 150).render().splitlines()[-1] == "1 more errors were truncated"
