"""TokenRequests: what is asked of a service account is filled in and checked before policies judge it. Nobody signs here."""

from typing import Any

from kadmit.api import errors, fields
from kadmit.api.fields import Path
from kadmit.api.meta import GroupKind, GroupResource
from kadmit.matching.attributes import Json
from kadmit.resources.context import metadata_of, with_metadata

_KIND = GroupKind("authentication.k8s.io", "TokenRequest")
_RESOURCE = GroupResource(_KIND.group, _KIND.kind)  # NB: a conflict names the kind where others name the resource
AUDIENCES = ("https://kubernetes.default.svc",)
SHORTEST, LONGEST = 10 * 60, 1 << 32


def check_name(request: Json, name: str) -> None:
    """Raises ApiError if the request names another account than the URL."""
    given = metadata_of(request).get("name")
    if given and given != name:
        at = fields.path("metadata", "name")
        found = [fields.invalid(at, given, "must match the service account name if specified")]
        raise errors.invalid(_KIND, name, found)


def filled(request: Json, account: Json, now: str) -> Json:
    """The request as policies see it: about this very account, for the server itself unless it says for whom. Raises ApiError."""
    owner, given = metadata_of(account), metadata_of(request)
    if given.get("uid") and given["uid"] != owner.get("uid"):
        told = f"the UID in the token request ({given['uid']}) does not match the UID of the service account ({owner.get('uid')})"
        raise errors.conflict(_RESOURCE, owner["name"], told)
    spec = request.get("spec") or {}
    _check_period(spec.get("expirationSeconds") or 0, fields.path("spec", "expirationSeconds"))
    named: dict[str, Any] = {key: given.get(key) or owner.get(key) for key in ("name", "namespace", "uid")}
    made = with_metadata(request, **named, creationTimestamp=now)
    audiences = spec.get("audiences") or list(AUDIENCES)
    return {**made, "spec": {**spec, "audiences": audiences}, "status": {"token": "", "expirationTimestamp": None}}


def _check_period(seconds: int, at: Path) -> None:
    told = ""
    if seconds < SHORTEST:
        told = "may not specify a duration less than 10 minutes"
    elif seconds > LONGEST:
        told = "may not specify a duration larger than 2^32 seconds"
    if told:
        raise errors.invalid(_KIND, "", [fields.invalid(at, seconds, told)])
