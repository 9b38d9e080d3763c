"""Completion as shells ask for it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kadmit.cli import main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_asks_kadmit(shell: str) -> None:
    run = CliRunner().invoke(main, ["completion", shell])
    assert run.exit_code == 0
    assert f"_KADMIT_COMPLETE={shell}_complete" in run.stdout


@pytest.mark.parametrize(
    ("words", "index", "wanted"),
    [
        ("kadmit ev", 1, "plain,eval"),
        ("kadmit admit --oper", 2, "plain,--operation"),
        ("kadmit admit --operation D", 3, "plain,DELETE"),
        ("kadmit completion f", 2, "plain,fish"),
    ],
)
def test_commands_flags_and_choices_are_completed(words: str, index: int, wanted: str) -> None:
    env = {"COMP_WORDS": words, "COMP_CWORD": str(index), "_KADMIT_COMPLETE": "bash_complete"}
    run = CliRunner().invoke(main, [], env=env, prog_name="kadmit")
    assert run.stdout.split() == [wanted]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_takes_the_script(tmp_path: Path) -> None:
    (tmp_path / "kadmit").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kadmit "$@"\n')
    (tmp_path / "kadmit").chmod(0o755)
    asked = 'eval "$(kadmit completion bash)"; COMP_WORDS=(kadmit ev); COMP_CWORD=1; _kadmit_completion kadmit; echo $COMPREPLY'
    run = subprocess.run(
        ["bash", "-c", asked], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.split() == ["eval"]
