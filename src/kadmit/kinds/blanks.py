"""New objects as their Go types have them, and which fields an endpoint may own.

What a Go struct always writes is there from the start, empty, zero or null, so nobody owns its creation: whoever writes a list of
containers owns the containers, not the list. An endpoint for a part of an object (status) owns nothing outside of it, and the
object's own endpoint owns nothing inside of it.
"""

import functools
from collections.abc import Mapping
from typing import Any, TypeAlias

from kadmit.api.meta import GroupVersionKind
from kadmit.kinds import decoding, schema
from kadmit.patch.fieldpath import Filter, excluding

Part: TypeAlias = tuple[str, ...]

_REQUESTS = ("certificates.k8s.io", "CertificateSigningRequest")
# Built-in kinds whose status is written with nothing else, or with all but this of their metadata; others take all of it.
_NO_METADATA = ("metadata",)
_CLOSED: Mapping[tuple[str, str], tuple[Part, ...]] = {
    ("", "Pod"): (("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")),
    ("apps", "Deployment"): (("metadata", "labels"),),
    _REQUESTS: (("status", "conditions"),),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): (_NO_METADATA,),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): (_NO_METADATA,),
    ("apiregistration.k8s.io", "APIService"): (_NO_METADATA,),
    **dict.fromkeys((("flowcontrol.apiserver.k8s.io", k) for k in ("FlowSchema", "PriorityLevelConfiguration")), (_NO_METADATA,)),
    ("networking.k8s.io", "ServiceCIDR"): (_NO_METADATA,),
    **dict.fromkeys((("resource.k8s.io", k) for k in ("ResourceClaim", "DeviceTaintRule")), (_NO_METADATA,)),
    ("storage.k8s.io", "VolumeAttachment"): (_NO_METADATA,),
}


@functools.lru_cache(maxsize=512)
def blank(kind: GroupVersionKind) -> Mapping[str, Any]:
    """What is always written of a built-in kind, in its zero value; nothing for custom kinds."""
    found = schema.for_kind(kind)
    return {} if found is None else decoding.normalise(found, {}).object


def resets(kind: tuple[str, str, str], subresource: str) -> Mapping[str, Filter]:
    """Per version, what may be owned through an endpoint."""
    group, version, name = kind
    api_version = f"{group}/{version}" if group else version
    if subresource == "status":
        of_status = _CLOSED.get((group, name), ()) if schema.for_kind(kind) is not None else (_NO_METADATA,)
        return {api_version: excluding(("spec",), *of_status)}
    if (group, name) == _REQUESTS:
        return {api_version: excluding(("spec",), ("status", "certificate") if subresource == "approval" else ("status",))}
    return {api_version: excluding(("status",))}
