"""What of a pod may change: images, a shorter deadline, more tolerations, fewer scheduling gates; nothing else."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.api.gojson import quoted
from kadmit.kinds import internals
from kadmit.kinds.rules import addresses, containers, meta, naming, numbers, pods, scheduling
from kadmit.kinds.rules.context import Context
from kadmit.kinds.rules.meta import Object

Json: TypeAlias = Any
Spec: TypeAlias = Mapping[str, Json]

_AT = fields.path("spec")
_MIRROR, _APP_ARMOR = "kubernetes.io/config.mirror", "container.apparmor.security.beta.kubernetes.io/"
_UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def update(new: Object, old: Object, context: Context) -> Iterator[FieldError]:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    yield from meta.updated(new, old)
    yield from pods.metadata_and_spec(new, context)
    yield from _annotations(new, old)
    for member in ("containers", "initContainers"):
        now, was = after.get(member) or [], before.get(member) or []
        if len(now) != len(was):
            yield fields.forbidden(_AT.child(member), "pod updates may not add or remove containers")
            return
        yield from _images(now, _AT.child(member))
    stop = list(_deadline(after.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")))
    yield from stop
    if stop and after.get("activeDeadlineSeconds") is not None:
        return
    yield from _tolerations(after.get("tolerations") or [], before.get("tolerations") or [])
    yield from _gates(after, before)
    yield from _rest(after, before)


def _annotations(new: Object, old: Object) -> Iterator[FieldError]:
    after, before = meta.of(new).get("annotations") or {}, meta.of(old).get("annotations") or {}
    at = fields.path("metadata", "annotations")
    for key in sorted(before):
        if after.get(key) != before[key]:
            yield from _fixed(key, "may not remove or update", at)
    for key in sorted(after):
        if key not in before:
            yield from _fixed(key, "may not add", at)
    yield from pods.annotations(new, at)


def _fixed(key: str, verb: str, at: Path) -> Iterator[FieldError]:
    if key.startswith(_APP_ARMOR):
        yield fields.forbidden(at.key(key), f"{verb} AppArmor annotations")
    if key == _MIRROR:
        yield fields.forbidden(at.key(key), f"{verb} mirror pod annotation")


def _images(values: list[Spec], at: Path) -> Iterator[FieldError]:
    for index, container in enumerate(values):
        if not container.get("image"):
            yield fields.required(at.index(index).child("image"))
        yield from containers.padded_image(container, at.index(index))


def _deadline(after: int | None, before: int | None) -> Iterator[FieldError]:
    at = _AT.child("activeDeadlineSeconds")
    if after is None:
        if before is not None:
            yield fields.invalid(at, None, "must not update from a positive integer to nil value")
    elif not 0 <= after <= numbers.MAX_INT32:
        yield from numbers.between(after, 0, numbers.MAX_INT32, at)
    elif before is not None and before < after:
        yield fields.invalid(at, after, "must be less than or equal to previous value")


def _tolerations(after: list[Spec], before: list[Spec]) -> Iterator[FieldError]:
    kept = [_but_seconds(toleration) for toleration in after]
    if any(_but_seconds(toleration) not in kept for toleration in before):
        text = "existing toleration can not be modified except its tolerationSeconds"
        yield fields.forbidden(_AT.child("tolerations"), text)
        return
    yield from scheduling.tolerations(after, _AT.child("tolerations"))


def _but_seconds(toleration: Spec) -> Spec:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds" and value}


def _gates(after: Spec, before: Spec) -> Iterator[FieldError]:
    known = {gate.get("name") or "" for gate in before.get("schedulingGates") or ()}
    for index, gate in enumerate(after.get("schedulingGates") or ()):
        name = gate.get("name") or ""
        if name not in known:
            text = f"only deletion is allowed, but found new scheduling gate '{name}'"
            yield fields.forbidden(_AT.child("schedulingGates").index(index).child("name"), text)


# ---------------------------------------------------------------- everything else


def _rest(after: Spec, before: Spec) -> Iterator[FieldError]:
    if internals.same("PodSpec", before, after):
        return
    munged = _munged(after, before)
    if before.get("schedulingGates"):
        yield from _gated(munged, before)
    if not internals.same("PodSpec", before, munged):
        told = internals.difference("PodSpec", before, munged)
        yield fields.forbidden(_AT, f"pod updates may not change fields other than {_UPDATABLE}\n{told}")


def _munged(after: Spec, before: Spec) -> dict[str, Json]:
    """The new spec, with the old in all places that may change."""
    made = dict(after)
    for member in ("containers", "initContainers"):
        if after.get(member):
            pairs = zip(after[member], before[member], strict=True)
            made[member] = [{**now, "image": was.get("image") or ""} for now, was in pairs]
    for member in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        made[member] = before.get(member)
    was, now = before.get("terminationGracePeriodSeconds"), made.get("terminationGracePeriodSeconds")
    if was is not None and was < 0 and now == 1:
        made["terminationGracePeriodSeconds"] = was
    return made


def _gated(munged: dict[str, Json], before: Spec) -> Iterator[FieldError]:
    """While a pod waits to be scheduled, it may become choosier."""
    was, now = before.get("nodeSelector") or {}, munged.get("nodeSelector") or {}
    if was != now:
        if any(now.get(key) != value for key, value in was.items()):
            text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            yield fields.invalid(_AT.child("nodeSelector"), now, text)
        munged["nodeSelector"] = before.get("nodeSelector")
    old, new = (before.get("affinity") or {}).get("nodeAffinity"), (munged.get("affinity") or {}).get("nodeAffinity")
    if old == new:
        return
    yield from _node_affinity(new, old)
    rest = {key: value for key, value in (munged.get("affinity") or {}).items() if key != "nodeAffinity"}
    if old is not None:
        rest["nodeAffinity"] = old
    munged["affinity"] = rest if rest or before.get("affinity") is not None else None


def _node_affinity(new: Spec | None, old: Spec | None) -> Iterator[FieldError]:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    was = ((old or {}).get(required) or {}).get("nodeSelectorTerms") or []
    now = ((new or {}).get(required) or {}).get("nodeSelectorTerms") or []
    at = _AT.child("affinity", "nodeAffinity", required, "nodeSelectorTerms")
    if not was:
        return
    if len(was) != len(now):
        shown = [internals.shown("NodeSelectorTerm", term) for term in now] or None
        yield fields.invalid(at, shown, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")
        return
    for index, (after, before) in enumerate(zip(now, was, strict=True)):
        if not _only_adds(after, before):
            shown = internals.shown("NodeSelectorTerm", after)
            yield fields.invalid(at.index(index), shown, "only additions are allowed (no mutations or deletions)")


def _only_adds(after: Spec, before: Spec) -> bool:
    members = ("matchExpressions", "matchFields")
    if not any(before.get(member) for member in members):
        return not any(after.get(member) for member in members)
    return all((after.get(m) or [])[: len(before.get(m) or [])] == (before.get(m) or []) for m in members)


def ephemeral(new: Object, old: Object, context: Context) -> Iterator[FieldError]:
    """Containers that were added to a pod for a while stay, and stay the same."""
    yield from meta.updated(new, old)
    yield from pods.metadata_and_spec(new, context)
    yield from _annotations(new, old)
    at = _AT.child("ephemeralContainers")
    kept = {one.get("name") or "": one for one in (new.get("spec") or {}).get("ephemeralContainers") or ()}
    for container in (old.get("spec") or {}).get("ephemeralContainers") or ():
        name = container.get("name") or ""
        if name not in kept:
            yield fields.forbidden(at, f"existing ephemeral containers {quoted(name)} may not be removed\n")
        elif not internals.same("EphemeralContainer", container, kept[name]):
            told = internals.difference("EphemeralContainer", container, kept[name])
            yield fields.forbidden(at, f"existing ephemeral containers {quoted(name)} may not be changed\n{told}")


def status(new: Object, old: Object) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    yield from _annotations(new, old)
    after, before = new.get("status") or {}, old.get("status") or {}
    for index, condition in enumerate(after.get("conditions") or ()):
        yield from _condition(condition, fields.path("status", "conditions").index(index))
    yield from _nominated(after, before, (old.get("spec") or {}).get("nodeName") or "")
    generation = after.get("observedGeneration") or 0
    if generation < 0:
        yield fields.invalid(fields.path("status", "observedGeneration"), generation, "must be a non-negative integer")
    if (after.get("qosClass") or "") != (before.get("qosClass") or ""):
        yield fields.invalid(fields.path("status", "qosClass"), after.get("qosClass") or "", meta.IMMUTABLE)
    yield from _addresses("podIPs", after, before)
    if after.get("hostIPs"):
        first = after["hostIPs"][0].get("ip") or ""
        if first != (after.get("hostIP") or ""):
            yield fields.invalid(fields.path("status", "hostIPs").index(0).child("ip"), first, "must be equal to `hostIP`")
        yield from _addresses("hostIPs", after, before)


def _nominated(after: Spec, before: Spec, node: str) -> Iterator[FieldError]:
    """Where a pod may go, until it has gone somewhere."""
    name, at = after.get("nominatedNodeName") or "", fields.path("status", "nominatedNodeName")
    if name and name != before.get("nominatedNodeName"):
        yield from naming.subdomain(name, at)
        if node:
            yield fields.forbidden(at, "may not be set on pods that are already bound to a node")


def _addresses(member: str, after: Spec, before: Spec) -> Iterator[FieldError]:
    given, at = [one.get("ip") or "" for one in after.get(member) or ()], fields.path("status", member)
    kept = {one.get("ip") for one in before.get(member) or ()}
    for index, ip in enumerate(given):
        yield from addresses.address(ip, at.index(index), kept)
    if len(given) > 1 and (len(given) > 2 or addresses.is_ipv6(given[0]) == addresses.is_ipv6(given[1])):
        yield fields.invalid(at, [{"IP": ip} for ip in given], "may specify no more than one IP for each IP family")


def _condition(condition: Spec, at: Path) -> Iterator[FieldError]:
    generation = condition.get("observedGeneration") or 0
    if generation < 0:
        yield fields.invalid(at.child("observedGeneration"), generation, "must be a non-negative integer")
