"""KA301: a mutation that changes its own result when it runs again."""

from collections.abc import Iterator

from kadmit.authoring.lint.project import Policy, Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding
from kadmit.authoring.lint.trials import Trials, difference

RULE = Rule(
    code="KA301",
    title="mutation is not idempotent",
    severity=Severity.WARNING,
    explanation="""\
A policy with reinvocationPolicy IfNeeded runs twice on every request, and one that matches UPDATE runs again whenever
the object is written: a mutation that appends appends again. It is found by running the policy on sample objects
(those of the files, and made-up ones) and once more on the result. Not told of policies that run only once, on CREATE
with reinvocationPolicy Never.""",
    fix="ask first whether the change has been made, in a match condition or in the expression",
    bad="""\
reinvocationPolicy: IfNeeded
mutations:
- patchType: JSONPatch
  jsonPatch:
    expression: '[JSONPatch{op: "add", path: "/spec/containers/-", value: Object.spec.containers{name: "log", image: "log:1"}}]'
""",
    good="""\
reinvocationPolicy: IfNeeded
matchConditions:
- name: has-none-yet
  expression: '!object.spec.containers.exists(c, c.name == "log")'
mutations:
- patchType: JSONPatch
  jsonPatch:
    expression: '[JSONPatch{op: "add", path: "/spec/containers/-", value: Object.spec.containers{name: "log", image: "log:1"}}]'
""",
)


def find(project: Project) -> Iterator[Finding]:
    listed = [p for p in project.policies if p.mutating and _runs_again(p)]
    trials = project.trials
    for policy in listed:
        yield from _in_policy(trials, policy)


def _runs_again(policy: Policy) -> bool:
    return policy.spec.get("reinvocationPolicy") == "IfNeeded" or "UPDATE" in policy.operations


def _in_policy(trials: Trials, policy: Policy) -> Iterator[Finding]:
    for kind in policy.kinds:
        for sample in trials.samples(kind):
            once = trials.run(policy, kind, sample.value)
            if once is None or not trials.applies(policy, kind, once):
                continue
            twice = trials.run(policy, kind, once)
            changed = difference(once, twice) if twice is not None else ""
            if changed:
                yield _finding(policy, changed, sample.text)
                return


def _finding(policy: Policy, changed: str, on: str) -> Finding:
    often = "always runs twice (reinvocationPolicy: IfNeeded)"
    if policy.spec.get("reinvocationPolicy") != "IfNeeded":
        often = "runs again on every UPDATE"
    text = f"the policy {often}, and its second run, on its own result, changes {changed} again (tried on {on})"
    return finding(RULE, policy.manifest, "spec.mutations", text)
