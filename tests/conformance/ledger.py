"""How a conformance suite keeps count: every row is run, known failures are named, and their number may only fall.

A suite of thousands of rows becomes a few tests. Each collects what went wrong and settles once: a failure that nobody
expected fails the test, and so does an expected failure that has passed. The counts reach the terminal summary as
properties of the tests' reports, which also travel between processes.
"""

from collections.abc import Callable, Iterable, Mapping

import pytest

PROPERTY = "conformance"
SHOWN = 25  # failing rows printed in full; the rest are only named

# pytest's record_property
Record = Callable[[str, object], None]


def settle(record: Record, suite: str, *, ran: Iterable[str], failures: Mapping[str, str], expected: Mapping[str, str]) -> None:
    """Count the rows of one test and compare what failed with what was expected to."""
    rows = list(ran)
    count(record, suite, "rows", len(rows))
    count(record, suite, "expected failures", sum(row in expected for row in rows))
    surprises = {row: text for row, text in failures.items() if row not in expected}
    healed = [row for row in rows if row in expected and row not in failures]
    if surprises or healed:
        pytest.fail(_report(surprises, healed), pytrace=False)


def attempt(row: Callable[[], str | None]) -> str | None:
    """What is wrong with a row; an engine that breaks is wrong about this row, and goes on to the next."""
    try:
        return row()
    except Exception as e:
        return f"raises {type(e).__name__}: {e}"


def count(record: Record, suite: str, what: str, number: int) -> None:
    record(PROPERTY, [suite, what, number])


def _report(surprises: Mapping[str, str], healed: list[str]) -> str:
    shown = [f"{row}: {text}" for row, text in list(surprises.items())[:SHOWN]]
    hidden = list(surprises)[SHOWN:]
    lines = [f"{len(surprises)} rows fail:", *shown]
    if hidden:
        lines.append(f"and {', '.join(hidden)}")
    if healed:
        lines.append(f"these pass now, take them off the list: {', '.join(healed)}")
    return "\n".join(lines)


def same(expected: object, got: object) -> bool:
    """JSON equality that tells 1, 1.0 and true apart."""
    if isinstance(expected, dict) and isinstance(got, dict):
        return expected.keys() == got.keys() and all(same(expected[k], got[k]) for k in expected)
    if isinstance(expected, list) and isinstance(got, list):
        return len(expected) == len(got) and all(map(same, expected, got))
    return type(expected) is type(got) and expected == got
