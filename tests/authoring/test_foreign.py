"""Suites of Kyverno and Gatekeeper: run where they are about Kubernetes' own policies, named one by one where they are not."""

# ruff: noqa: E501  a case is one line of a table, however long

import json
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.authoring.suites import SETTINGS, VALIDATING, Texts

from kadmit.authoring.foreign import gatekeeper, kyverno
from kadmit.authoring.manifests import File
from kadmit.authoring.suite import running
from kadmit.authoring.suite.model import BadSuite, Suite
from kadmit.authoring.suite.running import FAILED, PASSED, SKIPPED, UNABLE, Judge, Judged, Wish

Reader: TypeAlias = Callable[[File, Texts], list[Suite]]


def judged(suites: list[Suite]) -> dict[str, Judged]:
    judge = Judge(Wish(), lambda: 0.0)
    return {planned.case.name: judge.judge(planned) for planned in running.plan(suites)}


# ---------------------------------------------------------------- Kyverno

MUTATING = """
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: labels}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {tier: front}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  reinvocationPolicy: Never
  mutations:
  - patchType: JSONPatch
    jsonPatch: {expression: '[JSONPatch{op: "add", path: "/metadata/labels", value: {"who": request.userInfo.username}}]'}
"""
NEEDS_PARAMS = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: limits}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}]
  validations: [{expression: "object == null || object.data.level == params.data.level"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: limits}
spec: {policyName: limits, validationActions: [Audit], paramRef: {name: limit, namespace: shop, parameterNotFoundAction: Deny}}
"""
ODD = SETTINGS.replace("settings", "odd").replace("low", "odd")
EMPTY = SETTINGS.replace("settings", "empty").replace("data: {level: low}", "")
FILES = {
    "t/levels.yaml": VALIDATING,
    "t/labels.yaml": MUTATING,
    "t/limits.yaml": NEEDS_PARAMS,
    "t/own.yaml": "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: own}}",
    "t/limit.yaml": SETTINGS.replace("settings", "limit"),
    "t/objects.yaml": "---\n".join([SETTINGS, ODD, EMPTY]),
    "t/patched.yaml": SETTINGS.replace("metadata: {", "metadata: {labels: {who: alice}, "),
    "t/user.yaml": "{kind: UserInfo, userInfo: {username: alice, groups: [dev]}}",
    "t/values.yaml": "{kind: Values, namespaceSelector: [{name: shop, labels: {tier: front}}]}",
    "t/invalid.yaml": VALIDATING.replace("levels", "invalid").replace("validationActions: [Deny]", "validationActions: []"),
}
TEST = """
apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {{name: t}}
policies: [levels.yaml, labels.yaml, limits.yaml, own.yaml, invalid.yaml]
resources: [objects.yaml]
paramResources: [limit.yaml]
variables: values.yaml
userinfo: user.yaml
results:
- {result}
"""


def of_kyverno(result: str, files: Mapping[str, str] = FILES) -> dict[str, Judged]:
    text = TEST.format(result=result)
    return judged(kyverno.read(File("t/kyverno-test.yaml", text.encode()), Texts(files)))


@pytest.mark.parametrize(
    ("result", "verdicts"),
    [
        ("{policy: levels, kind: ConfigMap, resources: [settings], result: pass}", {"levels: ConfigMap/settings pass": PASSED}),
        ("{policy: levels, kind: ConfigMap, resources: [shop/odd], result: fail}", {"levels: ConfigMap/odd fail": PASSED}),
        ("{policy: levels, kind: ConfigMap, resources: [empty], result: skip}", {"levels: ConfigMap/empty skip": PASSED}),
        ("{policy: levels, kind: ConfigMap, resources: [settings, odd], result: pass}",
         {"levels: ConfigMap/settings pass": PASSED, "levels: ConfigMap/odd pass": FAILED}),
        ("{policy: levels, kind: ConfigMap, resources: [empty], result: pass}", {"levels: ConfigMap/empty pass": FAILED}),
        ("{policy: levels, kind: ConfigMap, operation: DELETE, resources: [odd], result: skip}", {"levels: ConfigMap/odd skip": PASSED}),
        ("{policy: levels, kind: ConfigMap, resourceSpecs: [{name: odd, version: v1}], result: fail}", {"levels: ConfigMap/odd fail": PASSED}),
        ("{policy: labels, kind: ConfigMap, resources: [settings], patchedResources: patched.yaml, result: pass}",
         {"labels: ConfigMap/settings pass": PASSED}),
        ("{policy: labels, kind: ConfigMap, resources: [settings], patchedResources: objects.yaml, result: pass}",
         {"labels: ConfigMap/settings pass": FAILED}),
        ("{policy: limits, kind: ConfigMap, resources: [settings], operation: UPDATE, result: pass}",
         {"limits: ConfigMap/settings pass": PASSED}),
        ("{policy: limits, kind: ConfigMap, resources: [odd], result: fail}", {"limits: ConfigMap/odd fail": PASSED}),
    ],
)  # fmt: skip
def test_a_result_of_kyverno_is_held_against_the_policy_alone(result: str, verdicts: dict[str, str]) -> None:
    assert {name: j.verdict for name, j in of_kyverno(result).items()} == verdicts


def test_without_resources_a_result_is_about_all_of_its_kind() -> None:
    found = of_kyverno("{policy: levels, kind: ConfigMap, result: pass}")
    assert [j.verdict for j in found.values()] == [PASSED, FAILED, FAILED]


@pytest.mark.parametrize(
    ("result", "why"),
    [
        ("{policy: own, kind: Pod, result: pass}", "own is a ClusterPolicy of kyverno.io, not one of Kubernetes' own policies"),
        ("{policy: none, kind: Pod, result: pass}", 'no file has a policy "none"'),
        ("{policy: levels, kind: Pod, resources: [p], result: pass}", "no resource is a Pod named p"),
        ("{policy: levels, kind: ConfigMap, resources: [odd], result: warn}", "result: warn is not pass, fail or skip"),
        ("{policy: labels, kind: ConfigMap, resources: [odd], patchedResources: patched.yaml, result: pass}",
         "patchedResources: patched.yaml does not hold this object"),
        ("{policy: invalid, kind: ConfigMap, resources: [odd], result: pass}", "t/invalid.yaml:"),
    ],
)  # fmt: skip
def test_what_cannot_be_expressed_is_named_and_does_not_pass(result: str, why: str) -> None:
    (found,) = of_kyverno(result).values()
    assert found.verdict == UNABLE
    assert found.detail.startswith(why)


def test_a_file_that_is_missing_makes_every_result_inexpressible() -> None:
    files = {path: text for path, text in FILES.items() if path != "t/objects.yaml"}
    (found,) = of_kyverno("{policy: levels, kind: ConfigMap, resources: [odd], result: fail}", files).values()
    assert (found.verdict, found.detail) == (UNABLE, "resources: t/objects.yaml is not there")


@pytest.mark.parametrize("text", ["", "{kind: Test}", "a: [", "[]"])
def test_a_file_without_a_test_is_bad(text: str) -> None:
    with pytest.raises(BadSuite):
        kyverno.read(File("kyverno-test.yaml", text.encode()), Texts({}))


# ---------------------------------------------------------------- Gatekeeper

TEMPLATE = """
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: levels}
spec:
  crd: {spec: {names: {kind: Levels}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    code:
    - engine: K8sNativeValidation
      source:
        variables: [{name: level, expression: "variables.anyObject.data.?level.orValue('none')"}]
        validations:
        - {expression: "variables.level in variables.params.levels", messageExpression: "'no level ' + variables.level"}
        - {expression: "variables.level != 'worst'", message: worst of all}
"""
REGO = TEMPLATE.replace("K8sNativeValidation", "Rego")
CONSTRAINT = """
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: Levels
metadata: {name: low-only}
spec:
  match: {kinds: [{apiGroups: [""], kinds: [ConfigMap]}], excludedNamespaces: [kube-*]}
  parameters: {levels: [low]}
"""
REVIEW = """
kind: AdmissionReview
apiVersion: admission.k8s.io/v1
request:
  operation: DELETE
  userInfo: {username: alice}
  oldObject: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}, data: {level: odd}}
"""
GATE = {
    "g/template.yaml": TEMPLATE,
    "g/rego.yaml": REGO,
    "g/constraint.yaml": CONSTRAINT,
    "g/expanding.yaml": CONSTRAINT.replace("match: {", "match: {source: Generated, "),
    "g/grouped.yaml": CONSTRAINT.replace('apiGroups: [""]', "apiGroups: 5"),
    "g/spaced.yaml": CONSTRAINT.replace("[kube-*]", "kube-*"),
    "g/low.yaml": SETTINGS,
    "g/odd.yaml": ODD,
    "g/worst.yaml": SETTINGS.replace("low", "worst"),
    "g/system.yaml": ODD.replace("shop", "kube-system"),
    "g/secret.yaml": "{apiVersion: v1, kind: Secret, metadata: {name: s}}",
    "g/review.yaml": REVIEW,
    "g/two.yaml": f"{SETTINGS}---{ODD}",
}


def of_gatekeeper(test: str) -> dict[str, Judged]:
    text = f"kind: Suite\napiVersion: test.gatekeeper.sh/v1alpha1\ntests:\n- {test}\n"
    return judged(gatekeeper.read(File("g/suite.yaml", text.encode()), Texts(GATE)))


def of_case(case: str, test: str = "template: template.yaml, constraint: constraint.yaml") -> Judged:
    (found,) = of_gatekeeper(f"{{name: t, {test}, cases: [{{name: c, {case}}}]}}").values()
    return found


@pytest.mark.parametrize(
    "case",
    [
        "object: low.yaml",
        "object: low.yaml, assertions: [{violations: no}]",
        "object: odd.yaml, assertions: [{violations: yes}]",
        "object: odd.yaml, assertions: [{violations: 1, message: ^no level odd$}, {violations: no, message: worst}]",
        "object: worst.yaml, assertions: [{violations: 2}, {violations: 1, message: worst of}]",
        "object: odd.yaml, assertions: [{message: level}]",
        "object: system.yaml, assertions: [{violations: no}]",
        "object: secret.yaml, assertions: [{violations: 0}]",
        "object: review.yaml, assertions: [{violations: 1}]",
    ],
)
def test_assertions_of_gatekeeper_that_hold(case: str) -> None:
    assert of_case(case) == Judged(PASSED)


@pytest.mark.parametrize(
    ("case", "told"),
    [
        ("object: odd.yaml", "expected no violation, found 1: no level odd"),
        ("object: low.yaml, assertions: [{violations: yes}]", "expected at least one violation, found 0: none"),
        ("object: odd.yaml, assertions: [{violations: 2, message: level}]",
         "expected 2 violations whose message matches level, found 1: no level odd"),
    ],
)  # fmt: skip
def test_assertions_of_gatekeeper_that_do_not_hold(case: str, told: str) -> None:
    found = of_case(case)
    assert (found.verdict, found.faults[0].message) == (FAILED, told)


@pytest.mark.parametrize(
    ("test", "case", "why"),
    [
        ("template: rego.yaml, constraint: constraint.yaml", "object: low.yaml", "template: has Rego only"),
        ("template: none.yaml, constraint: constraint.yaml", "object: low.yaml", "template: g/none.yaml: No such file or directory"),
        ("template: template.yaml, constraint: low.yaml", "object: low.yaml", "constraint: is a ConfigMap, the template makes Levels"),
        ("template: template.yaml, constraint: expanding.yaml", "object: low.yaml", "constraint: match.source is for Gatekeeper alone"),
        ("template: template.yaml, constraint: grouped.yaml", "object: low.yaml",
         "constraint: match: apiGroups must be a list of texts"),
        ("template: template.yaml, constraint: spaced.yaml", "object: low.yaml",
         "constraint: match: excludedNamespaces must be a list of texts"),
        ("template: template.yaml, constraint: constraint.yaml, expansion: e.yaml", "object: low.yaml",
         "expansion: objects that Gatekeeper would expand"),
        ("template: template.yaml, constraint: constraint.yaml", "object: low.yaml, inventory: [i.yaml]", "inventory: CEL sees no other objects"),
        ("template: template.yaml, constraint: constraint.yaml", "object: two.yaml", "object: g/two.yaml holds 2 objects"),
        ("template: template.yaml, constraint: constraint.yaml", "object: low.yaml, assertions: [{violations: maybe}]",
         "assertions: violations must be yes, no or a number, is maybe"),
        ("template: template.yaml, constraint: constraint.yaml", "object: low.yaml, assertions: [{message: (}]", "assertions: error parsing regexp"),
    ],
)  # fmt: skip
def test_what_only_gatekeeper_can_do_is_named(test: str, case: str, why: str) -> None:
    found = of_case(case, test)
    assert found.verdict == UNABLE
    assert found.detail.startswith(why)


def test_what_its_author_skips_is_skipped_and_told() -> None:
    assert of_case("object: none.yaml, skip: true") == Judged(SKIPPED, detail="its suite says skip")


def test_an_invalid_constraint_is_not_expressible() -> None:
    found = of_gatekeeper("{name: t, template: template.yaml, constraint: constraint.yaml, invalid: true}")
    assert found == {"t": Judged(UNABLE, detail="a constraint that is invalid")}


def test_a_suite_without_cases_is_bad() -> None:
    with pytest.raises(BadSuite):
        gatekeeper.read(
            File("suite.yaml", textwrap.dedent("kind: Suite\napiVersion: test.gatekeeper.sh/v1alpha1\n").encode()), Texts({})
        )


# ---------------------------------------------------------------- anything

KEYS = ["policies", "resources", "results", "policy", "kind", "result", "variables", "values", "userinfo", "namespaceSelector", "resourceSpecs",
        "tests", "template", "constraint", "cases", "object", "assertions", "violations", "message", "name", "patchedResources"]  # fmt: skip
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-1, 3)
    | st.sampled_from([*FILES, *GATE, "levels", "template.yaml", "low.yaml", "pass", "ConfigMap"])
)
ANYTHING = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5), max_leaves=25
)


@given(st.dictionaries(st.sampled_from(KEYS), ANYTHING))
@pytest.mark.parametrize("reader", [kyverno.read, gatekeeper.read])
def test_whatever_stands_in_a_file_is_judged_or_named(reader: Reader, raw: dict[str, Any]) -> None:
    kind = {"kind": "Test"} if reader is kyverno.read else {"kind": "Suite", "apiVersion": "test.gatekeeper.sh/v1alpha1"}
    file = File("g/anything.yaml", json.dumps({**raw, **kind}).encode())
    try:
        read = reader(file, Texts({**GATE, "g/levels": VALIDATING}))
    except BadSuite:
        return
    assert not [j for j in judged(read).values() if "internal error" in j.detail]
