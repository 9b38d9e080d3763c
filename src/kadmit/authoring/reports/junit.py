"""JUnit XML, as CI servers read it: a testsuite for each suite, and the line of each case."""

import re
from collections.abc import Iterable
from itertools import groupby
from xml.etree import ElementTree as Xml

from kadmit.authoring.suite.running import ERROR, FAILED, NOT_RUN, PASSED, SKIPPED, UNABLE, Result, Run

_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(run: Run) -> str:
    root = Xml.Element("testsuites", {"name": "kadmit", **_counts(run, run.results), "time": _seconds(run.seconds)})
    for name, group in groupby(run.results, key=lambda r: r.planned.suite.name):
        results = list(group)
        seconds = sum(r.judged.seconds for r in results)
        suite = Xml.SubElement(root, "testsuite", {"name": _safe(name), **_counts(run, results), "time": _seconds(seconds)})
        for result in results:
            _add(suite, run, result)
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def _counts(run: Run, results: Iterable[Result]) -> dict[str, str]:
    tags = [_tag(run, result) for result in results]
    return {
        "tests": str(len(tags)),
        "failures": str(tags.count("failure")),
        "errors": str(tags.count("error")),
        "skipped": str(tags.count("skipped")),
    }


def _tag(run: Run, result: Result) -> str:
    """How JUnit calls what came of a case; it has nothing for those that passed."""
    unable = "skipped" if run.unable_is_fine else "error"
    tags = {PASSED: "", FAILED: "failure", ERROR: "error", NOT_RUN: "error", UNABLE: unable, SKIPPED: "skipped"}
    return tags[result.verdict]


def _add(suite: Xml.Element, run: Run, result: Result) -> None:
    planned = result.planned
    line, _ = planned.place
    about = {"classname": _safe(planned.suite.name), "name": _safe(planned.case.name)}
    about |= {"file": _safe(planned.suite.file.name), "line": str(line), "time": _seconds(result.judged.seconds)}
    case = Xml.SubElement(suite, "testcase", about)
    tag = _tag(run, result)
    if not tag:
        return
    messages = result.messages
    told = Xml.SubElement(case, tag, {"type": result.verdict, "message": _safe(messages[0] if messages else result.verdict)})
    told.text = _safe(
        "\n".join([*messages, *(line for f in result.judged.faults for line in f.diff), result.judged.story]).strip()
    )


def _seconds(seconds: float) -> str:
    return f"{seconds:.6f}"


def _safe(text: str) -> str:
    """NB: XML has no way to write most control characters."""
    return _UNWRITABLE.sub("\ufffd", text)
