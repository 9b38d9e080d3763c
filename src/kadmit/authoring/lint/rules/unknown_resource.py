"""KA609: a rule that names a resource that its groups do not have."""

from collections.abc import Iterator, Sequence
from typing import Any

from kadmit.authoring.lint.project import Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding
from kadmit.authoring.lint.spelling import nearest
from kadmit.authoring.manifests import Manifest
from kadmit.kinds.catalog import Resource

RULE = Rule(
    code="KA609",
    title="rule names a resource that does not exist",
    severity=Severity.WARNING,
    explanation="""\
Rules name resources by their plural, in lower case, in a group and a version. A rule for `pod` or `Pods`, for
`deployments` in the core group or for `v1beta1` of a group that has only v1, never matches. Only groups that are
built in, or defined among the files, are looked at.""",
    fix="write group, version and plural as `kubectl api-resources` lists them",
    bad="""\
matchConstraints:
  resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
validations:
- expression: object.metadata.name != 'default'
""",
    good="""\
matchConstraints:
  resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
validations:
- expression: object.metadata.name != 'default'
""",
)


def find(project: Project) -> Iterator[Finding]:
    for policy in project.policies:
        for part in ("resourceRules", "excludeResourceRules"):
            rules = policy.constraints.get(part) or ()
            yield from _in_rules(project, policy.manifest, f"spec.matchConstraints.{part}", rules)
    for binding in project.bindings:
        rules = (binding.spec.get("matchResources") or {}).get("resourceRules") or ()
        yield from _in_rules(project, binding.manifest, "spec.matchResources.resourceRules", rules)
    for webhook in project.webhooks:
        yield from _in_rules(project, webhook.manifest, f"{webhook.field}.rules", webhook.rules)


def _in_rules(project: Project, manifest: Manifest, at: str, rules: Sequence[dict[str, Any]]) -> Iterator[Finding]:
    for i, rule in enumerate(rules):
        groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
        near = _near(project, groups, versions)
        if near is None:
            continue
        for j, name in enumerate(rule.get("resources") or ()):
            fix = _fix(project, name, near, groups)
            if fix is not None:
                where = "the core group" if list(groups) == [""] else " or ".join(group or "the core group" for group in groups)
                text = f"there is no resource '{name}' of version {' or '.join(versions)} in {where}: the rule never matches it"
                yield finding(RULE, manifest, f"{at}[{i}].resources[{j}]", text, fix=fix)


def _near(project: Project, groups: Sequence[str], versions: Sequence[str]) -> list[Resource] | None:
    """The resources of these groups and versions; None if not all of the groups are known."""
    known = project.known.builtin_groups | {resource.group for resource in project.known.catalog}
    if not groups or any(group == "*" or group not in known for group in groups):
        return None
    return [r for r in project.known.catalog if r.group in groups and ("*" in versions or r.version in versions)]


def _fix(project: Project, name: str, near: Sequence[Resource], groups: Sequence[str]) -> str | None:
    """What to write instead; None if there is such a resource."""
    plural, _, part = name.partition("/")
    found = [r for r in near if plural in ("*", r.plural)]
    if found and (not part or part == "*" or plural == "*" or any(r.subresource(part) for r in found)):
        return None
    if found:
        parts = sorted({sub.name for r in found for sub in r.subresources})
        return f"the parts of {plural} are {', '.join(parts)}" if parts else f"{plural} has no parts"
    elsewhere = [r for r in project.known.catalog if r.plural == plural]
    if elsewhere:
        one = elsewhere[0]
        group = one.group or '""'
        return f"{plural} is in apiGroups: [{group}], apiVersions: [{one.version}]"
    close = nearest(plural, (r.plural for r in near)) or next((r.plural for r in near if plural.lower() in _names(r)), "")
    return f"did you mean '{close}'?" if close else RULE.fix


def _names(resource: Resource) -> tuple[str, ...]:
    return (resource.kind.lower(), resource.singular, *resource.short_names)
