"""Deployments, ReplicaSets, StatefulSets, DaemonSets and the like: a selector, a template that it selects, a strategy."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.api.gojson import Named
from kadmit.cel.library import names
from kadmit.kinds import internals, labels
from kadmit.kinds.metadata import dns_label
from kadmit.kinds.rules import claims, enums, meta, naming, numbers, pods, selectors
from kadmit.kinds.rules.context import Context
from kadmit.kinds.rules.meta import Object

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]

_AT = fields.path("spec")


# ---------------------------------------------------------------- deployments and replica sets


def create_deployment(value: Object, context: Context) -> Iterator[FieldError]:
    yield from meta.created(value)
    yield from _deployment(value.get("spec") or {}, context)


def update_deployment(new: Object, old: Object, context: Context) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    yield from _deployment(new.get("spec") or {}, context)
    yield from _same_selector(new, old)


def _deployment(spec: Part, context: Context) -> Iterator[FieldError]:
    yield from numbers.not_negative(spec.get("replicas"), _AT.child("replicas"))
    yield from _replicated(spec, context)
    yield from _strategy(spec.get("strategy") or {}, _AT.child("strategy"))
    for member in ("minReadySeconds", "revisionHistoryLimit"):
        yield from numbers.not_negative(spec.get(member), _AT.child(member))
    deadline, at = spec.get("progressDeadlineSeconds"), _AT.child("progressDeadlineSeconds")
    yield from numbers.not_negative(deadline, at)
    if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
        yield fields.invalid(at, deadline, "must be greater than minReadySeconds")


def create_replica_set(value: Object, context: Context) -> Iterator[FieldError]:
    yield from meta.created(value)
    yield from _replica_set(value.get("spec") or {}, context)


def update_replica_set(new: Object, old: Object, context: Context) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    yield from _replica_set(new.get("spec") or {}, context)
    yield from _same_selector(new, old)


def _replica_set(spec: Part, context: Context) -> Iterator[FieldError]:
    for member in ("replicas", "minReadySeconds"):
        yield from numbers.not_negative(spec.get(member), _AT.child(member))
    yield from _replicated(spec, context)


def _replicated(spec: Part, context: Context) -> Iterator[FieldError]:
    selector = spec.get("selector")
    yield from _selector(selector, "deployment")
    if not selectors.is_sound(selector):
        yield fields.invalid(_AT.child("selector"), _shown(selector), "invalid label selector")
        return
    yield from _selected(selector, spec.get("template"))
    yield from pods.template(spec.get("template"), _AT.child("template"), context)
    yield from _restarting(spec.get("template"), "ReplicaSet")


def _selector(selector: Part | None, called: str) -> Iterator[FieldError]:
    at = _AT.child("selector")
    if selector is None:
        yield fields.required(at)
        return
    yield from labels.validate_selector(selector, at)
    if selectors.is_empty(selector):
        yield fields.invalid(at, _shown(selector), f"empty selector is invalid for {called}")


def _shown(selector: Part | None) -> Json:
    return internals.shown("LabelSelector", selector)


def _selected(selector: Part | None, template: Part | None) -> Iterator[FieldError]:
    of_template = ((template or {}).get("metadata") or {}).get("labels")
    if not selectors.matches(selector, of_template):
        yield fields.invalid(_AT.child("template", "metadata", "labels"), _sorted(of_template), selectors.MISMATCH)


def _sorted(value: Part | None) -> Json:
    return None if value is None else {key: value[key] for key in sorted(value)}


def _restarting(template: Part | None, called: str) -> Iterator[FieldError]:
    """Pods that are kept running always restart, and have no deadline."""
    spec, at = (template or {}).get("spec") or {}, _AT.child("template", "spec")
    yield from enums.one_of(spec.get("restartPolicy") or "", ("Always",), at.child("restartPolicy"))
    if spec.get("activeDeadlineSeconds") is not None:
        yield fields.forbidden(at.child("activeDeadlineSeconds"), f"activeDeadlineSeconds in {called} is not Supported")


def _same_selector(new: Object, old: Object) -> Iterator[FieldError]:
    after, before = (new.get("spec") or {}).get("selector"), (old.get("spec") or {}).get("selector")
    if not internals.same("LabelSelector", before, after):
        yield fields.invalid(_AT.child("selector"), _shown(after), meta.IMMUTABLE)


def _strategy(strategy: Part, at: Path) -> Iterator[FieldError]:
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "Recreate":
            if rolling is not None:
                text = "may not be specified when strategy `type` is 'Recreate'"
                yield fields.forbidden(at.child("rollingUpdate"), text)
        case "RollingUpdate":
            yield from _rolling(rolling or {}, at.child("rollingUpdate"))
        case _:
            shown = internals.shown("DeploymentStrategy", strategy)
            yield fields.not_supported(at, shown, ("Recreate", "RollingUpdate"))


def _rolling(rolling: Part, at: Path) -> Iterator[FieldError]:
    unavailable, surge = (0 if rolling.get(key) is None else rolling[key] for key in ("maxUnavailable", "maxSurge"))
    yield from numbers.count_or_percent(unavailable, at.child("maxUnavailable"))
    yield from numbers.count_or_percent(surge, at.child("maxSurge"))
    if numbers.amount(unavailable) == 0 and numbers.amount(surge) == 0:
        yield fields.invalid(at.child("maxUnavailable"), unavailable, "may not be 0 when `maxSurge` is 0")
    yield from numbers.at_most_everything(unavailable, at.child("maxUnavailable"))


# ---------------------------------------------------------------- stateful sets


def create_stateful_set(value: Object, context: Context) -> Iterator[FieldError]:
    yield from meta.created(value, dns_label)
    yield from _stateful_set(value.get("spec") or {}, context, is_new=True)


def update_stateful_set(new: Object, old: Object, context: Context) -> Iterator[FieldError]:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    yield from meta.updated(new, old)
    was_sound = next(_stateful_set(before, context, is_new=False), None) is None
    yield from _stateful_set(after, context, is_new=False, check_template=was_sound)
    if not _same_state(after, before):
        allowed = "'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', "
        allowed += "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds'"
        yield fields.forbidden(_AT, f"updates to statefulset spec for fields other than {allowed} are forbidden")


def _same_state(after: Part, before: Part) -> bool:
    """Whether everything is the same that may not change."""
    if not internals.same("LabelSelector", before.get("selector"), after.get("selector")):
        return False
    if any((after.get(member) or "") != (before.get(member) or "") for member in ("serviceName", "podManagementPolicy")):
        return False
    now, was = after.get("volumeClaimTemplates") or [], before.get("volumeClaimTemplates") or []
    return len(now) == len(was) and all(map(_same_claim, was, now))


def _same_claim(old: Part, new: Part) -> bool:
    rest = [{key: value for key, value in claim.items() if key != "spec" and value} for claim in (old, new)]
    return rest[0] == rest[1] and internals.same("PersistentVolumeClaimSpec", old.get("spec") or {}, new.get("spec") or {})


def _stateful_set(spec: Part, context: Context, *, is_new: bool, check_template: bool = True) -> Iterator[FieldError]:
    yield from _management(spec.get("podManagementPolicy") or "", _AT.child("podManagementPolicy"))
    yield from _stateful_strategy(spec.get("updateStrategy") or {}, _AT.child("updateStrategy"))
    yield from _retention(spec.get("persistentVolumeClaimRetentionPolicy"))
    if is_new:
        for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
            yield from claims.spec(claim.get("spec") or {}, _AT.child("volumeClaimTemplates").index(index).child("spec"))
    for member in ("replicas", "minReadySeconds"):
        yield from numbers.not_negative(spec.get(member), _AT.child(member))
    yield from numbers.not_negative((spec.get("ordinals") or {}).get("start"), _AT.child("ordinals.start"))
    if is_new and spec.get("serviceName"):
        yield from naming.label(spec["serviceName"], _AT.child("serviceName"))
    yield from _stateful_pods(spec, context, check_template=check_template)


def _management(policy: str, at: Path) -> Iterator[FieldError]:
    if not policy:
        yield fields.required(at)
    elif policy not in ("OrderedReady", "Parallel"):
        yield fields.invalid(at, Named(policy), "must be 'OrderedReady' or 'Parallel'")


def _stateful_strategy(strategy: Part, at: Path) -> Iterator[FieldError]:
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case None | "":
            yield fields.required(at)
        case "OnDelete":
            if rolling is not None:
                shown = internals.shown("RollingUpdateStatefulSetStrategy", rolling)
                yield fields.invalid(at.child("rollingUpdate"), shown, "only allowed for updateStrategy 'RollingUpdate'")
        case "RollingUpdate":
            yield from _stateful_rolling(rolling or {}, at.child("rollingUpdate"))
        case _:
            shown = internals.shown("StatefulSetUpdateStrategy", strategy)
            yield fields.invalid(at, shown, "must be 'RollingUpdate' or 'OnDelete'")


def _stateful_rolling(rolling: Part, at: Path) -> Iterator[FieldError]:
    yield from numbers.not_negative(rolling.get("partition"), at.child("partition"))
    unavailable, place = rolling.get("maxUnavailable"), at.child("maxUnavailable")
    if unavailable is not None:
        yield from numbers.count_or_percent(unavailable, place)
        if numbers.amount(unavailable) == 0:
            yield fields.invalid(place, unavailable, "cannot be 0")
        yield from numbers.at_most_everything(unavailable, place)


def _retention(policy: Part | None) -> Iterator[FieldError]:
    if policy is not None:
        at = _AT.child("persistentVolumeClaimRetentionPolicy")
        for member in ("whenDeleted", "whenScaled"):
            yield from enums.one_of(policy.get(member) or "", ("Retain", "Delete"), at.child(member))


def _stateful_pods(spec: Part, context: Context, *, check_template: bool) -> Iterator[FieldError]:
    selector, template, at = spec.get("selector"), spec.get("template") or {}, _AT.child("template")
    yield from _selector(selector, "statefulset")
    if not selectors.is_sound(selector):
        yield fields.invalid(_AT.child("selector"), _shown(selector))
    else:
        yield from _selected(selector, template)
        identified = _identified(spec, template)
        if check_template:
            yield from pods.template(identified, at, context)
        yield from meta.template(identified, at)
        yield from pods.annotations(identified, at.child("annotations"))
    yield from _restarting(template, "StatefulSet")


def _identified(spec: Part, template: Part) -> Part:
    """The template as its pods will be: named by the controller, with a volume for each claim."""
    claimed = {((claim.get("metadata") or {}).get("name") or ""): claim for claim in spec.get("volumeClaimTemplates") or ()}
    of_pod = {key: value for key, value in (template.get("spec") or {}).items() if key not in ("subdomain", "hostname")}
    if claimed:
        own = [volume for volume in of_pod.get("volumes") or () if (volume.get("name") or "") not in claimed]
        made = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claimed]
        of_pod["volumes"] = [*made, *own]
    return {**template, "spec": of_pod}


# ---------------------------------------------------------------- daemon sets


def create_daemon_set(value: Object, context: Context) -> Iterator[FieldError]:
    yield from meta.created(value)
    yield from _daemon_set(value.get("spec") or {}, context)


def update_daemon_set(new: Object, old: Object, context: Context) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    yield from _same_selector(new, old)
    yield from _daemon_set(new.get("spec") or {}, context)


def _daemon_set(spec: Part, context: Context) -> Iterator[FieldError]:
    selector, at = spec.get("selector"), _AT.child("selector")
    yield from labels.validate_selector(selector, at)
    if selectors.is_sound(selector):
        yield from _selected(selector, spec.get("template"))
    if selector is not None and selectors.is_empty(selector):
        yield fields.invalid(at, _shown(selector), "empty selector is invalid for daemonset")
    yield from pods.template(spec.get("template"), _AT.child("template"), context)
    yield from _restarting(spec.get("template"), "DaemonSet")
    yield from numbers.not_negative(spec.get("minReadySeconds"), _AT.child("minReadySeconds"))
    yield from _daemon_strategy(spec.get("updateStrategy") or {}, _AT.child("updateStrategy"))
    yield from numbers.not_negative(spec.get("revisionHistoryLimit"), _AT.child("revisionHistoryLimit"))


def _daemon_strategy(strategy: Part, at: Path) -> Iterator[FieldError]:
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "OnDelete":
            return
        case "RollingUpdate" if rolling is None:
            yield fields.required(at.child("rollingUpdate"))
        case "RollingUpdate":
            yield from _daemon_rolling(rolling or {}, at.child("rollingUpdate"))
        case _:
            shown = internals.shown("DaemonSetUpdateStrategy", strategy)
            yield fields.not_supported(at, shown, ("RollingUpdate", "OnDelete"))


def _daemon_rolling(rolling: Part, at: Path) -> Iterator[FieldError]:
    unavailable, surge = (0 if rolling.get(key) is None else rolling[key] for key in ("maxUnavailable", "maxSurge"))
    for check in (numbers.count_or_percent, numbers.at_most_everything):
        yield from check(unavailable, at.child("maxUnavailable"))
        yield from check(surge, at.child("maxSurge"))
    both = [numbers.amount(unavailable) != 0, numbers.amount(surge) != 0]
    if all(both):
        yield fields.invalid(at.child("maxSurge"), surge, "may not be set when maxUnavailable is non-zero")
    elif not any(both):
        yield fields.required(at.child("maxUnavailable"), "cannot be 0 when maxSurge is 0")


# ---------------------------------------------------------------- replication controllers, pod templates, revisions


def _long_name(name: str, prefix: bool) -> list[str]:
    """NB: the beginning of a generated name is not looked at."""
    return [] if prefix else names.dns1123_subdomain(name, unit="bytes")


def create_replication_controller(value: Object, context: Context) -> Iterator[FieldError]:
    yield from meta.created(value, _long_name)
    yield from _replication_controller(value.get("spec") or {}, context)


def update_replication_controller(new: Object, old: Object, context: Context) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    yield from _replication_controller(new.get("spec") or {}, context)


def _replication_controller(spec: Part, context: Context) -> Iterator[FieldError]:
    selector, template, at = spec.get("selector") or {}, spec.get("template"), _AT.child("template")
    yield from numbers.not_negative(spec.get("minReadySeconds"), _AT.child("minReadySeconds"))
    if not selector:
        yield fields.required(_AT.child("selector"))
    if spec.get("replicas") is None:
        yield fields.required(_AT.child("replicas"))
    yield from numbers.not_negative(spec.get("replicas"), _AT.child("replicas"))
    if template is None:
        yield fields.required(at)
        return
    if selector:
        yield from _selected({"matchLabels": selector}, template)
    yield from pods.template(template, at, context)
    yield from _restarting(template, "ReplicationController")


def create_pod_template(value: Object, context: Context) -> Iterator[FieldError]:
    yield from meta.created(value)
    yield from pods.template(value.get("template"), fields.path("template"), context)


def update_pod_template(new: Object, old: Object, context: Context) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    yield from pods.template(new.get("template"), fields.path("template"), context)


def create_revision(value: Object) -> Iterator[FieldError]:
    yield from meta.created(value)
    yield from numbers.not_negative(value.get("revision"), fields.path("revision"))
    if value.get("data") is None:
        yield fields.required(fields.path("data"), "data is mandatory")
    elif not isinstance(value["data"], Mapping):
        yield fields.required(fields.path("data"), "data must be a valid JSON object")


def update_revision(new: Object, old: Object) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    yield from meta.created(new)
    yield from numbers.not_negative(new.get("revision"), fields.path("revision"))
    yield from meta.immutable(new.get("data"), old.get("data"), fields.path("data"))
