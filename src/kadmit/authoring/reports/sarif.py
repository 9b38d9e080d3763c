"""SARIF 2.1.0, as code scanning reads it: a result for every case that did not pass."""

import json
from typing import Any
from urllib.parse import quote

from kadmit.authoring.suite.running import ERROR, FAILED, NOT_RUN, SKIPPED, UNABLE, Result, Run

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_RULES = {
    FAILED: "A request was not answered as its case expects.",
    ERROR: "A case cannot be run as it is written.",
    NOT_RUN: "A case was selected and not run.",
    UNABLE: "A case of another tool cannot be expressed.",
    SKIPPED: "A case is not to be run, as its suite says.",
}


def write(run: Run) -> str:
    rules = [{"id": _id(verdict), "shortDescription": {"text": text}} for verdict, text in _RULES.items()]
    driver = {"name": "kadmit test", "rules": rules}
    results = [_result(run, result) for result in run.having(*_RULES)]
    made = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}
    return json.dumps(made, ensure_ascii=False, indent=2) + "\n"


def _id(verdict: str) -> str:
    return verdict.replace(" ", "-")


def _result(run: Run, result: Result) -> dict[str, Any]:
    planned = result.planned
    line, column = planned.place
    region = {"startLine": line, "startColumn": column}
    location = {"physicalLocation": {"artifactLocation": {"uri": quote(planned.suite.file.name)}, "region": region}}
    level = "error" if run.is_bad(result) else "note"
    text = "\n".join([planned.case.name, *result.messages])
    return {"ruleId": _id(result.verdict), "level": level, "message": {"text": text}, "locations": [location]}
