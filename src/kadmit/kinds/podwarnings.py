"""What Kubernetes warns of in pods, and in all that makes pods: what is deprecated, without effect, or hardly meant.

Warnings refuse nothing. A pod is warned of when it is created, a workload also when it is changed, unless only its status is.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api.fields import Path
from kadmit.api.gojson import quoted
from kadmit.api.meta import GroupVersionKind
from kadmit.cel.library import names
from kadmit.kinds import containerwarnings, pathoverlaps, soundnames
from kadmit.kinds.containerwarnings import SECCOMP_WORDS, fraction
from kadmit.kinds.rules import addresses

Object: TypeAlias = Mapping[str, Any]

_ROOT = Path()
_IN_HOSTNAME = "this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended"
_IN_NAMES = "this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended"

_TEMPLATES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("", "PodTemplate"): ("template",),
    ("", "ReplicationController"): ("spec", "template"),
    ("apps", "DaemonSet"): ("spec", "template"),
    ("apps", "Deployment"): ("spec", "template"),
    ("apps", "ReplicaSet"): ("spec", "template"),
    ("apps", "StatefulSet"): ("spec", "template"),
    ("batch", "Job"): ("spec", "template"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
}
_NAMED = frozenset(("ReplicationController", "Deployment", "ReplicaSet", "Job", "CronJob"))


def warnings(kind: GroupVersionKind, new: Object, old: Object | None = None) -> list[str]:
    """In Kubernetes' order; without `old`, of a new object."""
    if (kind.group, kind.kind) == ("", "Pod"):
        return [] if old is not None or is_quiet(new) else of_pod(new)
    steps = _TEMPLATES.get((kind.group, kind.kind))
    return [] if steps is None else [*_workload(kind.kind, steps, new, old)]


def of_pod(pod: Object) -> list[str]:
    return [*_name(pod, _IN_HOSTNAME), *_pod(pod, _ROOT)]


def is_quiet(pod: Object) -> bool:
    """A quick look: whether there is certainly nothing to warn of. It may be too careful, never too generous."""
    meta, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    if meta.get("annotations") or not spec.keys() <= _QUIET or not soundnames.is_label(meta.get("name") or ""):
        return False
    for volume in spec.get("volumes") or ():
        for member, source in volume.items():
            if member not in _QUIET_IN_VOLUMES and (member not in _LISTING or source is None or "items" in source):
                return False
    return (spec.get("terminationGracePeriodSeconds") or 0) >= 0 and containerwarnings.are_ordinary(spec)


# Members of specs and volumes that no warning is about, or that are looked at by themselves.
_QUIET = frozenset(
    ("activeDeadlineSeconds", "automountServiceAccountToken", "containers", "dnsPolicy", "enableServiceLinks", "hostNetwork",
     "hostname", "initContainers", "nodeName", "preemptionPolicy", "priority", "priorityClassName", "restartPolicy",
     "schedulerName", "securityContext", "serviceAccount", "serviceAccountName", "terminationGracePeriodSeconds", "tolerations",
     "volumes")
)  # fmt: skip
_QUIET_IN_VOLUMES = frozenset(("csi", "emptyDir", "hostPath", "name", "nfs", "persistentVolumeClaim"))
_LISTING = frozenset(("configMap", "downwardAPI", "secret"))


def _workload(kind: str, steps: tuple[str, ...], new: Object, old: Object | None) -> Iterator[str]:
    if old is None and kind in _NAMED:
        yield from _name(new, _IN_NAMES)
    if old is None or _generation(new) != _generation(old):
        # NB: a ReplicationController that is changed is warned of what it was before.
        looked_at = old if kind == "ReplicationController" and old is not None else new
        if kind in ("Job", "CronJob"):
            yield from _job(_at(looked_at, steps[:-1]), Path().child(*steps[:-1]))
        yield from _pod(_at(looked_at, steps), Path().child(*steps))
    if kind == "StatefulSet":
        yield from _stateful_set(new, changed=old is not None)
    if kind == "CronJob" and old is not None and "TZ" in (_at(new, ("spec",)).get("schedule") or ""):
        where = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/"
        yield f"cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see {where} for more details"


def _at(value: Object, steps: tuple[str, ...]) -> Object:
    for step in steps:
        value = value.get(step) or {}
    return value


def _generation(value: Object) -> int:
    return _at(value, ("metadata",)).get("generation") or 0


def _name(value: Object, words: str) -> Iterator[str]:
    name = _at(value, ("metadata",)).get("name") or ""
    problems = [] if soundnames.is_label(name) else names.dns1123_label(name)
    if problems:
        yield f"metadata.name: {words}: [{' '.join(problems)}]"


# ---------------------------------------------------------------- workloads

_MANY_COMPLETIONS, _MANY_AT_ONCE = 100_000, 10_000


def _job(spec: Object, at: Path) -> Iterator[str]:
    many = (spec.get("completions") or 0) > _MANY_COMPLETIONS and (spec.get("parallelism") or 0) > _MANY_AT_ONCE
    if spec.get("completionMode") == "Indexed" and many:
        yield (
            f"{at}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
            "Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        )


def _stateful_set(value: Object, *, changed: bool) -> Iterator[str]:
    spec = _at(value, ("spec",))
    for i, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        at = Path().child("spec", "volumeClaimTemplates").index(i)
        yield from claim_spec(claim.get("spec") or {}, at.child("Spec") if changed else at)
    if (spec.get("revisionHistoryLimit") or 0) < 0:
        yield "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"


def claim_spec(spec: Object, at: Path) -> Iterator[str]:
    """The spec of a PersistentVolumeClaim."""
    for part in ("requests", "limits"):
        yield from fraction(_at(spec, ("resources", part)), "storage", at.child("resources", part))


# ---------------------------------------------------------------- pods


def _pod(pod: Object, at: Path) -> Iterator[str]:
    spec, annotations = _at(pod, ("spec",)), _at(pod, ("metadata", "annotations"))
    inside = at.child("spec")
    if "nodeSelector" in spec or "affinity" in spec:
        yield from _node_labels(spec, inside)
    if "topologySpreadConstraints" in spec:
        yield from _spread(spec["topologySpreadConstraints"] or (), inside.child("topologySpreadConstraints"))
    for key, words in _OLD_ANNOTATIONS.items() if annotations else ():
        if key in annotations:
            yield f"{at.child('metadata', 'annotations').key(key)}: {words}"
    if spec.get("volumes"):
        yield from _volumes(spec["volumes"], inside.child("volumes"))
        yield from pathoverlaps.warnings(spec["volumes"])
    yield from _references(spec, inside)
    if _SECCOMP in annotations and _at(spec, ("securityContext",)).get("seccompProfile") is None:
        yield f"{at.child('metadata', 'annotations').key(_SECCOMP)}: {SECCOMP_WORDS}"
    yield from containerwarnings.warnings(spec, annotations, at)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        words = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{inside.child('terminationGracePeriodSeconds')}: {words}"
    if "affinity" in spec:
        yield from _affinities(_at(spec, ("affinity",)), inside.child("affinity"))
    yield from _addresses(spec, inside)


def _references(spec: Object, at: Path) -> Iterator[str]:
    """Hosts and secrets that are named twice, or not at all; and what the pod needs beside its containers."""
    if "hostAliases" in spec:
        yield from _repeated(spec["hostAliases"] or (), "ip", at.child("hostAliases"))
    if "imagePullSecrets" in spec:
        yield from _repeated(spec["imagePullSecrets"] or (), "name", at.child("imagePullSecrets"))
        for i, secret in enumerate(spec["imagePullSecrets"] or ()):
            if not secret.get("name"):
                yield f'{at.child("imagePullSecrets").index(i).child("name")}: invalid empty name ""'
    for resource in ("memory", "ephemeral-storage") if "overhead" in spec else ():
        yield from fraction(spec["overhead"] or {}, resource, at.child("overhead"))


def _addresses(spec: Object, at: Path) -> Iterator[str]:
    for i, server in enumerate(_at(spec, ("dnsConfig",)).get("nameservers") or ()):
        yield from addresses.warnings(server, at.child("dnsConfig", "nameservers").index(i))
    for i, alias in enumerate(spec.get("hostAliases") or ()):
        yield from addresses.warnings(alias.get("ip") or "", at.child("hostAliases").index(i).child("ip"))


_SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
_SYSCTLS = 'non-functional in v1.11+; use the "sysctls" field instead'
_OLD_ANNOTATIONS: Mapping[str, str] = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": _SYSCTLS,
    "security.alpha.kubernetes.io/unsafe-sysctls": _SYSCTLS,
}


def _repeated(items: Any, field: str, at: Path) -> Iterator[str]:
    seen: set[str] = set()
    for i, item in enumerate(items):
        value = item.get(field) or ""
        if value in seen:
            yield f"{at.index(i).child(field)}: duplicate {field} {quoted(value)}"
        seen.add(value)


# ---------------------------------------------------------------- places

OLD_LABELS: Mapping[str, str] = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NO_SELECTOR = "a null labelSelector results in matching no pod"


def _node_labels(spec: Object, at: Path) -> Iterator[str]:
    for key in sorted(spec.get("nodeSelector") or {}):
        if key in OLD_LABELS:
            yield f"{at.child('nodeSelector').key(key)}: {OLD_LABELS[key]}"
    affinity, inside = _at(spec, ("affinity", "nodeAffinity")), at.child("affinity", "nodeAffinity")
    for i, required in enumerate(_at(affinity, (_REQUIRED,)).get("nodeSelectorTerms") or ()):
        yield from term(required, inside.child(_REQUIRED, "nodeSelectorTerms").index(i), values=False)
    for i, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        yield from term(weighted.get("preference") or {}, inside.child(_PREFERRED).index(i).child("preference"), values=True)


def term(wanted: Object, at: Path, *, values: bool) -> Iterator[str]:
    """A term of a node selector. NB: bad values are refused where it is required, and only warned of where it is preferred."""
    for i, expression in enumerate(wanted.get("matchExpressions") or ()):
        key, place = expression.get("key") or "", at.child("matchExpressions").index(i)
        if key in OLD_LABELS:
            yield f"{place.child('key')}: {key} is {OLD_LABELS[key]}"
        for j, value in enumerate((expression.get("values") or ()) if values else ()):
            for problem in names.label_value(value):
                yield f"{place.child('values').index(j)}: {value} is invalid, {problem}"


def _spread(constraints: Any, at: Path) -> Iterator[str]:
    for i, constraint in enumerate(constraints):
        key = constraint.get("topologyKey") or ""
        if key in OLD_LABELS:
            yield f"{at.index(i).child('topologyKey')}: {key} is {OLD_LABELS[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{at.index(i).child('labelSelector')}: {_NO_SELECTOR}"


def _affinities(affinity: Object, at: Path) -> Iterator[str]:
    for field in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(field) or {}
        for i, term in enumerate(terms.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{at.child(field, _REQUIRED).index(i).child('labelSelector')}: {_NO_SELECTOR}"
        for i, weighted in enumerate(terms.get(_PREFERRED) or ()):
            if _at(weighted, ("podAffinityTerm",)).get("labelSelector") is None:
                yield f"{at.child(field, _PREFERRED).index(i).child('podAffinityTerm', 'labelSelector')}: {_NO_SELECTOR}"


# ---------------------------------------------------------------- volumes

_DEAD_SINCE_25 = "deprecated in v1.22, non-functional in v1.25+"
_BEFORE_CLAIMS: Mapping[str, str] = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": _DEAD_SINCE_25,
    "storageos": _DEAD_SINCE_25,
    "quobyte": _DEAD_SINCE_25,
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
}
_AFTER_CLAIMS: Mapping[str, str] = {
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_LOOKED_AT = frozenset((*_BEFORE_CLAIMS, "ephemeral", *_AFTER_CLAIMS))
_SHOWN_AS = {"storageos": "storageOS"}


def _volumes(volumes: Any, at: Path) -> Iterator[str]:
    for i, volume in enumerate(volumes):
        if volume.keys().isdisjoint(_LOOKED_AT):
            continue
        yield from _old_volume(volume, _BEFORE_CLAIMS, at.index(i))
        claim = _at(volume, ("ephemeral",)).get("volumeClaimTemplate")
        if claim is not None:
            yield from claim_spec(claim.get("spec") or {}, at.index(i).child("ephemeral", "volumeClaimTemplate", "spec"))
        yield from _old_volume(volume, _AFTER_CLAIMS, at.index(i))


def _old_volume(volume: Object, old: Mapping[str, str], at: Path) -> Iterator[str]:
    for field, words in old.items():
        if volume.get(field) is not None:
            yield f"{at.child(_SHOWN_AS.get(field, field))}: {words}"
