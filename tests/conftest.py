"""What holds for all tests.

Generated examples are the same on every machine, so that a change breaks a test and not a seed. At the end it is told how many
rows each suite of recordings ran, and how many of them are expected failures. NB: parallel runs load no other conftest for that.
"""

import asyncio
import inspect
from collections import Counter, defaultdict

import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import settings
from tests.conformance import ledger

settings.register_profile("same everywhere", derandomize=True, deadline=None)
settings.load_profile("same everywhere")


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == ledger.PROPERTY and getattr(report, "when", "") == "call":
                    suite, what, number = value
                    totals[suite][what] += number
    if totals:
        terminalreporter.section("conformance")
    for suite, counts in sorted(totals.items()):
        terminalreporter.write_line(f"{suite}: " + ", ".join(f"{number} {what}" for what, number in counts.items()))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Tests may be coroutines; each has an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    asyncio.run(pyfuncitem.obj(**arguments))
    return True
