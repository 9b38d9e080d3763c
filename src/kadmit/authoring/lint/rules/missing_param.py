"""KA607: params that are bound and not there."""

from collections.abc import Iterator

from kadmit.authoring.lint.project import Binding, Policy, Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding
from kadmit.authoring.manifests import Manifest
from kadmit.matching.selectors import compile_selector

RULE = Rule(
    code="KA607",
    title="params that a binding names are not among the files",
    severity=Severity.WARNING,
    explanation="""\
With parameterNotFoundAction Deny, missing params make the server refuse every request that the binding matches; with
Allow the policy is skipped without a word. A paramRef without a namespace means the namespace of the request. Where
the params are kept elsewhere, give their file, too.""",
    fix="create the params, or give their file, too",
    bad="""\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few-containers}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations:
  - expression: object.spec.containers.size() <= int(params.data.most)
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: everywhere}
spec:
  policyName: few-containers
  validationActions: [Deny]
  paramRef: {name: limit, namespace: policies, parameterNotFoundAction: Deny}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: limits, namespace: policies}
data: {most: "10"}
""",
    good="""\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few-containers}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations:
  - expression: object.spec.containers.size() <= int(params.data.most)
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: everywhere}
spec:
  policyName: few-containers
  validationActions: [Deny]
  paramRef: {name: limits, namespace: policies, parameterNotFoundAction: Deny}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: limits, namespace: policies}
data: {most: "10"}
""",
)


def find(project: Project) -> Iterator[Finding]:
    for binding in project.bindings:
        policy = project.policy_of(binding)
        if policy is not None and policy.param_kind is not None and binding.spec.get("paramRef") is not None:
            yield from _in_binding(project, policy, binding)


def _in_binding(project: Project, policy: Policy, binding: Binding) -> Iterator[Finding]:
    kind, ref = policy.param_kind, binding.spec["paramRef"]
    assert kind is not None
    namespace, name, selector = ref.get("namespace") or "", ref.get("name") or "", ref.get("selector")
    there = [m for m in project.objects(kind) if not namespace or _namespace(project, m) == namespace]
    where = f" in the namespace {namespace}" if namespace else ""
    refused = "every request that matches is refused" if ref.get("parameterNotFoundAction") == "Deny" else "the policy is skipped"
    if name and not any(m.name == name for m in there):
        text = f'there is no {kind.kind} "{name}"{where} among the files: without it {refused}'
        yield finding(RULE, binding.manifest, "spec.paramRef.name", text)
    elif selector is not None and not any(compile_selector(selector).matches(_labels(m)) for m in there):
        text = f"the selector selects no {kind.kind}{where} of the files: without one {refused}"
        yield finding(RULE, binding.manifest, "spec.paramRef.selector", text)


def _namespace(project: Project, manifest: Manifest) -> str:
    return str(manifest.metadata.get("namespace") or "default")


def _labels(manifest: Manifest) -> dict[str, str]:
    found: dict[str, str] = manifest.metadata.get("labels") or {}
    return found
