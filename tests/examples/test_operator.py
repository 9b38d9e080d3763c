"""examples/operator is a project of its own: what its README says to run is run here, as a user would."""

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent.parent / "examples" / "operator"
SECONDS = 300


def run(*command: str) -> str:
    """What a program prints that must end well."""
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_its_policies_are_sound() -> None:
    assert "no findings" in run("kadmit", "check", "policies", "manifests")


def test_its_suite_passes() -> None:
    assert run("kadmit", "test", "policies").endswith("8 cases: 8 passed\n")


def test_its_tests_pass_and_cover_its_policies() -> None:
    # schemathesis' plugin is not used, and takes a second to load; a cache would be left in the repository.
    covered = [f"--kadmit-coverage=policies/{name}.yaml" for name in ("team", "counters")]
    shown = run("pytest", "-p", "no:schemathesis", "-p", "no:cacheprovider", *covered, "--kadmit-coverage-min=80")
    assert "4 passed" in shown
    assert "policy coverage: " in shown


@pytest.mark.parametrize("command", ["kadmit check policies manifests", "kadmit test policies", "pytest"])
def test_its_readme_says_so(command: str) -> None:
    assert f"\n    {command}\n" in (PROJECT / "README.md").read_text()
