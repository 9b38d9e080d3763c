"""Coverage of policies: what is a point, when it is met, and how what is missing is told."""

import json
import pickle
from collections.abc import Sequence
from typing import Any

import pytest
import yaml

from kadmit.authoring import manifests
from kadmit.authoring.admitting import Admitting, Asked
from kadmit.authoring.coverage.coverage import Coverage, Report
from kadmit.authoring.manifests import File, Manifest
from kadmit.cel.library.authorizer import User

Json = dict[str, Any]

CONFIG_MAPS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
EVERYTHING = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}


def registered(kind: str, name: str, spec: Json) -> Json:
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def validating(*validations: Json, match: Json | None = None, binding: Json | None = None, **spec: Any) -> list[Json]:
    constraints = match if match is not None else {"resourceRules": [EVERYTHING]}
    bound = {"policyName": "p", "validationActions": ["Deny"], **(binding or {})}
    return [
        registered("ValidatingAdmissionPolicy", "p", {"matchConstraints": constraints, "validations": list(validations), **spec}),
        registered("ValidatingAdmissionPolicyBinding", "b", bound),
    ]


def mutating(expression: str) -> list[Json]:
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
    spec = {"matchConstraints": {"resourceRules": [EVERYTHING]}, "reinvocationPolicy": "Never", "mutations": [mutation]}
    return [
        registered("MutatingAdmissionPolicy", "p", spec),
        registered("MutatingAdmissionPolicyBinding", "b", {"policyName": "p"}),
    ]


def webhooks(**hook: Any) -> list[Json]:
    made = {"name": "w.example.com", "clientConfig": {"url": "https://w.example"}, "sideEffects": "None", "rules": [EVERYTHING]}
    made |= {"admissionReviewVersions": ["v1"], **hook}
    kind, name = "ValidatingWebhookConfiguration", {"name": "p"}
    return [{"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": name, "webhooks": [made]}]


def config_map(namespace: str = "default", name: str = "c", labels: Json | None = None, **data: str) -> Json:
    metadata: Json = {"name": name, "namespace": namespace} | ({"labels": labels} if labels else {})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def read(objects: Sequence[Json], name: str = "policies.yaml") -> list[Manifest]:
    return manifests.read(File(name, yaml.safe_dump_all(objects, sort_keys=False).encode()))


def observed(policies: Sequence[Json], requests: Sequence[Json], user: User | None = None) -> Coverage:
    files = read(policies)
    coverage = Coverage(files)
    for request in requests:
        asked = Asked() if user is None else Asked(user=user)
        (admission,) = Admitting(files, (), asked=asked).admit_all(read([request], "requests.yaml"))
        coverage.observe(admission.record)
    return coverage


def missing(policies: Sequence[Json], *requests: Json) -> list[str]:
    """What is missing, each as what, never, and the expression."""
    found = observed(policies, requests).report().missing
    return [f"{m.point.what}: {m.point.never}" + (f": {m.point.text}" if m.point.text else "") for m in found]


# ---------------------------------------------------------------- expressions

ADD = "JSONPatch{op: 'add', path: '/data/a', value: 'b'}"
LOW = {"expression": "object.data.level == 'low'"}


@pytest.mark.parametrize(
    ("policies", "requests", "told"),
    [
        (
            validating(LOW),
            [],
            [
                "rule: never let a request through",
                "validation 0: never true: object.data.level == 'low'",
                "validation 0: never false: object.data.level == 'low'",
            ],
        ),
        (validating(LOW), [config_map(level="low")], ["validation 0: never false: object.data.level == 'low'"]),
        (validating(LOW), [config_map(level="high")], ["validation 0: never true: object.data.level == 'low'"]),
        (validating(LOW), [config_map(level="low"), config_map(level="high")], []),
        # An expression that fails is neither true nor false.
        (
            validating(LOW),
            [config_map()],
            [
                "validation 0: never true: object.data.level == 'low'",
                "validation 0: never false: object.data.level == 'low'",
            ],
        ),
        (
            validating(LOW, matchConditions=[{"name": "c", "expression": "'on' in object.data"}]),
            [config_map(on="", level="low"), config_map(on="", level="high")],
            ["match condition c: never false: 'on' in object.data"],
        ),
        # A message counts when somebody reads it.
        (
            validating({**LOW, "messageExpression": "'no ' + object.data.level"}),
            [config_map(level="low")],
            ["validation 0: never false: object.data.level == 'low'", "message 0: never told: 'no ' + object.data.level"],
        ),
        (validating({**LOW, "messageExpression": "'no'"}), [config_map(level="low"), config_map(level="high")], []),
        (
            validating(
                {"expression": "true || false"},
                auditAnnotations=[{"key": "k", "valueExpression": "string(object.data.?x.orValue(''))"}],
            ),
            [config_map()],
            [
                "validation 0: never false: true || false",
                "validation 0: operand never decisive: false",
                "audit annotation k: never published: string(object.data.?x.orValue(''))",
            ],
        ),
        # A variable counts when an expression asks for it.
        (
            validating(
                {"expression": "object.data.level == 'low' || variables.v == 'x'"},
                variables=[{"name": "v", "expression": "object.data.?v.orValue('')"}],
            ),
            [config_map(level="low")],
            [
                "variable v: never evaluated: object.data.?v.orValue('')",
                "validation 0: never false: object.data.level == 'low' || variables.v == 'x'",
                'validation 0: operand never decisive: variables.v == "x"',
            ],
        ),
        # A mutation counts when it changes something.
        (
            mutating("[JSONPatch{op: 'add', path: '/data/a', value: 'b'}]"),
            [config_map(a="b")],
            ["mutation 0: never changed an object: [JSONPatch{op: 'add', path: '/data/a', value: 'b'}]"],
        ),
        (mutating("[JSONPatch{op: 'add', path: '/data/a', value: 'b'}]"), [config_map(a="c")], []),
        (
            mutating(f"'x' in object.data ? [{ADD}] : [JSONPatch{{op: 'remove', path: '/data/b'}}]"),
            [config_map(x="")],
            ['mutation 0: branch never taken: [JSONPatch{op: "remove", path: "/data/b"}]'],
        ),
    ],
)
def test_expressions_are_covered_by_what_they_came_to(policies: list[Json], requests: list[Json], told: list[str]) -> None:
    assert missing(policies, *requests) == told


def test_variables_are_seen_even_through_expressions_that_are_covered() -> None:
    policies = validating(
        {"expression": "variables.v == 'x'"},
        variables=[{"name": "v", "expression": "'u' in object.data ? 'x' : object.data.?z.orValue('')"}],
    )
    requests = [config_map(u=""), config_map(z="a"), config_map(u="")]
    assert missing(policies, *requests) == []
    assert missing(policies, config_map(z="x"), config_map(z="a"), config_map(u="")) == []


# ---------------------------------------------------------------- clauses


@pytest.mark.parametrize(
    ("match", "requests", "told"),
    [
        ({"resourceRules": [CONFIG_MAPS]}, [config_map()], ["rule: never kept a request out"]),
        (
            {"resourceRules": [CONFIG_MAPS]},
            [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "some"}}],
            ["rule: never let a request through"],
        ),
        (
            {"resourceRules": [CONFIG_MAPS]},
            [config_map(), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "some"}}],
            [],
        ),
        # What is about everything can keep nothing out.
        ({"resourceRules": [EVERYTHING]}, [config_map()], []),
        # Of several rules that fit, the first lets the request through.
        ({"resourceRules": [EVERYTHING, EVERYTHING]}, [config_map()], ["rule: never let a request through"]),
        (
            {"resourceRules": [EVERYTHING], "excludeResourceRules": [{**CONFIG_MAPS, "resourceNames": ["free"]}]},
            [config_map()],
            ["exclude rule: never kept a request out"],
        ),
        (
            {"resourceRules": [EVERYTHING], "excludeResourceRules": [{**CONFIG_MAPS, "resourceNames": ["free"]}]},
            [config_map(name="free"), config_map()],
            [],
        ),
        (
            {"resourceRules": [EVERYTHING], "objectSelector": {"matchLabels": {"a": "b"}}},
            [config_map()],
            ["rule: never let a request through", "object selector: never let a request through"],
        ),
        (
            {"resourceRules": [EVERYTHING], "objectSelector": {"matchLabels": {"a": "b"}}},
            [config_map(), config_map(labels={"a": "b"})],
            [],
        ),
        # Two that stand against a request: none of them decides.
        (
            {
                "resourceRules": [EVERYTHING],
                "objectSelector": {"matchLabels": {"a": "b"}},
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "prod"}},
            },
            [config_map(), config_map("prod", labels={"a": "b"})],
            ["namespace selector: never kept a request out", "object selector: never kept a request out"],
        ),
    ],
)
def test_a_clause_is_decisive_if_it_stands_alone_against_a_request(match: Json, requests: list[Json], told: list[str]) -> None:
    found = missing(validating(LOW, match=match), *requests)
    assert [line for line in found if not line.startswith("validation")] == told
    found = missing(validating(LOW, match={"resourceRules": [EVERYTHING]}, binding={"matchResources": match}), *requests)
    assert [line for line in found if not line.startswith("validation")] == told


def test_webhooks_have_clauses_and_conditions() -> None:
    policies = webhooks(rules=[CONFIG_MAPS], matchConditions=[{"name": "c", "expression": "'on' in object.data"}])
    assert missing(policies, config_map(a="b")) == [
        "rule: never kept a request out",
        "match condition c: never true: 'on' in object.data",
    ]


# ---------------------------------------------------------------- counts and reports


def report_of(coverage: Coverage, policies: Sequence[Json]) -> Report:
    total = Coverage(read(policies))
    total.add_counts(pickle.loads(pickle.dumps(coverage.counts())))
    return total.report()


def test_counts_of_several_processes_add_up() -> None:
    policies = validating(LOW)
    total = Coverage(read(policies))
    for level in ("low", "high"):
        counts = observed(policies, [config_map(level=level)]).counts()
        total.add_counts(pickle.loads(pickle.dumps(counts)))
    assert total.report().percent == 100.0


def test_a_report_is_the_same_from_counts() -> None:
    policies = validating(LOW)
    coverage = observed(policies, [config_map(level="low")])
    assert report_of(coverage, policies).as_json() == coverage.report().as_json()


def test_policies_that_nobody_asked_about_do_not_count() -> None:
    coverage = Coverage([])
    (admission,) = Admitting(read(validating(LOW)), (), asked=Asked()).admit_all(read([config_map(level="low")]))
    coverage.observe(admission.record)
    assert (coverage.counts(), coverage.report().percent) == ({}, 100.0)


def test_what_is_missing_is_told_with_its_place() -> None:
    policies = validating({"expression": "object.data.level == 'low' || object.data.level == 'none'"})
    report = observed(policies, [config_map(level="low")]).report()
    assert report.lines() == [
        "ValidatingAdmissionPolicy p: 60.0% (3 of 5)",
        "  policies.yaml:17:17: validation 0: never false: object.data.level == 'low' || object.data.level == 'none'",
        '  policies.yaml:17:47: validation 0: operand never decisive: object.data.level == "none"',
        "policy coverage: 60.0% (3 of 5)",
    ]


def test_a_report_as_json_has_the_places_as_numbers() -> None:
    made = observed(validating(LOW), [config_map(level="low")]).report().as_json()
    assert json.loads(json.dumps(made)) == {
        "percent": 66.7,
        "met": 2,
        "points": 3,
        "policies": [
            {
                "kind": "ValidatingAdmissionPolicy",
                "name": "p",
                "file": "policies.yaml",
                "line": 1,
                "percent": 66.7,
                "met": 2,
                "points": 3,
                "missing": [
                    {
                        "file": "policies.yaml",
                        "line": 17,
                        "column": 17,
                        "field": "spec.validations[0].expression",
                        "what": "validation 0",
                        "never": "never false",
                        "expression": "object.data.level == 'low'",
                    }
                ],
            }
        ],
    }


def test_nearly_all_is_not_all() -> None:
    validations = [{"expression": f"object.data.level == 'low' && {n} > 0"} for n in range(1, 30)]
    report = observed(validating(*validations), [config_map(level="low"), config_map(level="high")]).report()
    assert report.missing
    assert report.percent < 100


@pytest.mark.parametrize(
    "other", [validating({"expression": "object.data.level == 'high'"}), validating(LOW, match={"resourceRules": []})]
)
def test_a_policy_of_the_same_name_that_says_something_else_does_not_count(other: list[Json]) -> None:
    coverage = Coverage(read(other, "other.yaml"))
    (admission,) = Admitting(read(validating(LOW)), (), asked=Asked()).admit_all(read([config_map(level="low")]))
    coverage.observe(admission.record)
    assert coverage.counts() == {}


def test_policies_of_one_name_in_two_files_are_two() -> None:
    files = [read(validating({"expression": f"object.data.level == '{level}'"}), f"{level}.yaml") for level in ("low", "high")]
    coverage = Coverage([*files[0], *files[1]])
    (admission,) = Admitting(files[1], (), asked=Asked()).admit_all(read([config_map(level="low")]))
    coverage.observe(admission.record)
    assert [str(c) for c in coverage.report().covered] == [
        "ValidatingAdmissionPolicy p: 0.0% (0 of 3)",
        "ValidatingAdmissionPolicy p: 66.7% (2 of 3)",
    ]


def test_many_clusters_with_the_same_policy_have_one_watch() -> None:
    coverage = observed(validating(LOW), [config_map(level="low")] * 3)
    assert len(coverage._watches) == 1
