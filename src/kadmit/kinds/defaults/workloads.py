"""Kinds that run pods: how many, how they are replaced, how often they are tried."""

from kadmit.kinds.defaults.pods import template
from kadmit.kinds.defaults.rules import Json, Object, Rule, each, struct
from kadmit.kinds.defaults.volumes import claim

_MANY = 2**31 - 1
_ROLLING = "RollingUpdate"


def _rolling(**absent: Json) -> Rule:
    """A strategy that rolls, unless it says otherwise, by these steps."""

    def roll(strategy: Object) -> Object:
        kind = strategy.get("type") or _ROLLING
        if kind != _ROLLING:
            return strategy
        steps = strategy.get("rollingUpdate")
        made = {**absent, **{name: step for name, step in (steps or {}).items() if step is not None}}
        return strategy if made == steps and strategy.get("type") else {**strategy, "type": kind, "rollingUpdate": made}

    return struct(first=(roll,))


def _partitioned(strategy: Object) -> Object:
    """NB: a type that is given without its steps gets none."""
    kind, steps = strategy.get("type"), strategy.get("rollingUpdate")
    if not kind:
        kind, steps = _ROLLING, steps or {}
    if kind == _ROLLING and steps is not None and steps.get("partition") is None:
        steps = {**steps, "partition": 0}
    if kind == strategy.get("type") and steps is strategy.get("rollingUpdate"):
        return strategy
    return {**strategy, "type": kind, "rollingUpdate": steps}


def _retained(spec: Object) -> Object:
    policy = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    if policy.get("whenDeleted") and policy.get("whenScaled"):
        return spec
    return {**spec, "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain", **policy}}


deployment: Rule = struct(
    parts={
        "spec": struct(
            {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600},
            parts={"strategy": _rolling(maxUnavailable="25%", maxSurge="25%"), "template": template},
        )
    }
)
replica_set: Rule = struct(parts={"spec": struct({"replicas": 1}, parts={"template": template})})
daemon_set: Rule = struct(
    parts={
        "spec": struct(
            {"revisionHistoryLimit": 10}, parts={"updateStrategy": _rolling(maxUnavailable=1, maxSurge=0), "template": template}
        )
    }
)
stateful_set: Rule = struct(
    parts={
        "spec": struct(
            {"replicas": 1, "revisionHistoryLimit": 10, "podManagementPolicy": "OrderedReady"},
            first=(_retained,),
            parts={
                "updateStrategy": struct(first=(_partitioned,)),
                "template": template,
                "volumeClaimTemplates": each(claim),
            },
        )
    }
)


def _labels_of_template(owner: Object) -> Json:
    return (((owner.get("spec") or {}).get("template") or {}).get("metadata") or {}).get("labels")


def _labelled(owner: Object) -> Object:
    """Who has no labels takes those of the pods."""
    labels, metadata = _labels_of_template(owner), owner.get("metadata") or {}
    if not labels or metadata.get("labels"):
        return owner
    return {**owner, "metadata": {**metadata, "labels": labels.copy()}}


def _selecting(controller: Object) -> Object:
    """Who selects nothing selects the pods of the template."""
    labels, spec = _labels_of_template(controller), controller.get("spec") or {}
    if not labels or spec.get("selector"):
        return controller
    return {**controller, "spec": {**spec, "selector": labels.copy()}}


replication_controller: Rule = struct(
    first=(_labelled, _selecting), parts={"spec": struct({"replicas": 1}, parts={"template": template})}
)


def _counted(spec: Object) -> Object:
    """One pod, once - unless completions or parallelism say otherwise - and some attempts."""
    made: Object = {}
    if spec.get("parallelism") is None:
        made["parallelism"] = 1
        if spec.get("completions") is None:
            made["completions"] = 1
    if spec.get("backoffLimit") is None:
        made["backoffLimit"] = 6 if spec.get("backoffLimitPerIndex") is None else _MANY
    if spec.get("podReplacementPolicy") is None:
        made["podReplacementPolicy"] = "TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed"
    return {**spec, **made} if made else spec


_OF_JOB_TEMPLATE: dict[str, Rule] = {
    "podFailurePolicy": struct(
        parts={"rules": each(struct(parts={"onPodConditions": each(struct(empty={"status": "True"}))}))},
    ),
    "template": template,
}
job: Rule = struct(
    first=(_labelled,),
    parts={
        "spec": struct(
            {"completionMode": "NonIndexed", "suspend": False, "manualSelector": False},
            first=(_counted,),
            parts=_OF_JOB_TEMPLATE,
        )
    },
)
cron_job: Rule = struct(
    parts={
        "spec": struct(
            {"concurrencyPolicy": "Allow", "suspend": False, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1},
            parts={"jobTemplate": struct(parts={"spec": struct(parts=_OF_JOB_TEMPLATE)})},
        )
    }
)
