"""KA302: mutations whose order decides what comes out."""

import itertools
from collections.abc import Iterator

from kadmit.api.meta import GroupVersionKind
from kadmit.authoring.lint.project import Policy, Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding
from kadmit.authoring.lint.trials import Sample, Trials, changes, difference, overlap

RULE = Rule(
    code="KA302",
    title="mutating policies fight over a field",
    severity=Severity.WARNING,
    explanation="""\
kube-apiserver runs mutating policies in no particular order, and in another one after the next change. Where two
policies set one field to different values, the last one wins, and which that is changes. It is found by running each
two policies that match the same sample object in both orders. The order of items in a list does not count.""",
    fix="let one policy own the field, let one leave alone what is set already, or give them conditions that exclude each other",
    bad="""\
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: fast-shutdown}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  failurePolicy: Fail
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{spec: Object.spec{terminationGracePeriodSeconds: 5}}'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: slow-shutdown}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  failurePolicy: Fail
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{spec: Object.spec{terminationGracePeriodSeconds: 120}}'}
""",
    good="""\
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: fast-shutdown}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
    objectSelector: {matchExpressions: [{key: shutdown, operator: NotIn, values: [slow]}]}
  failurePolicy: Fail
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{spec: Object.spec{terminationGracePeriodSeconds: 5}}'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: slow-shutdown}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
    objectSelector: {matchLabels: {shutdown: slow}}
  failurePolicy: Fail
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{spec: Object.spec{terminationGracePeriodSeconds: 120}}'}
""",
)

MOST_PAIRS = 5_000


def find(project: Project) -> Iterator[Finding]:
    mutating = [p for p in project.policies if p.mutating]
    if len(mutating) < 2:
        return
    trials = project.trials
    for one, other in itertools.islice(itertools.combinations(mutating, 2), MOST_PAIRS):
        shared = [kind for kind in one.kinds if kind in other.kinds]
        found = _fight(trials, one, other, shared) if one.operations & other.operations else None
        if found is not None:
            yield found


def _fight(trials: Trials, one: Policy, other: Policy, kinds: list[GroupVersionKind]) -> Finding | None:
    for kind in kinds:
        for sample in trials.samples(kind):
            changed = _changed(trials, one, other, kind, sample)
            if changed:
                place = one.manifest.place("metadata.name")
                text = f'the policy "{one.name}" ({place}) sets {changed}, too: which of the two wins depends on their order'
                return finding(RULE, other.manifest, "spec.mutations", f"{text} (tried on {sample.text})")
    return None


def _changed(trials: Trials, one: Policy, other: Policy, kind: GroupVersionKind, sample: Sample) -> str:
    """What comes out differently in the other order."""
    first, second = trials.once(one, kind, sample), trials.once(other, kind, sample)
    if first is None or second is None:
        return ""
    if not overlap(set(changes(sample.value, first)), set(changes(sample.value, second))):
        return ""
    then = trials.run(other, kind, first) if trials.applies(other, kind, first) else first
    vice_versa = trials.run(one, kind, second) if trials.applies(one, kind, second) else second
    return "" if then is None or vice_versa is None else difference(then, vice_versa)
