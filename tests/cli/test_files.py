"""Paths as commands take them: one that leads to nothing, or to what is no file, is told and never passed over."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kadmit.cli import main

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
POD, POLICY = str(EXAMPLES / "pod.yaml"), str(EXAMPLES / "replica-limit.yaml")
LONG = "a" * 5000
FIXTURE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n"
MISSPELT = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: a}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [pods]}]}
  matchCondition: [{name: never, expression: "false"}]
  validations: [{expression: "false"}]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(main, arguments, input=given)


def taken(path: str) -> list[list[str]]:
    """A path wherever a command takes one."""
    return [
        ["admit", path],
        ["admit", "-f", path, POD],
        ["admit", "--old-object", path, POD],
        ["explain", path],
        ["impact", "-f", POLICY, path],
        ["impact", "-f", path, POD],
        ["audit-replay", "-f", path, "no.log"],
    ]


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n---\nnull\n", "{apiVersion: v1, kind: List, items: []}"])
def test_a_file_without_objects_is_bad_input(folder: Path, text: str) -> None:
    (folder / "nothing.yaml").write_text(text)
    for arguments in taken("nothing.yaml"):
        found = run(*arguments)
        assert (found.exit_code, found.output) == (2, f"kadmit {arguments[0]}: nothing.yaml: holds no objects\n")


def test_a_folder_without_objects_is_bad_input(folder: Path) -> None:
    (folder / "policies").mkdir()
    (folder / "policies/notes.txt").write_text("x")
    for arguments in taken("policies"):
        found = run(*arguments)
        told = f"kadmit {arguments[0]}: policies: holds no objects in *.json, *.yaml, *.yml\n"
        assert (found.exit_code, found.output) == (2, told)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("", '"" is no path'),
        (LONG, f"{LONG}: File name too long"),
        ("loop", "loop: Too many levels of symbolic links"),
        ("file/x", "file/x: Not a directory"),
    ],
    ids=["no name", "a long name", "a link to itself", "inside a file"],
)
def test_what_is_no_path_is_bad_input(folder: Path, path: str, told: str) -> None:
    (folder / "loop").symlink_to("loop")
    (folder / "file").write_text("")
    for arguments in taken(path):
        found = run(*arguments)
        assert (found.exit_code, found.output) == (2, f"kadmit {arguments[0]}: {told}\n")


@pytest.mark.parametrize(("path", "told"), [("", '"" is no path'), (LONG, f"{LONG}: File name too long")], ids=["none", "long"])
def test_suites_have_paths_too(path: str, told: str) -> None:
    found = run("test", path)
    assert (found.exit_code, found.stderr) == (2, f"kadmit test: {told}\n")


@pytest.mark.parametrize(
    "arguments", [["admit", "-f", "a.yaml", POD], ["impact", "-f", "a.yaml", POD], ["explain", "-f", "a.yaml", POD]]
)
def test_what_a_policy_has_not_is_not_left_out_silently(folder: Path, arguments: list[str]) -> None:
    (folder / "a.yaml").write_text(MISSPELT)
    found = run(*arguments)
    told = 'a.yaml:7:3: strict decoding error: unknown field "spec.matchCondition"'
    assert (found.exit_code, found.output) == (2, f"kadmit {arguments[0]}: {told}\n")


def test_a_key_that_a_policy_has_twice_is_told(folder: Path) -> None:
    (folder / "a.yaml").write_text(MISSPELT.replace("matchCondition:", "validations:"))
    found = run("admit", "-f", "a.yaml", POD)
    told = 'a.yaml:2:1: strict decoding error: line 8: key "validations" already set in map'
    assert (found.exit_code, found.output) == (2, f"kadmit admit: {told}\n")


def test_what_is_there_has_a_name(folder: Path) -> None:
    (folder / "a.yaml").write_text(FIXTURE)
    found = run("admit", "-f", "a.yaml", POD)
    assert (found.exit_code, found.output) == (
        2,
        'kadmit admit: a.yaml:1:1: "ConfigMap": must have a name: nobody generates one here\n',
    )
    assert run("admit", "a.yaml").exit_code == 0


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"a: b: c\n", "1:5"),
        (b"a: b\nc: [1,\n", "3:1"),
        (b"a: b\nc: \xff\n", "2:4"),
        (b"a: b\nc:\n\td: e\n", "3:1"),
        (b"a: b\nc: *d\n", "2:4"),
    ],
)
def test_what_is_not_yaml_is_told_with_its_place(folder: Path, data: bytes, place: str) -> None:
    (folder / "a.yaml").write_bytes(data)
    assert run("admit", "a.yaml").stderr.startswith(f"kadmit admit: a.yaml:{place}: yaml: ")
    (folder / "kadmit-test.yaml").write_bytes(data)
    assert run("test").stderr.startswith(f"kadmit-test.yaml:{place}: yaml: ")
    (folder / "kadmit-test.yaml").unlink()
    (folder / "kyverno-test.yaml").write_bytes(data)
    assert run("test").stderr.startswith(f"kyverno-test.yaml:{place}: yaml: ")


STEERING = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: a}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [pods]}]}
  validations: [{expression: "false", messageExpression: '"clear \\u001b[2J"'}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: a}
spec: {policyName: a, validationActions: [Deny]}
"""
DENIAL = "policies: [a.yaml]\ncases: [{name: a, object: pod.yaml, expect: admitted}]\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["admit", "-f", "a.yaml", POD],
        ["admit", "-o", "summary", "-f", "a.yaml", POD],
        ["explain", "-f", "a.yaml", POD],
        ["impact", "-f", "a.yaml", POD],
        ["test", "-v"],
    ],
)
def test_no_message_steers_a_terminal(folder: Path, arguments: list[str]) -> None:
    (folder / "a.yaml").write_text(STEERING)
    (folder / "pod.yaml").write_text(Path(POD).read_text())
    (folder / "kadmit-test.yaml").write_text(DENIAL)
    found = run(*arguments)
    assert found.exit_code == 1
    assert "\\u001b[2J" in found.output
    assert "\x1b" not in found.output
