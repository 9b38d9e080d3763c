"""Comments that silence findings: for a line, for a field, for a whole object, and inside of an expression."""

from datetime import UTC, datetime

import pytest

from kadmit.authoring import checking, manifests
from kadmit.authoring.checking import Checked
from kadmit.authoring.manifests import File

NOW = datetime(2026, 11, 15, tzinfo=UTC)

POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: p
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations:
  - expression: |
      object.spec.containers.size() < 9 &&
      object.spec.hostNetwork == false
    message: not allowed
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: p}
spec: {policyName: p, validationActions: [Deny]}
"""


def checked(text: str) -> Checked:
    return checking.check(manifests.read(File("p.yaml", text.encode())), now=NOW)


def codes(text: str) -> list[str]:
    return [f.code for f in checked(text).findings]


def above(line: str, comment: str) -> str:
    """The policy with a comment above a line, as far to the right."""
    indent = line[: len(line) - len(line.lstrip())]
    assert line in POLICY
    return POLICY.replace(line, f"{indent}{comment}\n{line}", 1)


def beside(line: str, comment: str) -> str:
    return POLICY.replace(f"{line}\n", f"{line}  {comment}\n", 1)


def test_nothing_is_silenced_without_a_comment() -> None:
    assert codes(POLICY) == ["KA202"]


SILENCED = {
    "above the key of the field": above("  - expression: |", "# kadmit: ignore KA202"),
    "beside the key of the field": beside("  - expression: |", "# kadmit: ignore KA202"),
    "above other comments": above("  - expression: |", "# kadmit: ignore KA202\n  # and more"),
    "above the line of the expression": above("      object.spec.hostNetwork", "// kadmit: ignore KA202"),
    "beside the line of the expression": beside("      object.spec.hostNetwork == false", "// kadmit: ignore KA202"),
    "above metadata, for the whole object": above("metadata:", "# kadmit: ignore KA202"),
    "beside metadata, for the whole object": beside("metadata:", "# kadmit: ignore KA202"),
    "with a reason": above("  - expression: |", "# kadmit: ignore KA202 because it is always set"),
    "in any spacing": above("  - expression: |", "#kadmit:  ignore   KA202"),
}


@pytest.mark.parametrize("text", SILENCED.values(), ids=SILENCED)
def test_a_comment_silences(text: str) -> None:
    found = checked(text)
    assert (list(found.findings), found.silenced) == ([], 1)


LOUD = {
    "of another rule": above("  - expression: |", "# kadmit: ignore KA203"),
    "of another line": above("    message: not allowed", "# kadmit: ignore KA202"),
    "above another object's metadata": above("metadata: {name: p}", "# kadmit: ignore KA202"),
}


@pytest.mark.parametrize("text", LOUD.values(), ids=LOUD)
def test_a_comment_that_silences_nothing_is_told(text: str) -> None:
    assert sorted(codes(text)) == ["KA008", "KA202"]


def test_several_codes_may_be_given() -> None:
    text = above("  - expression: |", "# kadmit: ignore KA202, KA203").replace("[CREATE]", "[CREATE, DELETE]")
    assert codes(text) == []


def test_without_a_code_nothing_is_silenced() -> None:
    assert codes(above("  - expression: |", "# kadmit: ignore")) == ["KA202"]


def test_what_the_server_refuses_can_be_silenced_for_a_server_of_another_kind() -> None:
    text = POLICY.replace("    message: not allowed", "    # kadmit: ignore KA003 a field of our own\n    colour: red")
    assert codes(text) == ["KA202"]


def test_a_comment_is_not_idle_because_its_rule_was_not_asked_for() -> None:
    text = above("  - expression: |", "# kadmit: ignore KA202")
    read = manifests.read(File("p.yaml", text.encode()))
    assert checking.check(read, now=NOW, selection=checking.Selection(select=("KA1",))).findings == []
