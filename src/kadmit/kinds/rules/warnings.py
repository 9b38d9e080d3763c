"""What the server says about objects that it takes nevertheless. Pods and what makes them are looked at in `podwarnings`.

    texts = warnings.of(gvk, new)                          # on create
    texts = warnings.of(gvk, new, old, subresource)        # on update

Objects are those that were found to be in order, as they are to be stored.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import Path
from kadmit.api.gojson import quoted
from kadmit.api.meta import GroupVersionKind
from kadmit.kinds import formats, podwarnings
from kadmit.kinds.rules import addresses, meta, resources
from kadmit.kinds.rules.meta import Object

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]
Warn: TypeAlias = Callable[[Object, Object | None], Iterator[str]]

_SPEC = fields.path("spec")
_STORAGE_CLASS, _MOUNT_OPTIONS = "volume.beta.kubernetes.io/storage-class", "volume.beta.kubernetes.io/mount-options"
_INGRESS_CLASS, _HINTS = "kubernetes.io/ingress.class", "service.kubernetes.io/topology-aware-hints"
_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"
_OLD_VOLUMES = (
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
)


def of(gvk: GroupVersionKind, new: Object, old: Object | None = None, subresource: str = "") -> list[str]:
    if subresource:
        return []
    warn = _KINDS.get((gvk.group, gvk.kind))
    return list(warn(new, old)) if warn is not None else podwarnings.warnings(gvk, new, old)


# ---------------------------------------------------------------- services and policies


def _service(new: Object, old: Object | None) -> Iterator[str]:
    spec, kind = new.get("spec") or {}, (new.get("spec") or {}).get("type")
    if _HINTS in (meta.of(new).get("annotations") or {}):
        yield f"annotation {_HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead"
    is_headless = spec.get("clusterIP") == "None"
    if spec.get("clusterIP") and not is_headless:
        for index, ip in enumerate(spec.get("clusterIPs") or ()):
            yield from addresses.warnings(ip, _SPEC.child("clusterIPs").index(index))
    if is_headless and kind == "ClusterIP":
        yield from _headless(spec)
    for index, ip in enumerate(spec.get("externalIPs") or ()):
        yield from addresses.warnings(ip, _SPEC.child("externalIPs").index(index))
    if spec.get("externalIPs") and not (is_headless and kind == "ClusterIP") and kind != "ExternalName":
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    if spec.get("loadBalancerIP"):
        yield from addresses.warnings(spec["loadBalancerIP"], _SPEC.child("loadBalancerIP"))
    for index, block in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        yield from addresses.block_warnings(block, _SPEC.child("loadBalancerSourceRanges").index(index))
    if kind == "ExternalName" and spec.get("externalIPs"):
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if kind != "ExternalName" and spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def _headless(spec: Part) -> Iterator[str]:
    for member in ("loadBalancerIP", "externalIPs"):
        if spec.get(member):
            yield f"spec.{member} is ignored for headless services"
    if spec.get("sessionAffinity") != "None":
        yield "spec.SessionAffinity is ignored for headless services"


def _endpoints(new: Object, old: Object | None) -> Iterator[str]:
    if (meta.of(new).get("labels") or {}).get("endpoints.kubernetes.io/managed-by") == "endpoint-controller":
        return
    for index, subset in enumerate(new.get("subsets") or ()):
        for member in ("addresses", "notReadyAddresses"):
            for number, one in enumerate(subset.get(member) or ()):
                place = fields.path("subsets").index(index).child(member).index(number).child("ip")
                yield from addresses.warnings(one.get("ip") or "", place)


def _ingress(new: Object, old: Object | None) -> Iterator[str]:
    chosen = (new.get("spec") or {}).get("ingressClassName")
    if old is None and _INGRESS_CLASS in (meta.of(new).get("annotations") or {}) and chosen is None:
        yield f"annotation {quoted(_INGRESS_CLASS)} is deprecated, please use 'spec.ingressClassName' instead"


def _network_policy(new: Object, old: Object | None) -> Iterator[str]:
    for direction, member in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate((new.get("spec") or {}).get(direction) or ()):
            for number, peer in enumerate(rule.get(member) or ()):
                place = _SPEC.child(direction).index(index).child(member).index(number).child("ipBlock")
                yield from _ip_block(peer.get("ipBlock"), place)


def _ip_block(block: Part | None, at: Path) -> Iterator[str]:
    if block is not None:
        yield from addresses.block_warnings(block.get("cidr") or "", at.child("cidr"))
        for index, one in enumerate(block.get("except") or ()):
            yield from addresses.block_warnings(one, at.child("except").index(index))


# ---------------------------------------------------------------- storage, nodes, accounts, quotas


def _claim(new: Object, old: Object | None) -> Iterator[str]:
    if _STORAGE_CLASS in (meta.of(new).get("annotations") or {}):
        place = fields.path("metadata", "annotations").key(_STORAGE_CLASS)
        yield f'{place}: deprecated since v1.8; use "storageClassName" attribute instead'
    yield from podwarnings.claim_spec(new.get("spec") or {}, _SPEC)


def _volume(new: Object, old: Object | None) -> Iterator[str]:
    annotations, spec = meta.of(new).get("annotations") or {}, new.get("spec") or {}
    for key, since, instead in ((_STORAGE_CLASS, "v1.8", "storageClassName"), (_MOUNT_OPTIONS, "v1.31", "mountOptions")):
        if key in annotations:
            place = fields.path("metadata", "annotations").key(key)
            yield f'{place}: deprecated since {since}; use "{instead}" attribute instead'
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        text = "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning."
        yield f"spec.persistentVolumeReclaimPolicy: {text}"
    terms = ((spec.get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms")
    for index, term in enumerate(terms or ()):
        yield from podwarnings.term(term, _SPEC.child("nodeAffinity", "required", "nodeSelectorTerms").index(index), values=False)
    for source, called, text in _OLD_VOLUMES:
        if spec.get(source) is not None:
            yield f"spec.{called}: {text}"


def _storage_class(new: Object, old: Object | None) -> Iterator[str]:
    for index, topology in enumerate(new.get("allowedTopologies") or ()):
        for number, need in enumerate(topology.get("matchLabelExpressions") or ()):
            text = podwarnings.OLD_LABELS.get(need.get("key") or "")
            if text is not None:
                place = fields.path("allowedTopologies").index(index).child("matchLabelExpressions").index(number)
                yield f"{place.child('key')}: {text}"


def _driver(new: Object, old: Object | None) -> Iterator[str]:
    spec, before = new.get("spec") or {}, ((old or {}).get("spec") or {}).get("tokenRequests")
    asked = spec.get("tokenRequests")
    if asked and asked != before and spec.get("serviceAccountTokenInSecrets") is None:
        advice = "if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes"
        yield f"spec.serviceAccountTokenInSecrets is unset; {advice}"


def _runtime_class(new: Object, old: Object | None) -> Iterator[str]:
    for key in sorted((new.get("scheduling") or {}).get("nodeSelector") or {}):
        text = podwarnings.OLD_LABELS.get(key)
        if text is not None:
            yield f"scheduling.nodeSelector: {text}"


def _node(new: Object, old: Object | None) -> Iterator[str]:
    spec = new.get("spec") or {}
    if spec.get("configSource") is not None:
        yield "spec.configSource: the feature is removed"
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"
    for index, block in enumerate(spec.get("podCIDRs") or ()):
        yield from addresses.block_warnings(block, _SPEC.child("podCIDRs").index(index))


def _account(new: Object, old: Object | None) -> Iterator[str]:
    had = old is not None and _MOUNTABLE in (meta.of(old).get("annotations") or {})
    if not had and _MOUNTABLE in (meta.of(new).get("annotations") or {}):
        text = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        yield f"metadata.annotations[{_MOUNTABLE}]: {text}"


def _quota(new: Object, old: Object | None) -> Iterator[str]:
    hard = (new.get("spec") or {}).get("hard") or {}
    for name in ("cpu", "memory", "ephemeral-storage") if old is None else ():
        request, limit = f"requests.{name}", f"limits.{name}"
        if request not in hard and name != "ephemeral-storage" and name in hard:
            request = name
        if request in hard and limit in hard and resources.is_more(hard[request], hard[limit]):
            shown = (f"{key} ({resources.parsed(hard[key])})" for key in (request, limit))
            yield f"ResourceQuota {' should be less than '.join(shown)}"


# ---------------------------------------------------------------- custom kinds


def _definition(new: Object, old: Object | None) -> Iterator[str]:
    """Formats that nobody checks. Who had some before is not told again."""
    known = set(_formats(old)) if old is not None else set()
    yield from (f"unrecognized format {quoted(name)}" for name in _formats(new) if name not in known)


def _formats(value: Object) -> Iterator[str]:
    seen: list[Json] = []
    for version in (value.get("spec") or {}).get("versions") or ():
        raw = (version.get("schema") or {}).get("openAPIV3Schema")
        if raw is not None and raw not in seen:
            seen.append(raw)
            yield from _unknown_formats(raw)


def _unknown_formats(raw: Part) -> Iterator[str]:
    name = raw.get("format")
    if name and not _is_known(name, raw.get("type") or ""):
        yield name
    for key in ("items", "not", "additionalProperties"):
        if isinstance(raw.get(key), Mapping):
            yield from _unknown_formats(raw[key])
    for key in ("allOf", "anyOf", "oneOf"):
        for part in raw.get(key) or ():
            yield from _unknown_formats(part)
    for part in (raw.get("properties") or {}).values():
        yield from _unknown_formats(part)


def _is_known(name: str, kind: str) -> bool:
    if kind == "integer":
        return name in ("int32", "int64")
    if kind == "number":
        return name in ("float", "double")
    return kind in ("", "string") and formats.normalised(name) is not None


_KINDS: Mapping[tuple[str, str], Warn] = {
    ("", "Service"): _service,
    ("", "Endpoints"): _endpoints,
    ("networking.k8s.io", "Ingress"): _ingress,
    ("networking.k8s.io", "NetworkPolicy"): _network_policy,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "PersistentVolume"): _volume,
    ("storage.k8s.io", "StorageClass"): _storage_class,
    ("storage.k8s.io", "CSIDriver"): _driver,
    ("node.k8s.io", "RuntimeClass"): _runtime_class,
    ("", "Node"): _node,
    ("", "ServiceAccount"): _account,
    ("", "ResourceQuota"): _quota,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
}
