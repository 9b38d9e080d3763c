"""Annotations that GitHub shows beside the lines of a pull request."""

from kadmit.authoring.suite.running import SKIPPED, UNABLE, Result, Run


def write(run: Run) -> str:
    noted = [result for result in run.having(UNABLE, SKIPPED) if not run.is_bad(result)]
    lines = [*(_line("error", result) for result in run.bad), *(_line("notice", result) for result in noted)]
    return "".join(f"{line}\n" for line in lines)


def _line(command: str, result: Result) -> str:
    planned = result.planned
    line, column = planned.place
    about = {"file": planned.suite.file.name, "line": str(line), "col": str(column), "title": f"{result.verdict}: {planned.id}"}
    properties = ",".join(f"{key}={_property(value)}" for key, value in about.items())
    return f"::{command} {properties}::{_data(chr(10).join(result.messages))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
