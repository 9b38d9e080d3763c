"""What a webhook's answer means: allowed, denied, a patch, warnings; or why it is no answer at all.

An answer is what came over the wire, or why nothing came. Reading it follows Kubernetes' REST client and its AdmissionReview
decoding, because their texts end up in front of users.
"""

from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from kadmit.admission.webhooks import Call
from kadmit.api.errors import Cause, Details, Status
from kadmit.api.gojson import quoted

EXPECTED = "admission.k8s.io/v1, Kind=AdmissionReview"


class Answer(Struct, frozen=True):
    """A decoded AdmissionReview and the uid that it should carry; or `failure`, why there is none."""

    uid: str = ""
    review: Mapping[str, Any] | None = None
    failure: str = ""  # text after `failed calling webhook "x": `
    code: int = 503  # how metrics count a failure
    arrival: int = 0  # its place among answers to calls made at once; without a network all came together
    seconds: float = 0.0  # how long it took, as far as anybody measured
    stand_in: bool = False  # nobody was called: the answer is made up


class CallFailed(Exception):
    """The webhook could not be asked, or answered nonsense: what failurePolicy is about."""

    def __init__(self, reason: str, code: int = 503) -> None:
        super().__init__(reason)
        self.code = code


class Verdict(Struct, frozen=True):
    """A valid answer."""

    allowed: bool
    patch: bytes = b""
    patch_type: str = ""
    result: Mapping[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)


def read(call: Call, answer: Answer) -> Verdict:
    """The verdict of an answer; raises CallFailed."""
    if answer.review is None:
        raise CallFailed(answer.failure, answer.code)
    response = answer.review.get("response")
    if response is None:
        raise _invalid("webhook response was absent")
    if call.version == "v1":
        _verify(call, answer, response)
    return _verdict(call, response)


def _invalid(reason: str) -> CallFailed:
    return CallFailed(f"received invalid webhook response: {reason}")


def _verify(call: Call, answer: Answer, response: Mapping[str, Any]) -> None:
    """v1 is strict about uid, kind and patches; v1beta1 checks none of them."""
    assert answer.review is not None
    given = response.get("uid") or ""
    if given != answer.uid:
        raise _invalid(f"expected response.uid={quoted(answer.uid)}, got {quoted(given)}")
    api_version, kind = answer.review.get("apiVersion") or "", answer.review.get("kind") or ""
    if (api_version, kind) != ("admission.k8s.io/v1", "AdmissionReview"):
        group, _, version = api_version.rpartition("/")
        raise _invalid(f"expected webhook response of {EXPECTED}, got {group}/{version}, Kind={kind}")
    patched, typed = bool(response.get("patch")), response.get("patchType") is not None
    if not call.mutating:
        if patched:
            raise _invalid("validating webhook may not return response.patch")
        if typed:
            raise _invalid("validating webhook may not return response.patchType")
        return
    if patched and not typed:
        raise _invalid("webhook returned response.patch but not response.patchType")
    if typed and not patched:
        raise _invalid("webhook returned response.patchType but not response.patch")
    if typed and response["patchType"] == "":
        raise _invalid('webhook returned invalid response.patchType of ""')


def _verdict(call: Call, response: Mapping[str, Any]) -> Verdict:
    patch = b64decode(response.get("patch") or "") if call.mutating else b""
    patch_type = response.get("patchType") or "" if call.version == "v1" else "JSONPatch" if patch else ""
    return Verdict(
        allowed=bool(response.get("allowed")),
        patch=patch,
        patch_type=patch_type if call.mutating else "",
        result=response.get("status"),
        warnings=tuple(response.get("warnings") or ()),
        annotations=response.get("auditAnnotations") or {},
    )


def denial(name: str, result: Mapping[str, Any] | None) -> Status:
    """The Status of a request that a webhook denied."""
    given = result or {}
    denied = f"admission webhook {quoted(name)} denied the request"
    message, reason = given.get("message") or "", given.get("reason") or ""
    text = f"{denied}: {message or reason}" if message or reason else f"{denied} without explanation"
    code = given.get("code") or 0
    return Status(
        code=code if code >= 400 else 400,
        reason=reason,
        message=text,
        details=_details(given.get("details")),
        metadata=dict(given.get("metadata") or {}),
        status=given["status"] if given.get("status") not in (None, "", "Success") else "Failure",
    )


def _details(raw: Mapping[str, Any] | None) -> Details | None:
    if raw is None:
        return None
    causes = tuple(Cause(c.get("reason") or "", c.get("message") or "", c.get("field") or "") for c in raw.get("causes") or ())
    return Details(
        name=raw.get("name") or "",
        group=raw.get("group") or "",
        kind=raw.get("kind") or "",
        uid=raw.get("uid") or "",
        causes=causes,
        retry_after_seconds=raw.get("retryAfterSeconds") or 0,
    )
