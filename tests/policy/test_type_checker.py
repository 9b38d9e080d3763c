"""Type checking of validating policies, as kube-apiserver does it: also where it warns of what works."""

from collections.abc import Sequence
from typing import Any

import pytest

from kadmit.api.meta import GroupVersionKind
from kadmit.kinds import schema
from kadmit.kinds.schema import Schema
from kadmit.policy import type_checker

DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")


DEFINITION = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
KINDS = {
    ("apps", "v1", "deployments"): DEPLOYMENT,
    ("apiextensions.k8s.io", "v1", "customresourcedefinitions"): DEFINITION,
}


class Builtin:
    """A few built-in kinds, and a resource of many."""

    def kinds_of(self, group: str, version: str, resource: str) -> Sequence[GroupVersionKind]:
        found = KINDS.get((group, version, resource))
        if found is None and resource.startswith("many"):
            return [GroupVersionKind(group, version, f"Many{i:02d}") for i in range(20)]
        return [found] if found else []

    def schema_of(self, kind: GroupVersionKind) -> Schema | None:
        return schema.for_kind(DEPLOYMENT if kind.kind.startswith("Many") else kind)


def policy(expression: str, rule: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    rules = [rule or {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]}]
    return {"spec": {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": expression}], **spec}}


def warned(raw: dict[str, Any], *, forgiving: bool = False) -> list[str]:
    return [w.text for w in type_checker.check(raw, Builtin(), forgiving=forgiving)]


def test_a_field_that_the_kind_does_not_have_is_warned_of() -> None:
    text = "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'replicas'\n | object.replicas > 1\n | ......^\n"
    assert warned(policy("object.replicas > 1")) == [text]


@pytest.mark.parametrize(
    ("expression", "field"),
    [
        ("object.metadata.namespace == 'a'", "namespace"),
        ("has(object.spec.template.spec.containers[0].resources.limits)", "limits"),
    ],
)
def test_reserved_names_and_quantities_are_warned_of_unless_forgiven(expression: str, field: str) -> None:
    (text,) = warned(policy(expression))
    assert f"undefined field '{field}'" in text
    assert warned(policy(expression), forgiving=True) == []


def test_comparing_different_types_is_warned_of() -> None:
    (text,) = warned(policy("object.spec.replicas == '3'"))
    assert "found no matching overload for '_==_' applied to '(int, string)'" in text


def test_message_expressions_are_checked_and_variables_typed() -> None:
    raw = policy("variables.replicas > 1", variables=[{"name": "replicas", "expression": "object.spec.replicas"}])
    assert warned(raw) == []
    raw["spec"]["validations"] = [{"expression": "true", "messageExpression": "variables.replicas + 'x'"}]
    (found,) = type_checker.check(raw, Builtin())
    assert found.field == "spec.validations[0].messageExpression"


def test_a_schema_inside_itself_is_an_object_without_fields() -> None:
    rule = {"apiGroups": ["apiextensions.k8s.io"], "apiVersions": ["v1"], "resources": ["customresourcedefinitions"]}
    top = "object.spec.versions[0].schema.openAPIV3Schema"
    assert warned(policy(f"{top}.type == 'object'", rule)) == []
    (text,) = warned(policy(f"{top}.not.type == 'object'", rule))
    assert "undefined field 'type'" in text


@pytest.mark.parametrize(
    "rule",
    [
        {"apiGroups": ["*"], "apiVersions": ["v1"], "resources": ["deployments"]},
        {"apiGroups": ["apps"], "apiVersions": ["*"], "resources": ["deployments"]},
        {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["*", "deployments/status"]},
    ],
)
def test_wildcards_and_subresources_name_no_kinds(rule: dict[str, Any]) -> None:
    assert warned(policy("object.nothing", rule)) == []


def test_no_more_than_ten_kinds_are_checked() -> None:
    (text,) = warned(policy("object.nothing", {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["many"]}))
    assert text.count("undefined field 'nothing'") == 10
