"""Standard streams that are closed, full, or that nobody reads: a program ends in order, never as if it had found something."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kadmit.cli import streams

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
POD, POLICY = str(EXAMPLES / "pod.yaml"), str(EXAMPLES / "replica-limit.yaml")
COMMANDS = [
    ["eval", "1"],
    ["admit", POD],
    ["explain", "-o", "json", POD],
    ["impact", "-f", POLICY, POD],
    ["completion", "bash"],
]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "kadmit", *arguments]


def closing(stream: int) -> Callable[[], None]:
    return lambda: os.close(stream)


def run(*arguments: str, **how: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command(*arguments), text=True, timeout=60, check=False, stderr=subprocess.PIPE, **how)


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda a: a[0])
def test_who_stops_reading_ends_the_program_as_its_signal_would(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = run(*arguments, stdout=writer)
    finally:
        os.close(writer)
    assert ended.returncode == 141
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda a: a[0])
def test_what_cannot_be_written_is_told(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = run(*arguments, stdout=full)
    assert ended.returncode == 2
    assert ended.stderr.endswith("kadmit: cannot write: No space left on device\n")


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda a: a[0])
def test_without_standard_output_a_command_does_its_work_in_silence(arguments: list[str]) -> None:
    ended = run(*arguments, preexec_fn=closing(1))
    assert ended.returncode == 0
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("arguments", [["admit", "-"], ["explain", "-"], ["impact", "-f", POLICY, "-"]], ids=lambda a: a[0])
def test_without_standard_input_there_is_nothing_to_read(arguments: list[str]) -> None:
    ended = run(*arguments, preexec_fn=closing(0), stdout=subprocess.PIPE)
    assert (ended.returncode, ended.stderr) == (2, f"kadmit {arguments[0]}: standard input: holds no objects\n")


@pytest.mark.parametrize(
    ("wanted", "terminal", "no_color", "expected"),
    [
        ("auto", True, "", True),
        ("auto", True, "1", False),
        ("auto", False, "", False),
        ("always", False, "1", True),
        ("never", True, "", False),
    ],
)
def test_colours_are_for_terminals_of_people_who_want_them(
    wanted: str, terminal: bool, no_color: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    monkeypatch.setenv("NO_COLOR", no_color)
    assert streams.is_coloured(wanted) is expected


def test_an_interruption_is_no_finding() -> None:
    with subprocess.Popen(
        command("eval", "--stdin"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as eval_:
        assert eval_.stdin is not None
        assert eval_.stdout is not None
        eval_.stdin.write(b"1\n")
        eval_.stdin.flush()
        eval_.stdout.readline()  # it is at work
        eval_.send_signal(signal.SIGINT)
        _, told = eval_.communicate(timeout=60)
    assert (eval_.returncode, told) == (130, b"\n")
