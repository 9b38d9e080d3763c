"""The plugin as projects meet it: loaded by its entry point, in runs of pytest of its own."""

import subprocess
import sys

import pytest
from tests.testing.policies import LABELLING, LIMITING

from kadmit.testing import plugin

pytest_plugins = ["pytester"]

TESTS = """
import pytest
from kadmit.testing import assert_admitted, assert_denied

def configmap(**data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}

def test_few(kadmit_cluster):
    assert_admitted(kadmit_cluster.load("policies").create(configmap(x="1")))

def test_many(kadmit_cluster):
    assert_denied(kadmit_cluster.load("policies").create(configmap(x="1", y="2", z="3")))

def test_without_a_policy(kadmit_cluster):
    assert_admitted(kadmit_cluster.create(configmap()))
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with policies and tests of them, which runs in processes of its own: what an inner run imports must not stay.

    NB: schemathesis takes a second to load.
    """
    pytester.makeini("[pytest]\naddopts = -p no:schemathesis -p no:cacheprovider\n")
    folder = pytester.mkdir("policies")
    (folder / "limiting.yaml").write_text(LIMITING)
    (folder / "labelling.yaml").write_text(LABELLING)
    pytester.makepyfile(test_policies=TESTS)
    return pytester


def test_nothing_of_the_engine_is_loaded_before_a_fixture_asks_for_it() -> None:
    script = (
        "import sys\nimport kadmit.testing.plugin\nfrom kadmit.testing import assert_denied\n"
        "print(*sorted(m for m in sys.modules if m.split('.')[0] in ('kadmit', 'aiohttp', 'cryptography', 'orjson', 'yaml')))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    ours = ["kadmit", "kadmit.testing", "kadmit.testing.assertions", "kadmit.testing.plugin", "kadmit.testing.result"]
    assert run.stdout.split() == ours


def test_pytest_does_not_rewrite_the_engine() -> None:
    (hook,) = [finder for finder in sys.meta_path if hasattr(finder, "_must_rewrite")]
    hook._must_rewrite.add("kadmit")
    try:
        plugin._leave_the_engine_as_it_is()
        assert "kadmit" not in hook._must_rewrite
    finally:
        hook._must_rewrite.discard("kadmit")


def test_fixtures_are_there_and_say_what_they_are(project: pytest.Pytester) -> None:
    shown = project.runpytest_subprocess("--fixtures").stdout.str()
    for name in ("kadmit_cluster", "kadmit_server", "kadmit_server_factory", "kadmit_webhook"):
        assert f"\n{name} " in shown
    assert "no docstring available" not in shown.partition("fixtures defined from kadmit")[2].partition("fixtures defined")[0]


def test_a_failure_shows_the_story_and_no_inner_frames(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from kadmit.testing import assert_admitted

        def test_it(kadmit_cluster):
            data = {"x": "1", "y": "2", "z": "3"}
            made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}
            assert_admitted(kadmit_cluster.load("policies/limiting.yaml").create(made))
        """
    )
    run = project.runpytest_subprocess("test_a_failure_shows_the_story_and_no_inner_frames.py")
    run.assert_outcomes(failed=1)
    shown = run.stdout.str()
    assert "E       AssertionError: CREATE configmap/a in default: denied (422 Invalid)" in shown
    assert "ValidatingAdmissionPolicy" in shown
    assert "assertions.py" not in shown


# ---------------------------------------------------------------- servers


SERVER_TESTS = """
def test_one(kadmit_server):
    print("URL", kadmit_server.url)

def test_two(kadmit_server):
    print("URL", kadmit_server.url)
"""


@pytest.mark.parametrize(("scope", "servers"), [("", 2), ("session", 1)])
def test_a_server_lives_as_long_as_the_ini_file_says(project: pytest.Pytester, scope: str, servers: int) -> None:
    project.makepyfile(test_policies=SERVER_TESTS)
    run = project.runpytest_subprocess("-s", *(["-o", f"kadmit_server_scope={scope}"] if scope else []))
    run.assert_outcomes(passed=2)
    assert len({line.split()[-1] for line in run.outlines if "URL https" in line}) == servers


def test_a_scope_that_nobody_knows_is_refused(project: pytest.Pytester) -> None:
    run = project.runpytest_subprocess("-o", "kadmit_server_scope=forever")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    told = "ERROR: kadmit_server_scope: must be one of function, class, module, package, session, is 'forever'"
    assert told in run.stderr.str()


def test_flags_and_failures_show_in_a_failed_test(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_policies="""
        import pytest

        @pytest.fixture(scope="session")
        def kadmit_server_flags():
            return ["--feature-gates=Foo=true"]

        def test_it(kadmit_server):
            assert False
        """
    )
    run = project.runpytest_subprocess()
    run.assert_outcomes(failed=1)
    run.stdout.re_match_lines([r"-+ kadmit serve at https://127.0.0.1:\d+ -+", ".*feature-gates.*"])


def test_a_server_that_does_not_start_fails_the_test_with_its_words(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_policies="""
        import pytest

        @pytest.fixture(scope="session")
        def kadmit_server_flags():
            return ["--no-such-flag"]

        def test_it(kadmit_server):
            pass
        """
    )
    run = project.runpytest_subprocess()
    run.assert_outcomes(errors=1)
    run.stdout.fnmatch_lines(["kadmit serve did not start: exit code 2", "error: unknown flag: --no-such-flag"])


def test_what_a_webhook_function_raised_fails_the_test_in_the_end(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_policies="""
        def test_it(kadmit_cluster, kadmit_webhook):
            kadmit_webhook(lambda request: request["missing"], kadmit_cluster, failurePolicy="Ignore")
            made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
            assert kadmit_cluster.create(made).allowed
        """
    )
    run = project.runpytest_subprocess()
    run.assert_outcomes(passed=1, errors=1)
    run.stdout.fnmatch_lines(["*a webhook function failed (1 sub-exception)*", "*KeyError: 'missing'*"])


# ---------------------------------------------------------------- coverage


def summary(run: pytest.RunResult) -> list[str]:
    """The lines of the summary of coverage."""
    lines = run.outlines
    start = next(i for i, line in enumerate(lines) if "= policy coverage =" in line)
    rest = [line for line in lines[start + 1 :] if line]
    return rest[: next(i for i, line in enumerate(rest) if line.startswith("=") or " passed in " in line)]


def test_without_the_option_nothing_is_said_of_coverage(project: pytest.Pytester) -> None:
    assert "policy coverage" not in project.runpytest_subprocess().stdout.str()


def test_coverage_is_the_same_in_one_process_and_in_several(project: pytest.Pytester) -> None:
    alone = project.runpytest_subprocess("--kadmit-coverage")
    alone.assert_outcomes(passed=3)
    many = project.runpytest_subprocess("--kadmit-coverage", "-n", "2")
    many.assert_outcomes(passed=3)
    assert summary(alone) == summary(many)
    assert any("policies/limiting.yaml" in line for line in summary(alone))
    assert any("policies/labelling.yaml" in line for line in summary(alone))


def test_a_test_after_the_option_is_a_test(project: pytest.Pytester) -> None:
    run = project.runpytest_subprocess("--kadmit-coverage", "test_policies.py::test_few")
    run.assert_outcomes(passed=1)
    assert any("policies/limiting.yaml" in line for line in summary(run))


def test_coverage_of_some_files_is_of_these_only_also_if_no_test_loads_them(project: pytest.Pytester) -> None:
    (project.path / "other.yaml").write_text(LIMITING.replace("limiting", "other"))
    shown = "\n".join(summary(project.runpytest_subprocess("--kadmit-coverage=other.yaml")))
    assert "other.yaml" in shown
    assert "limiting.yaml" not in shown


def test_a_path_that_is_not_there_is_told(project: pytest.Pytester) -> None:
    run = project.runpytest_subprocess("--kadmit-coverage=nowhere.yaml")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    assert "--kadmit-coverage: " in run.stderr.str()
    assert "nowhere.yaml: no such file or folder" in run.stderr.str()


def test_coverage_of_no_policies_is_bad_usage(project: pytest.Pytester) -> None:
    project.makefile(".yaml", nothing="# nothing\n")
    run = project.runpytest_subprocess("--kadmit-coverage=nothing.yaml")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    assert "nothing.yaml: holds no policy, binding or webhook configuration" in run.stderr.str()


@pytest.mark.parametrize("percent", ["nan", "-1", "100.1"])
def test_coverage_beyond_all_or_nothing_is_bad_usage(project: pytest.Pytester, percent: str) -> None:
    run = project.runpytest_subprocess(f"--kadmit-coverage-min={percent}")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    assert f"--kadmit-coverage-min: must be 0 to 100, is {percent}" in run.stderr.str()


def test_too_little_coverage_fails_the_run(project: pytest.Pytester) -> None:
    (project.path / "other.yaml").write_text(LIMITING.replace("limiting", "other"))
    good = project.runpytest_subprocess("--kadmit-coverage-min=0")
    assert good.ret == pytest.ExitCode.OK
    poor = project.runpytest_subprocess("--kadmit-coverage=other.yaml", "--kadmit-coverage-min=0.5")
    assert poor.ret == pytest.ExitCode.TESTS_FAILED
    assert "policy coverage is below 0.5%" in poor.stdout.str()
