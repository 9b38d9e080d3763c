"""Prints how many rows each conformance suite ran, and how many it does not yet pass."""

from collections import Counter, defaultdict

from _pytest.terminal import TerminalReporter
from tests.conformance import ledger


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
