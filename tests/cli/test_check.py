"""kadmit check as users call it."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kadmit.cli import main

EXAMPLES = Path(__file__).parent.parent.parent / "examples"

POLICY = """\
# a comment
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: limit
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: [apps]
      apiVersions: [v1]
      operations: [CREATE]
      resources: [deployments]
  validations:
  - expression: object.spec.replicas <= 5
  - expression: |
      object.spec.replicas > 0 &&
      object.spec.replicas < 9
"""
BINDING = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: limit}
spec:
  policyName: limit
  validationActions: [Deny]
"""


def check(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(main, ["check", *arguments], input=stdin)


def problems(text: str) -> list[dict[str, Any]]:
    """All findings but that the policy, or its binding, is not in the same file."""
    found: list[dict[str, Any]] = json.loads(check("-", "--ignore", "KA603,KA604", "-o", "json", stdin=text).stdout)["findings"]
    return found


def test_what_is_sound_is_clean() -> None:
    run = check("-", stdin=f"{POLICY}---\n{BINDING}")
    assert (run.exit_code, run.stdout, run.stderr) == (0, "", "2 objects checked: no findings\n")


def test_the_examples_are_clean() -> None:
    run = check(str(EXAMPLES))
    assert (run.exit_code, run.stdout) == (0, "")


def test_a_problem_is_told_with_file_line_and_object(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY.replace("[CREATE]", "[CREAT]"))
    run = check(str(path))
    assert run.exit_code == 1
    field = "spec.matchConstraints.resourceRules[0].operations[0]"
    supported = 'supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"'
    assert run.stdout == (
        f'{path}:11:20: error KA001: ValidatingAdmissionPolicy "limit": {field}: Unsupported value: "CREAT": {supported}\n'
        "    fix: write a value that the server accepts\n"
    )
    assert run.stderr == "1 object checked: 1 error\n"


def test_json_has_every_part_of_a_problem() -> None:
    assert problems(POLICY.replace("replicas <= 5", "replicas")) == [
        {
            "code": "KA002",
            "title": "an expression does not compile",
            "severity": "error",
            "file": "standard input",
            "line": 14,
            "column": 17,
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicy",
            "name": "limit",
            "field": "spec.validations[0].expression",
            "message": 'spec.validations[0].expression: Invalid value: "object.spec.replicas": must evaluate to bool but got dyn',
            "fix": "write an expression that compiles, of the type that is asked for",
        }
    ]


# The text, what stands there instead, and the line and beginning of the message that this gives.
FAULTS = [
    ("replicas <= 5", "replicas <=", 14, 'spec.validations[0].expression: Invalid value: "object.spec.replicas <=": compilation'),
    ("object.spec.replicas < 9", "objct < 9", 17, "spec.validations[1].expression: Invalid value"),
    ("object.spec.replicas > 0", "objct > 0", 16, "spec.validations[1].expression: Invalid value"),
    ("  validations:", "  validatons:", 13, 'unknown field "spec.validatons"'),
    ("  name: limit", "  name: Limit", 5, 'metadata.name: Invalid value: "Limit"'),
    ("  name: limit", "  labels: {}", 4, "metadata.name: Required value"),
    ("  name: limit", "  name: limit\n  name: limit", 6, 'key "name" already set in map'),
    ("kind: Valid", "kind: Val", 2, 'no matches for kind "ValatingAdmissionPolicy" in version "admissionregistration.k8s.io/v1"'),
    ("k8s.io/v1", "k8s.io/v9", 2, 'no matches for kind "ValidatingAdmissionPolicy" in version "admissionregistration.k8s.io/v9"'),
    ("[CREATE]", "CREATE", 2, "json: cannot unmarshal string into Go struct field"),
    ("name: limit", "name: limit.static.k8s.io", 5, "metadata.name: names ending with"),
]


@pytest.mark.parametrize(("text", "instead", "line", "message"), FAULTS, ids=[f[1] for f in FAULTS])
def test_a_fault_is_found_where_it_stands(text: str, instead: str, line: int, message: str) -> None:
    found = problems(POLICY.replace(text, instead, 1))
    assert [(p["line"], p["message"][: len(message)]) for p in found if p["message"].startswith(message)] == [(line, message)]


def test_lines_count_from_the_top_of_the_file_in_any_document() -> None:
    (found,) = problems(f"{POLICY}---\n{BINDING.replace('[Deny]', '[]')}")
    assert (found["kind"], found["line"]) == ("ValidatingAdmissionPolicyBinding", len(POLICY.splitlines()) + 1 + 6)


def test_lines_are_found_in_lists_and_in_json() -> None:
    item = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding"}
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [item, {**item, "metadata": {"name": "b"}}]}, indent=1)
    found = [(p["line"], p["field"]) for p in problems(text)]
    assert found == [(5, "metadata.name"), (5, "spec.policyName"), (9, "spec.policyName")]


def test_all_problems_are_told_in_the_order_of_lines() -> None:
    text = POLICY.replace("[CREATE]", "[CREAT]").replace("replicas <= 5", "nothing(").replace("  name: limit", "  name: Limit")
    assert [p["line"] for p in problems(text)] == [5, 11, 14]


def test_webhook_configurations_are_checked() -> None:
    text = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hooks}
webhooks:
- name: hook.example.com
  clientConfig: {url: "http://example.com"}
  sideEffects: None
  admissionReviewVersions: [v1]
"""
    (found,) = problems(text)
    assert (found["line"], found["field"]) == (6, "webhooks[0].clientConfig.url")


def test_definitions_of_kinds_are_checked() -> None:
    text = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things}
spec: {group: example.com}
"""
    assert {"spec.names.plural", "spec.scope"} <= {p["field"] for p in problems(text)}


def test_an_expression_that_does_not_fit_its_kind_is_warned_of() -> None:
    (found,) = problems(POLICY.replace("object.spec.replicas <= 5", "object.replicas <= 5"))
    assert (found["code"], found["severity"], found["line"], found["column"]) == ("KA201", "warning", 14, 24)
    assert found["message"] == "does not fit Deployment: undefined field 'replicas'"
    assert found["fix"] == "Deployment has it as object.spec.replicas"


def test_every_kind_of_the_rules_is_checked() -> None:
    text = POLICY.replace("[deployments]", "[deployments, replicasets]").replace(
        "object.spec.replicas <= 5", "object.replicas <= 5"
    )
    (found,) = problems(text)
    assert found["message"] == "does not fit Deployment and ReplicaSet: undefined field 'replicas'"


@pytest.mark.parametrize("rule", ["resources: ['*']", "resources: [deployments/scale]"])
def test_rules_that_name_no_kind_are_not_type_checked(rule: str) -> None:
    assert problems(POLICY.replace("resources: [deployments]", rule).replace("spec.replicas", "replicas")) == []


@pytest.mark.parametrize(
    "expression",
    [
        "object.metadata.namespace == 'a'",
        "object.spec.template.spec.containers.all(c, has(c.resources.limits) && 'cpu' in c.resources.limits)",
        "object.metadata.creationTimestamp < timestamp('2030-01-01T00:00:00Z')",
        "object.spec.strategy.rollingUpdate.maxSurge == 1",
        "oldObject == null || oldObject.spec.replicas > 1",
    ],
)
def test_what_works_is_not_warned_of(expression: str) -> None:
    assert problems(POLICY.replace("object.spec.replicas <= 5", f'"{expression}"')) == []


def test_custom_kinds_of_the_files_are_type_checked() -> None:
    definition = (EXAMPLES / "replica-limit.yaml").read_text()
    assert problems(definition) == []
    (found,) = problems(definition.replace("params.maxReplicas\n", "params.maxReplica\n"))
    assert found["severity"] == "warning"
    assert "undefined field 'maxReplica'" in found["message"]


def test_versions_that_are_no_longer_served_are_checked_as_v1() -> None:
    assert [p["code"] for p in problems(POLICY.replace("k8s.io/v1", "k8s.io/v1beta1"))] == ["KA601"]
    (found,) = problems(BINDING.replace("k8s.io/v1", "k8s.io/v1alpha1").replace("[Deny]", "[]"))
    assert (found["code"], found["line"]) == ("KA001", 6)


def test_other_kinds_are_counted_and_not_looked_at() -> None:
    run = check("-", stdin=f"apiVersion: v1\nkind: Pod\n---\n{POLICY}---\n{BINDING}")
    assert (run.exit_code, run.stderr) == (0, "2 objects checked, 1 object of other kinds: no findings\n")


@pytest.mark.parametrize(
    ("arguments", "stdin", "told"),
    [
        ([], "", "give at least one file"),
        (["-", "-"], "", "standard input can be read once"),
        (["nowhere.yaml"], "", "nowhere.yaml: No such file or directory"),
        (["-"], "a: b: c", "standard input:1:5: yaml: mapping values are not allowed in this context"),
        (["-"], "[]", "standard input:1:1: must be an object, is a list"),
    ],
)
def test_unreadable_input_is_told(arguments: list[str], stdin: str, told: str) -> None:
    run = check(*arguments, stdin=stdin)
    assert (run.exit_code, run.stdout, run.stderr) == (2, "", f"kadmit check: {told}\n")


def test_hostile_nesting_is_refused() -> None:
    run = check("-", stdin="[" * 10_000)
    assert run.exit_code == 2


UNSOUND = POLICY.replace("object.spec.replicas <= 5", "object.metadata.labels.size() > 0")


@pytest.mark.parametrize(
    ("arguments", "codes", "exit_code"),
    [
        ([], ["KA604", "KA202"], 1),
        (["--fail-on", "info"], ["KA604", "KA202"], 1),
        (["--fail-on", "error"], ["KA604", "KA202"], 0),
        (["--ignore", "KA202"], ["KA604"], 0),
        (["--ignore", "KA2"], ["KA604"], 0),
        (["--ignore", "KA202", "--fail-on", "info"], ["KA604"], 1),
        (["--select", "KA202"], ["KA202"], 1),
        (["--select", "ka2,KA6", "--ignore", "KA604"], ["KA202"], 1),
        (["--select", "KA1", "--select", "KA604"], ["KA604"], 0),
    ],
)
def test_rules_are_selected_and_severities_decide(arguments: list[str], codes: list[str], exit_code: int) -> None:
    run = check("-", "-o", "json", *arguments, stdin=UNSOUND)
    assert ([p["code"] for p in json.loads(run.stdout)["findings"]], run.exit_code) == (codes, exit_code)


def test_an_unknown_code_is_bad_input() -> None:
    run = check("-", "--select", "KA999", stdin=POLICY)
    assert (run.exit_code, run.stderr) == (2, "kadmit check: there is no rule KA999\n")


def test_all_rules_are_listed() -> None:
    run = check("--list-rules")
    lines = run.stdout.splitlines()
    assert run.exit_code == 0
    assert lines[0] == "KA001  error    the server refuses the object"
    assert lines == sorted(lines)
    assert len(lines) > 40


def test_a_rule_is_explained() -> None:
    run = check("--explain", "ka101")
    assert (run.exit_code, run.stdout.splitlines()[0]) == (0, "KA101: apply configuration sets an atomic list or map (error)")


def test_a_rule_that_does_not_exist_is_not_explained() -> None:
    run = check("--explain", "KA9")
    assert (run.exit_code, run.stderr) == (2, "kadmit check: there is no rule KA9; --list-rules lists them\n")


def test_the_moment_comes_from_outside() -> None:
    path = str(Path(__file__).parent.parent / "authoring" / "lint" / "corpus" / "flawed" / "webhook-bundle-expires.yaml")
    for now, severities in (
        ("2026-01-01", []),
        ("2026-09-15T00:00:00Z", ["warning"]),
        ("2026-11-15T00:00:00+01:00", ["warning", "error"]),
        ("2027-01-01T00:00:00Z", ["error", "error"]),
    ):
        found = json.loads(check(path, "--now", now, "-o", "json").stdout)["findings"]
        assert [p["severity"] for p in found] == severities


def test_a_moment_must_be_one() -> None:
    run = check("-", "--now", "tomorrow", stdin=POLICY)
    assert (run.exit_code, run.stderr) == (2, "kadmit check: --now: tomorrow is no time; write 2026-01-31T00:00:00Z\n")
