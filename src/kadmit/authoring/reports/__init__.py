"""Reports: a run as a text of some format, for people or for other programs. Each is a function of the run alone."""

import importlib
from typing import cast

from kadmit.authoring.suite.running import Run

FORMATS = ("json", "junit", "sarif", "github")


def write(form: str, run: Run) -> str:
    """A report in one of the formats for programs, ended by a line break."""
    return cast("str", importlib.import_module(f"kadmit.authoring.reports.{form}").write(run))
