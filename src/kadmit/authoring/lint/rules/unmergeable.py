"""KA110: an apply configuration for what cannot be merged."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kadmit.authoring.lint.project import Project, Role
from kadmit.authoring.lint.rule import Finding, Rule, Severity

RULE = Rule(
    code="KA110",
    title="apply configuration for a kind that has no merge schema",
    severity=Severity.ERROR,
    explanation="""\
Kinds that are only sent to a part of a resource, such as Scale, Eviction and Binding, have no schema to merge by: an
apply configuration for them always fails with `no corresponding type`. A JSON patch works.""",
    fix="use patchType: JSONPatch",
    bad="""\
matchConstraints:
  resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments/scale]}]
mutations:
- patchType: ApplyConfiguration
  applyConfiguration:
    expression: 'Object{spec: Object.spec{replicas: object.spec.replicas > 10 ? 10 : object.spec.replicas}}'
""",
    good="""\
matchConstraints:
  resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments/scale]}]
mutations:
- patchType: JSONPatch
  jsonPatch:
    expression: 'object.spec.replicas > 10 ? [JSONPatch{op: "replace", path: "/spec/replicas", value: 10}] : []'
""",
)


def find(project: Project) -> Iterator[Finding]:
    for policy in project.policies:
        parts = sorted(set(_parts(project, policy.constraints.get("resourceRules") or ())))
        for expression in policy.mutations:
            if parts and expression.role is Role.APPLY:
                name, kind = parts[0]
                text = f"the rules match {name}, whose objects are of kind {kind}: an apply configuration of them always fails"
                yield expression.finding(RULE, None, text)


def _parts(project: Project, rules: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Parts of resources that are named, and are of kinds that are nothing else."""
    for rule in rules:
        groups = rule.get("apiGroups") or ()
        for name in rule.get("resources") or ():
            plural, _, part = name.partition("/")
            for resource in project.known.catalog:
                found = resource.subresource(part) if part and resource.plural == plural else None
                if found is not None and resource.group in groups and project.known.catalog.kind(*found.gvk) is None:
                    yield name, found.kind
