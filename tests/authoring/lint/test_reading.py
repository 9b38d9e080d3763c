"""What counts as a guard: an expression over a Pod, and which of its fields may be missing when it is evaluated."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
import yaml

from kadmit.authoring import checking, manifests
from kadmit.authoring.manifests import File

NOW = datetime(2026, 11, 15, tzinfo=UTC)


def missing(validation: str, *, conditions: Sequence[str] = (), more: Sequence[str] = (), **variables: str) -> list[str]:
    """The paths that KA202 tells of."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["pods"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": f"c{i}", "expression": text} for i, text in enumerate(conditions)],
        "variables": [{"name": name, "expression": text} for name, text in variables.items()],
        "validations": [{"expression": text} for text in (validation, *more)],
    }
    policy = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy"}
    text = yaml.safe_dump({**policy, "metadata": {"name": "p"}, "spec": spec})
    found = checking.check(manifests.read(File("p.yaml", text.encode())), now=NOW).findings
    assert not [f.message for f in found if f.code.startswith("KA0")]
    return [f.message.split(" may be missing")[0] for f in found if f.code == "KA202"]


SAFE = [
    "has(object.metadata.labels) && object.metadata.labels.size() > 0",
    "object.metadata.labels.size() > 0 && has(object.metadata.labels)",
    "!has(object.metadata.labels) || object.metadata.labels.size() > 0",
    "has(object.metadata.labels) ? object.metadata.labels.size() > 0 : true",
    "!has(object.metadata.labels) ? true : object.metadata.labels.size() > 0",
    "has(object.metadata.labels) && has(object.metadata.labels.app) && object.metadata.labels.app == 'a'",
    "has(object.metadata.labels) && 'app' in object.metadata.labels && object.metadata.labels['app'] == 'a'",
    "object.metadata.?labels.?app.orValue('') == 'a'",
    "object.metadata.?labels['app'].orValue('') == 'a'",
    "object.metadata.?labels.app.hasValue() && object.metadata.labels.app == 'a'",
    "object.?metadata.labels.hasValue() && object.metadata.labels.size() > 0",
    "'app' in object.metadata.?labels.orValue({}) && object.metadata.labels['app'] == 'a'",
    "object.metadata.?labels[?'app'].orValue('') != '' && object.metadata.labels['app'].size() < 9",
    "object.spec.?volumes.orValue([]).size() > 0 && object.spec.volumes[0].name == 'a'",
    "object.spec.containers.all(c, c.image != '' && c.imagePullPolicy == 'Always')",
    "object.spec.containers.all(c, has(c.env) && c.env.all(e, has(e.value) && e.value != ''))",
    "object.spec.containers.all(c, !has(c.env) || c.env.exists(e, e.name == 'a'))",
    "object.spec.containers.filter(c, has(c.env)).all(c, c.env.size() < 9)",
    "object.spec.containers.filter(c, has(c.env)).map(x, x.env.size()).sum() < 9",
    "object.spec.containers.map(c, has(c.env), c.env.size()).sum() < 9",
    "object.spec.containers.transformList(i, c, has(c.env), c.env.size()).sum() < 9",
    "object.spec.containers.all(c, has(c.env)) && object.spec.containers.all(d, d.env.size() < 9)",
    "!object.spec.containers.exists(c, !has(c.env)) && object.spec.containers[0].env.size() < 9",
    "object.spec.?affinity.optMap(a, has(a.nodeAffinity)).orValue(true)",
    "has(object.spec.hostNetwork) == false || object.spec.hostNetwork",
    "object.metadata.name != '' && object.metadata.namespace != '' && object.spec.serviceAccountName != 'x'",
    "object.spec.securityContext == {}",
    "dyn(object).metadata.name == 'a'",
    "object.metadata.?labels.orValue({}).all(k, object.metadata.labels[k] != '')",
    "oldObject == null || has(oldObject.metadata.labels) && oldObject.metadata.labels.size() > 0",
    "namespaceObject.metadata.labels['kubernetes.io/metadata.name'] != '' || true",
    "true || object.metadata.labels.size() > 0",
]


@pytest.mark.parametrize("expression", SAFE)
def test_what_is_asked_for_first_is_not_missing(expression: str) -> None:
    assert missing(expression) == []


UNSAFE = [
    ("object.metadata.labels.size() > 0", "object.metadata.labels"),
    ("has(object.metadata.labels) || object.metadata.labels.size() > 0", "object.metadata.labels"),
    ("has(object.metadata.labels) && object.metadata.labels.app == 'a'", "object.metadata.labels.app"),
    ("has(object.metadata.labels) && object.metadata.labels['a/b'] == 'a'", 'object.metadata.labels["a/b"]'),
    ("has(object.metadata.labels.app)", "object.metadata.labels"),
    ("'app' in object.metadata.labels", "object.metadata.labels"),
    ("object.spec.affinity.?nodeAffinity.hasValue()", "object.spec.affinity"),
    ("object.spec.containers.all(c, c.env.size() > 0)", "object.spec.containers[*].env"),
    ("object.spec.containers[0].env.size() > 0", "object.spec.containers[0].env"),
    (
        "object.spec.containers.exists(c, has(c.env)) && object.spec.containers.all(d, d.env.size() < 9)",
        "object.spec.containers[*].env",
    ),
    ("object.spec.containers.filter(c, !has(c.env)).all(c, c.env.size() < 9)", "object.spec.containers[*].env"),
    ("has(object.spec.hostPID) ? object.spec.hostIPC == true : true", "object.spec.hostIPC"),
    ("object.spec.?hostPID.orValue(false) == false && object.spec.hostPID", "object.spec.hostPID"),
    ("namespaceObject.metadata.labels['team'] == 'a'", "namespaceObject.metadata.labels.team"),
    ("object.spec.volumes == null", "object.spec.volumes"),
]


@pytest.mark.parametrize(("expression", "path"), UNSAFE, ids=[e for e, _ in UNSAFE])
def test_what_nobody_asked_for_may_be_missing(expression: str, path: str) -> None:
    assert missing(expression) == [path]


def test_match_conditions_guard_everything_behind_them() -> None:
    assert missing("object.metadata.labels.size() > 0", conditions=("has(object.metadata.labels)",)) == []


def test_match_conditions_guard_each_other() -> None:
    assert missing("true", conditions=("object.metadata.labels.size() > 0", "has(object.metadata.labels)")) == []


def test_validations_guard_each_other() -> None:
    assert missing("object.metadata.labels.size() > 0", more=("has(object.metadata.labels)",)) == []


def test_a_variable_guards_where_it_is_asked() -> None:
    assert missing("variables.labelled && object.metadata.labels.size() > 0", labelled="has(object.metadata.labels)") == []


def test_a_variable_is_guarded_where_it_is_used() -> None:
    assert missing("has(object.metadata.labels) && variables.count > 0", count="object.metadata.labels.size()") == []
    assert missing("variables.count > 0", count="object.metadata.labels.size()") == ["object.metadata.labels"]


def test_a_variable_that_is_not_used_is_never_read() -> None:
    assert missing("true", count="object.metadata.labels.size()") == []


def test_a_variable_may_stand_for_a_part_of_the_object() -> None:
    assert missing("variables.spec.hostNetwork == true", spec="object.spec") == ["object.spec.hostNetwork"]
    assert missing("has(variables.spec.hostNetwork) && variables.spec.hostNetwork == true", spec="object.spec") == []


def test_a_field_is_told_of_once() -> None:
    twice = "object.spec.hostNetwork == true || object.spec.hostNetwork == false"
    assert missing(twice, more=(twice,)) == ["object.spec.hostNetwork"]


def test_variables_that_double_at_every_step_are_no_trouble() -> None:
    doubling = {f"v{i}": f"variables.v{i - 1} && variables.v{i - 1}" for i in range(1, 40)}
    assert missing("variables.v39", v0="object.spec.hostNetwork == true", **doubling) == ["object.spec.hostNetwork"]


def test_deep_conditions_are_no_trouble() -> None:
    expression = "has(object.spec.hostPID)"
    for _ in range(60):
        expression = f"({expression} ? true : has(object.spec.hostIPC))"
    assert missing(expression) == []
