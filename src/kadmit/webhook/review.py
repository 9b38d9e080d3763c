"""AdmissionReview, v1 and v1beta1: from the bytes of a question to the bytes of its answer.

The versions differ in their name only, so one reader and one writer serve both. What an API server would not take as an answer
(a patch without its type, annotations that are no text) cannot be written here.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import orjson
from msgspec import Struct, field

Json: TypeAlias = dict[str, Any]

GROUP = "admission.k8s.io"
VERSIONS = ("v1", "v1beta1")
REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Gone",
    413: "RequestEntityTooLarge",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}

_API_VERSIONS = {f"{GROUP}/{version}": version for version in VERSIONS}


class BadReview(ValueError):
    """A body that asks nothing; the message says what is wrong with it."""


class NoVerdict(Exception):
    """Raised instead of answering: the caller gets an HTTP error, and its failurePolicy decides what comes of it."""

    def __init__(self, message: str, code: int = 500) -> None:
        super().__init__(message)
        self.code = code


class Review(Struct, frozen=True):
    """A question. `request` is the AdmissionRequest as it came."""

    version: str
    uid: str
    request: Json


class Response(Struct, frozen=True):
    """An answer. `patch` holds operations of a JSON patch, `status` the fields of a Status: code, reason, message, details."""

    allowed: bool
    patch: Sequence[Mapping[str, Any]] = ()
    status: Mapping[str, Any] | None = None
    warnings: Sequence[str] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)


def status(code: int, message: str, reason: str = "") -> Json:
    """The Status of a refusal; the reason is Kubernetes' own for the code, if none is given."""
    known = reason or REASONS.get(code, "")
    return {"code": code, "message": message, **({"reason": known} if known else {})}


def denied(message: str, code: int = 403, reason: str = "") -> Response:
    return Response(allowed=False, status=status(code, message, reason))


def read(body: bytes) -> Review:
    """Raises BadReview."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadReview(f"body is not JSON: {error}" if body else "body is empty") from None
    if not isinstance(found, dict):
        raise BadReview(f"body is no AdmissionReview: it is {_kind(found)}")
    return _review(found)


def _review(found: Json) -> Review:
    version = _API_VERSIONS.get(api_version) if isinstance(api_version := found.get("apiVersion"), str) else None
    if version is None or found.get("kind") != "AdmissionReview":
        instead = f"apiVersion {_quoted(api_version)}, kind {_quoted(found.get('kind'))}"
        raise BadReview(f"body is no AdmissionReview of {' or '.join(_API_VERSIONS)}: {instead}")
    request = found.get("request")
    if not isinstance(request, dict):
        raise BadReview("request: must be an object" if request is not None else "request: missing")
    uid = request.get("uid")
    if not isinstance(uid, str) or not uid:
        raise BadReview("request.uid: must be a text that is not empty")
    return Review(version, uid, request)


def write(review: Review, response: Response) -> bytes:
    """The answer to a review, ready to be sent."""
    made: Json = {"uid": review.uid, "allowed": response.allowed}
    if response.patch:
        made["patch"] = base64.b64encode(orjson.dumps(list(response.patch))).decode()
        made["patchType"] = "JSONPatch"
    if response.status is not None:
        made["status"] = response.status
    if response.warnings:
        made["warnings"] = list(response.warnings)
    if response.annotations:
        made["auditAnnotations"] = dict(response.annotations)
    return orjson.dumps({"apiVersion": f"{GROUP}/{review.version}", "kind": "AdmissionReview", "response": made})


def _kind(value: object) -> str:
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return "a text" if isinstance(value, str) else _quoted(value)


def _quoted(value: object) -> str:
    """NB: what a caller sends may be large, and deeper than can be written."""
    return _kind(value) if isinstance(value, list | dict) else orjson.dumps(value).decode()[:64]
