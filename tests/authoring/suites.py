"""Suites for tests: files that exist only as texts, and short ways from a text to results."""

import fnmatch
import textwrap
from collections.abc import Mapping, Sequence

from kadmit.authoring import manifests
from kadmit.authoring.manifests import File, Manifest, Unreadable
from kadmit.authoring.suite import reading, running
from kadmit.authoring.suite.model import Suite
from kadmit.authoring.suite.running import Judge, Judged, Planned, Wish

PATH = "suites/kadmit-test.yaml"

MUTATING = """
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: labels}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  matchConditions: [{name: wanted, expression: "object.data.?label.hasValue()"}]
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"label": object.data.label}}}'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: labels}
spec: {policyName: labels}
"""
VALIDATING = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: levels}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps, pods/exec, pods/eviction]}]
  matchConditions: [{name: has-data, expression: "object != null && has(object.data)"}]
  validations:
  - {expression: "object.data.?level.orValue('low') in ['low', 'high']", message: no such level}
  auditAnnotations: [{key: level, valueExpression: "string(object.data.?level.orValue('none'))"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: levels}
spec: {policyName: levels, validationActions: [Deny]}
"""
WEBHOOKS = """
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: hooks}
webhooks:
- name: change.example.com
  clientConfig: {url: "https://hooks.example/change"}
  admissionReviewVersions: [v1]
  sideEffects: None
  timeoutSeconds: 3
  rules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hooks}
webhooks:
- name: judge.example.com
  clientConfig: {service: {name: judge, namespace: hooks, path: /judge}}
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  rules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}]
"""
SETTINGS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {level: low}
"""
FILES = {
    "suites/mutating.yaml": MUTATING,
    "suites/validating.yaml": VALIDATING,
    "suites/webhooks.yaml": WEBHOOKS,
    "suites/settings.yaml": SETTINGS,
}


class Texts:
    """Files by path; what suites ask of a disk."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def manifests(self, path: str) -> Sequence[Manifest]:
        if path not in self._texts:
            raise Unreadable(f"{path}: No such file or directory")
        return manifests.read(File(path, self._texts[path].encode()))

    def found(self, pattern: str) -> Sequence[str]:
        return sorted(p for p in self._texts if fnmatch.fnmatchcase(p, pattern))

    def text(self, path: str) -> str | None:
        return self._texts.get(path)


def read(text: str, files: Mapping[str, str] = FILES) -> Suite:
    return reading.read(File(PATH, textwrap.dedent(text).encode()), Texts(files))


def judged(suite: Suite, wish: Wish = Wish()) -> dict[str, Judged]:  # noqa: B008  # a frozen value
    """What came of each case, by name."""
    judge = Judge(wish, lambda: 0.0)
    return {planned.case.name: judge.judge(planned) for planned in running.plan([suite])}


def faults(text: str, files: Mapping[str, str] = FILES) -> dict[str, list[str]]:
    """What is not as expected, by case; errors too."""
    found = judged(read(text, files))
    return {name: [*([j.detail] if j.detail else []), *(f"{f.what}: {f.message}" for f in j.faults)] for name, j in found.items()}


def planned(text: str, files: Mapping[str, str] = FILES) -> list[Planned]:
    return running.plan([read(text, files)])
