"""kadmit test as users call it."""

import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from click.testing import CliRunner, Result
from tests.authoring import suites

from kadmit.authoring.suite.running import Judge, Judged, Planned
from kadmit.cli import main
from kadmit.cli.suites import workers

SUITE = """
policies: [validating.yaml]
defaults: {object: settings.yaml}
cases:
- {name: low, expect: admitted}
- {name: odd, patch: {data: {level: odd}}, expect: denied}
"""
FAILING = SUITE + "- {name: wrong, expect: denied}\n- {name: also wrong, expect: denied}\n"

KYVERNO = """
apiVersion: cli.kyverno.io/v1alpha1
kind: Test
policies: [validating.yaml]
resources: [settings.yaml]
results:
- {policy: levels, kind: ConfigMap, resources: [settings], result: pass}
- {policy: other, kind: ConfigMap, resources: [settings], result: pass}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with policies, in which the command runs."""
    for path, text in suites.FILES.items():
        write(tmp_path / path, text)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["test", *arguments])


def last(result: Result) -> str:
    return result.stdout.splitlines()[-1]


# ---------------------------------------------------------------- running


def test_all_as_expected(folder: Path) -> None:
    write(folder / "suites/kadmit-test.yaml", SUITE)
    result = run()
    assert (result.exit_code, result.stdout) == (0, "suites/kadmit-test.yaml: 2 passed\n\n2 cases: 2 passed\n")


def test_what_is_not_as_expected_is_told_with_its_place(folder: Path) -> None:
    write(folder / "suites/kadmit-test.yaml", FAILING)
    result = run()
    assert result.exit_code == 1
    assert "FAILED wrong (suites/kadmit-test.yaml:7:3)\n  denied: expected to be denied, was admitted\n" in result.stdout
    assert last(result) == "4 cases: 2 passed, 2 failed"


def test_verbose_tells_every_case_and_the_story_of_failures(folder: Path) -> None:
    write(folder / "suites/kadmit-test.yaml", FAILING)
    told = run("-v").stdout
    assert "  passed low\n  passed odd\n  failed wrong\n" in told
    assert "validating policies" in told


def test_suites_are_found_in_the_depths_and_by_both_names(folder: Path) -> None:
    case = "cases: [{name: a, object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}, expect: admitted}]"
    for path in ("a/kadmit-test.yaml", "a/b/more.kadmit-test.yaml", ".hidden/kadmit-test.yaml", "node_modules/kadmit-test.yaml"):
        write(folder / path, case)
    write(folder / "a/other.yaml", "not: a suite")
    assert run("--list").stdout.splitlines() == ["a/kadmit-test.yaml::a", "a/b/more.kadmit-test.yaml::a"]


@pytest.mark.parametrize(
    ("arguments", "cases"),
    [
        (["-k", "low"], ["low"]),
        (["-k", "not low and not wrong"], ["odd"]),
        (["suites/kadmit-test.yaml::odd"], ["odd"]),
        (["-k", "suites/kadmit-test.yaml::wrong"], ["wrong"]),
        (["suites"], ["low", "odd", "wrong", "also wrong"]),
    ],
)
def test_cases_are_selected(folder: Path, arguments: list[str], cases: list[str]) -> None:
    write(folder / "suites/kadmit-test.yaml", FAILING)
    assert [line.partition("::")[2] for line in run("--list", *arguments).stdout.splitlines()] == cases


def test_last_failed_runs_what_failed_and_all_once_nothing_did(folder: Path) -> None:
    write(folder / "suites/kadmit-test.yaml", FAILING)
    run()
    assert last(run("--last-failed")) == "2 cases: 2 failed"
    run("-k", "low")
    assert last(run("--last-failed")) == "2 cases: 2 failed"
    write(folder / "suites/kadmit-test.yaml", FAILING.replace("wrong, expect: denied", "wrong, expect: admitted"))
    assert last(run("--last-failed")) == "2 cases: 2 passed"
    result = run("--last-failed")
    assert last(result) == "4 cases: 4 passed"
    assert result.stderr == "kadmit test: none of these failed last time: all are run\n"


# ---------------------------------------------------------------- nothing is forgotten


def test_x_stops_at_the_first_failure_and_tells_what_was_not_run(folder: Path) -> None:
    write(folder / "suites/kadmit-test.yaml", FAILING)
    result = run("-x")
    assert result.exit_code == 1
    assert "not run: suites/kadmit-test.yaml::also wrong: stopped at the first case that did not pass (-x)" in result.stdout
    assert last(result) == "4 cases: 2 passed, 1 failed, 1 not run"


def test_a_process_that_dies_leaves_errors_not_silence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder / "suites/kadmit-test.yaml", FAILING)
    judge = Judge.judge

    def dying(self: Judge, planned: Planned) -> Judged:
        if planned.case.name == "wrong":
            os.kill(os.getpid(), signal.SIGKILL)
        return judge(self, planned)

    monkeypatch.setattr(Judge, "judge", dying)
    result = run("-j", "2")
    assert result.exit_code == 1
    assert "not run: suites/kadmit-test.yaml::wrong: the process that was to run it ended" in result.stdout
    assert last(result) == "4 cases: 2 passed, 1 failed, 1 not run"


def test_several_processes_find_the_same_as_one(folder: Path) -> None:
    write(folder / "suites/kadmit-test.yaml", FAILING)
    write(folder / "suites/more.kadmit-test.yaml", FAILING)
    alone, shared = json.loads(run("-j", "1", "-o", "json").stdout), json.loads(run("-j", "3", "-o", "json").stdout)
    for made in (alone, shared):
        del made["seconds"]
        for result in made["results"]:
            del result["seconds"]
    assert alone == shared


def test_few_cases_start_no_processes() -> None:
    assert workers.processes("auto", workers.SMALL - 1) == 1
    assert workers.processes("3", 2) == 2


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("suite", "arguments", "told"),
    [
        ("", ["-k", "x"], "suites/kadmit-test.yaml:1:1: the suite: must be an object, is nothing"),
        (SUITE, ["-k", "x"], "kadmit test: none of 2 cases is selected"),
        (SUITE, ["-k", "("], "kadmit test: -k: column 2: expected a word, found the end"),
        (SUITE, ["suites::none"], "kadmit test: none of 2 cases is selected"),
        (SUITE, ["nowhere"], "kadmit test: nowhere: there is no such file or folder"),
        (SUITE, ["cache"], "kadmit test: there are no suites in cache: they are named kadmit-test.yaml"),
        (SUITE, ["-j", "many"], 'kadmit test: -j: must be a number or auto, is "many"'),
        (SUITE, ["--report", "xml=a"],
         'kadmit test: --report: must be FORMAT=FILE with one of text, json, junit, sarif, github, is "xml=a"'),
        (SUITE.replace("expect:", "expects:"), [],
         ('suites/kadmit-test.yaml:5:3: cases[0]: must expect something (expect: admitted)\n'
         'suites/kadmit-test.yaml:5:15: cases[0]: unknown key "expects" (did you mean "expect"?)\n'
         'suites/kadmit-test.yaml:6:3: cases[1]: must expect something (expect: admitted)\n'
         'suites/kadmit-test.yaml:6:44: cases[1]: unknown key "expects" (did you mean "expect"?)')),
        ("cases: []", [], "suites/kadmit-test.yaml:1:1: cases: there are none: a suite without cases tests nothing"),
    ],
)  # fmt: skip
def test_bad_input_is_exit_code_2_and_says_what_is_wrong(folder: Path, suite: str, arguments: list[str], told: str) -> None:
    write(folder / "suites/kadmit-test.yaml", suite)
    (folder / "cache").mkdir()
    result = run(*arguments)
    assert (result.exit_code, result.stderr, result.stdout) == (2, f"{told}\n", "")


# ---------------------------------------------------------------- goldens, reports, coverage


def test_golden_files_are_written_and_then_hold(folder: Path) -> None:
    golden = SUITE.replace("expect: admitted", "expect: {golden: 'golden/{case}.yaml'}")
    write(folder / "suites/kadmit-test.yaml", golden)
    assert run().exit_code == 1
    assert not (folder / "suites/golden").exists()
    assert last(run("--update")) == "2 cases: 2 passed, 1 golden file written"
    assert last(run()) == "2 cases: 2 passed"
    write(folder / "suites/validating.yaml", suites.VALIDATING.replace("no such level", "another text"))
    assert run().exit_code == 0
    write(folder / "suites/settings.yaml", suites.SETTINGS.replace("level: low", "level: high"))
    result = run()
    assert result.exit_code == 1
    assert "    -    level: low\n    +    level: high\n" in result.stdout
    assert run("--update").exit_code == 0
    assert "level: high" in (folder / "suites/golden/low.yaml").read_text()
    assert last(run("--update")) == "2 cases: 2 passed"


def test_reports_go_into_files_beside_the_output(folder: Path) -> None:
    write(folder / "suites/kadmit-test.yaml", FAILING)
    result = run(
        "-o", "github", "--report", "junit=j.xml", "--report", "json=r.json", "--report", "sarif=s.json", "--report", "text=t.txt"
    )
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 2
    assert Xml.parse(folder / "j.xml").getroot().get("failures") == "2"
    assert json.loads((folder / "r.json").read_text())["counts"]["failed"] == 2
    assert len(json.loads((folder / "s.json").read_text())["runs"][0]["results"]) == 2
    assert (folder / "t.txt").read_text().endswith("4 cases: 2 passed, 2 failed\n")


def test_json_has_what_its_schema_says(folder: Path) -> None:
    write(folder / "suites/kadmit-test.yaml", FAILING)
    made = json.loads(run("-o", "json").stdout)
    assert made["good"] is False
    assert made["counts"] == {"passed": 2, "failed": 2, "error": 0, "not run": 0, "not expressible": 0, "skipped": 0}
    wrong = made["results"][2]
    assert wrong.pop("seconds") > 0
    assert wrong == {
        "id": "suites/kadmit-test.yaml::wrong",
        "suite": "suites/kadmit-test.yaml",
        "case": "wrong",
        "tool": "kadmit",
        "file": "suites/kadmit-test.yaml",
        "line": 7,
        "column": 3,
        "verdict": "failed",
        "faults": [{"expectation": "denied", "message": "expected to be denied, was admitted"}],
    }


SCHEMA = json.loads((Path(__file__).parent.parent.parent / "docs" / "schemas" / "test.schema.json").read_text())


@pytest.mark.parametrize("arguments", [[], ["-v"], ["-x"], ["--coverage"], ["--update"]])
def test_json_fits_its_schema(folder: Path, arguments: list[str]) -> None:
    golden = "- {name: golden, expect: {golden: g.yaml}}\n- {name: error, operation: UPDATE, expect: admitted}\n"
    write(folder / "suites/kadmit-test.yaml", FAILING + golden)
    write(folder / "suites/kyverno-test.yaml", KYVERNO)
    validate = importlib.import_module("jsonschema").validate
    validate(json.loads(run("-o", "json", *arguments).stdout), SCHEMA)


def test_coverage_can_fail_a_run(folder: Path) -> None:
    write(folder / "suites/kadmit-test.yaml", SUITE)
    assert run("--coverage").exit_code == 0
    assert json.loads(run("--coverage", "-o", "json").stdout)["coverage"]["percent"] < 100
    result = run("--coverage-min", "100")
    assert result.exit_code == 1
    assert last(result).endswith("; coverage is below 100%")


@pytest.mark.parametrize("percent", ["100.1", "-1", "nan", "inf"])
def test_coverage_beyond_all_or_nothing_is_bad_input(folder: Path, percent: str) -> None:
    write(folder / "suites/kadmit-test.yaml", SUITE)
    result = run("--coverage-min", percent)
    assert (result.exit_code, result.stderr) == (2, f"kadmit test: --coverage-min: must be 0 to 100, is {percent}\n")


def test_coverage_is_the_same_however_many_processes_there_are(folder: Path) -> None:
    write(folder / "suites/kadmit-test.yaml", SUITE)
    made = [json.loads(run("--coverage", "-j", jobs, "-o", "json").stdout)["coverage"] for jobs in ("1", "2")]
    assert made[0] == made[1]


def test_durations_name_the_slowest(folder: Path) -> None:
    write(folder / "suites/kadmit-test.yaml", SUITE)
    told = run("--durations", "1").stdout
    assert " ms  suites/kadmit-test.yaml::" in told


def test_what_is_not_expressible_spoils_a_run_unless_it_is_allowed(folder: Path) -> None:
    write(folder / "suites/kyverno-test.yaml", KYVERNO)
    result = run()
    assert result.exit_code == 1
    told = 'not expressible: suites/kyverno-test.yaml::other: ConfigMap pass: no file has a policy "other"'
    assert told in result.stdout.splitlines()
    assert last(result) == "2 cases: 1 passed, 1 not expressible"
    assert run("--allow-not-expressible").exit_code == 0


def test_suites_of_gatekeeper_are_recognised_by_what_they_hold(folder: Path) -> None:
    case = "tests: [{name: t, cases: [{name: c}]}]"
    write(folder / "suites/suite.yaml", f"kind: Suite\napiVersion: test.gatekeeper.sh/v1alpha1\n{case}\n")
    write(folder / "suites/another-suite.yaml", "kind: Suite\n")
    assert run("--list").stdout == "suites/suite.yaml::t: c\n"


# ---------------------------------------------------------------- golden files


def test_a_golden_file_that_cannot_be_written_is_an_error_of_its_case(folder: Path) -> None:
    write(folder / "suites/kadmit-test.yaml", SUITE + "- {name: told, expect: {golden: 'x/told.yaml'}}\n")
    write(folder / "suites/x", "")
    (folder / "suites/x").unlink()
    (folder / "suites/x").symlink_to("/proc/none")
    result = run("--update")
    assert result.exit_code == 1
    assert "golden: suites/x/told.yaml: " in result.stdout
    assert last(result) == "3 cases: 2 passed, 1 error"


def test_every_golden_file_that_is_written_is_counted(folder: Path) -> None:
    write(folder / "suites/kadmit-test.yaml", SUITE + "- {name: told, expect: {denied: true, golden: told.yaml}}\n")
    result = run("--update")
    assert (folder / "suites/told.yaml").exists()
    assert last(result) == "3 cases: 2 passed, 1 failed, 1 golden file written"


@pytest.mark.parametrize("path", ["validating.yaml", "settings.yaml", "kadmit-test.yaml", "sub/../settings.yaml"])
def test_a_golden_file_is_never_written_over_what_the_suite_reads(folder: Path, path: str) -> None:
    write(folder / "suites/kadmit-test.yaml", SUITE + f"- {{name: told, expect: {{golden: {path}}}}}\n")
    before = {file: file.read_bytes() for file in (folder / "suites").iterdir()}
    result = run("--update")
    assert result.exit_code == 2
    assert "is a file that the suite reads (--update would write over it)" in result.stderr
    assert {file: file.read_bytes() for file in (folder / "suites").iterdir()} == before


# ---------------------------------------------------------------- watching


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--list"], "--watch: runs cases, and --list runs none"),
        (["-k", "("], "-k: column 2: expected a word, found the end"),
    ],
)
def test_what_cannot_be_watched_is_told_at_once(folder: Path, arguments: list[str], told: str) -> None:
    write(folder / "suites/kadmit-test.yaml", SUITE)
    result = run("--watch", *arguments)
    assert (result.exit_code, result.output) == (2, f"kadmit test: {told}\n")


class Watching:
    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "kadmit", "test", "--watch"]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def told(self) -> list[str]:
        """What it says until it watches again."""
        assert self.process.stdout is not None
        lines = []
        for line in self.process.stdout:
            if line.startswith("watching "):
                break
            lines.append(line.rstrip("\n"))
        return lines

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=30)


def test_watching_runs_again_what_a_change_touches(folder: Path) -> None:
    write(folder / "suites/kadmit-test.yaml", SUITE)
    other = "cases: [{name: a, object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}, expect: admitted}]"
    write(folder / "other/kadmit-test.yaml", other)
    watching = Watching(folder)
    try:
        assert watching.told()[-1] == "3 cases: 3 passed"
        write(folder / "suites/settings.yaml", suites.SETTINGS.replace("level: low", "level: unheard-of"))
        told = watching.told()
        assert told[0] == "suites/kadmit-test.yaml: 1 passed, 1 failed"
        assert told[-1] == "2 cases: 1 passed, 1 failed"
        write(folder / "suites/kadmit-test.yaml", "cases: 1")
        assert watching.told() == ["suites/kadmit-test.yaml:1:1: cases: must be a list of cases, is a number"]
        write(folder / "suites/kadmit-test.yaml", SUITE.replace("settings.yaml", "new.yaml"))
        assert "new.yaml" in watching.told()[0]
        write(folder / "suites/new.yaml", suites.SETTINGS)
        assert watching.told()[-1] == "2 cases: 2 passed"
        write(folder / "third/kadmit-test.yaml", other)
        assert watching.told()[-1] == "1 case: 1 passed"
        assert watching.end() == 0
    finally:
        watching.process.kill()
        watching.process.wait()
