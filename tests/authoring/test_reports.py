"""Reports: each tells the same run, whatever came of it."""

import json
import re
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.authoring import suites

from kadmit.authoring import reports
from kadmit.authoring.reports import text
from kadmit.authoring.suite.outcome import Fault
from kadmit.authoring.suite.running import ERROR, FAILED, NOT_RUN, PASSED, SKIPPED, UNABLE, VERDICTS, Judged, Result, Run

CASES = "cases:\n" + "".join(f"- {{name: case {i}, object: settings.yaml, expect: admitted}}\n" for i in range(8))
PLANNED = suites.planned(CASES)
WORDS = st.text(max_size=20)


def _judged(verdict: str, words: str) -> Judged:
    if verdict == FAILED:
        return Judged(FAILED, (Fault("denied", words, [f"-{words}", f"+{words}x"]),))
    return Judged(verdict, detail="" if verdict == PASSED else words or "why")


JUDGED = st.builds(_judged, st.sampled_from(VERDICTS), WORDS)
RUNS = st.builds(
    lambda judged, fine: Run(tuple(map(Result, PLANNED, judged)), 1.5, unable_is_fine=fine),
    st.lists(JUDGED, min_size=len(PLANNED), max_size=len(PLANNED)),
    st.booleans(),
)


@given(RUNS)
def test_all_reports_agree_about_a_run(run: Run) -> None:
    bad = {r.id for r in run.bad}
    made = json.loads(reports.write("json", run))
    assert made["good"] == (not bad)
    assert made["counts"] == {verdict: sum(r.verdict == verdict for r in run.results) for verdict in VERDICTS}
    assert [r["id"] for r in made["results"]] == [p.id for p in PLANNED]
    junit = Xml.fromstring(reports.write("junit", run))
    spoiled = {
        f"{c.get('classname')}::{c.get('name')}" for c in junit.iter("testcase") if {e.tag for e in c} & {"failure", "error"}
    }
    assert spoiled == bad
    assert int(junit.get("failures") or 0) + int(junit.get("errors") or 0) == len(bad)
    assert int(junit.get("tests") or 0) == len(run.results)
    assert sum(not len(c) for c in junit.iter("testcase")) == run.count(PASSED)
    sarif = json.loads(reports.write("sarif", run))["runs"][0]["results"]
    assert len([r for r in sarif if r["level"] == "error"]) == len(bad)
    assert len(sarif) == len(run.results) - run.count(PASSED)
    assert {r["locations"][0]["physicalLocation"]["region"]["startLine"] for r in sarif} == {
        r["line"] for r in made["results"] if r["verdict"] != PASSED
    }
    annotations = reports.write("github", run).splitlines()
    assert len([line for line in annotations if line.startswith("::error ")]) == len(bad)
    last = list(text.lines(run, text.Style()))[-1]
    assert last == f"8 cases: {', '.join(f'{n} {v}' for v, n in made['counts'].items() if n)}"


@given(RUNS)
def test_the_text_names_every_case_that_did_not_pass(run: Run) -> None:
    told = "\n".join(text.lines(run, text.Style()))
    assert all(r.planned.case.name in told for r in run.results if r.verdict != PASSED)


ONE = Run((Result(PLANNED[0], Judged(FAILED, (Fault("partial", "a\nb: 50%", ("-x", "+y")),), story="story")),))


def test_a_github_annotation_points_at_the_case() -> None:
    place = "file=suites/kadmit-test.yaml,line=2,col=3"
    title = "title=failed%3A suites/kadmit-test.yaml%3A%3Acase 0"
    assert reports.write("github", ONE) == f"::error {place},{title}::partial: a%0Ab: 50%25\n"


def test_junit_holds_messages_diffs_and_the_story() -> None:
    case = next(Xml.fromstring(reports.write("junit", ONE)).iter("failure"))
    assert (case.get("message"), case.text) == ("partial: a\nb: 50%", "partial: a\nb: 50%\n-x\n+y\nstory")


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\ud800", "\uffff"])
def test_junit_is_xml_whatever_a_message_holds(character: str) -> None:
    run = Run((Result(PLANNED[0], Judged(ERROR, detail=f"a{character}b")),))
    assert next(Xml.fromstring(reports.write("junit", run)).iter("error")).text == "a\ufffdb"


def test_colours_are_only_there_when_wanted() -> None:
    coloured = "\n".join(text.lines(ONE, text.Style(coloured=True)))
    plain = "\n".join(text.lines(ONE, text.Style()))
    assert "\x1b[31m-x\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9]*m", "", coloured) == plain


@pytest.mark.parametrize(
    ("verdict", "fine", "good"), [(UNABLE, False, False), (UNABLE, True, True), (SKIPPED, False, True), (NOT_RUN, True, False)]
)
def test_only_what_was_told_to_be_fine_is(verdict: str, fine: bool, good: bool) -> None:
    assert Run((Result(PLANNED[0], Judged(verdict, detail="why")),), unable_is_fine=fine).good is good


def test_many_cases_that_were_not_run_are_counted_not_listed() -> None:
    planned = suites.planned(
        "cases:\n" + "".join(f"- {{name: case {i}, object: settings.yaml, expect: admitted}}\n" for i in range(30))
    )
    told = list(text.lines(Run(tuple(Result(p, Judged(NOT_RUN, detail="why")) for p in planned)), text.Style()))
    assert told.count("not run: and 20 more") == 1
