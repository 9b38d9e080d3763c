"""kadmit init as users call it."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kadmit.cli import main


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def test_what_it_writes_passes_its_own_suite_and_the_check(tmp_path: Path) -> None:
    result = run("init", "policies")
    assert (result.exit_code, result.stdout) == (
        0,
        "wrote policies/policy.yaml\nwrote policies/kadmit-test.yaml\nnow run: kadmit test policies\n",
    )
    tested = run("test", "policies", "--coverage-min", "100")
    assert (tested.exit_code, tested.stdout.splitlines()[-1]) == (0, "5 cases: 5 passed")
    assert run("check", "policies/policy.yaml").exit_code == 0


def test_nothing_is_overwritten_unless_asked(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("mine")
    result = run("init")
    assert (result.exit_code, result.stderr) == (2, "kadmit init: policy.yaml: there already; --force writes over it\n")
    assert (tmp_path / "policy.yaml").read_text() == "mine"
    assert not (tmp_path / "kadmit-test.yaml").exists()
    assert run("init", "--force").exit_code == 0
    assert (tmp_path / "policy.yaml").read_text() != "mine"


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run("init", "file/inside")
    assert result.exit_code == 2
    assert result.stderr.startswith("kadmit init: file")


def test_a_name_that_is_too_long_is_told() -> None:
    result = run("init", "a" * 5000)
    assert result.exit_code == 2
    assert result.stderr.endswith(": File name too long\n")


def test_the_folder_that_one_is_in_needs_no_name() -> None:
    assert run("init", "./").stdout.splitlines()[-1] == "now run: kadmit test"
