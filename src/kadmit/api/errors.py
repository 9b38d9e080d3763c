"""Status: what the API answers when it cannot do what was asked. Every general text that Kubernetes has, in one place.

`ApiError` carries a Status; pure code raises it, or returns it, and the edge turns it into a response.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from kadmit.api import fields
from kadmit.api.fields import FieldError
from kadmit.api.gojson import quoted
from kadmit.api.meta import GroupKind, GroupResource


class Cause(Struct, frozen=True):
    reason: str = ""
    message: str = ""
    field: str = ""

    def as_json(self) -> dict[str, Any]:
        made = {"reason": self.reason, "message": self.message, "field": self.field}
        return {k: v for k, v in made.items() if v}


class Details(Struct, frozen=True):
    """What the failed request was about. `kind` holds a resource (or, for Invalid, a kind), as in Kubernetes."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[Cause, ...] = ()
    retry_after_seconds: int = 0

    def as_json(self) -> dict[str, Any]:
        made: dict[str, Any] = {"name": self.name, "group": self.group, "kind": self.kind, "uid": self.uid}
        made["causes"] = [c.as_json() for c in self.causes]
        made["retryAfterSeconds"] = self.retry_after_seconds
        return {k: v for k, v in made.items() if v}


class Status(Struct, frozen=True):
    """metav1.Status of a failure."""

    code: int
    reason: str
    message: str
    details: Details | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    status: str = "Failure"
    bare: bool = False  # told by somebody who knows nothing of kinds

    def as_json(self) -> dict[str, Any]:
        made: dict[str, Any] = {} if self.bare else {"kind": "Status", "apiVersion": "v1"}
        made |= {"metadata": self.metadata, "status": self.status}
        if self.message:
            made["message"] = self.message
        if self.reason:
            made["reason"] = self.reason
        if self.details is not None:
            made["details"] = self.details.as_json()
        made["code"] = self.code
        return made


class ApiError(Exception):
    """A request that fails with this Status; str() is its message."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status

    def with_message(self, message: str) -> "ApiError":
        return ApiError(replace(self.status, message=message))


def _about(resource: GroupResource, name: str = "", *, causes: Sequence[Cause] = (), retry: int = 0) -> Details:
    return Details(name, resource.group, resource.resource, causes=tuple(causes), retry_after_seconds=retry)


def not_found(resource: GroupResource, name: str) -> ApiError:
    return ApiError(Status(404, "NotFound", f"{resource} {quoted(name)} not found", _about(resource, name)))


def already_exists(resource: GroupResource, name: str) -> ApiError:
    return ApiError(Status(409, "AlreadyExists", f"{resource} {quoted(name)} already exists", _about(resource, name)))


def generate_name_conflict(resource: GroupResource, name: str, retry: int = 1) -> ApiError:
    text = f"{resource} {quoted(name)} already exists, the server was not able to generate a unique name for the object"
    return ApiError(Status(409, "AlreadyExists", text, _about(resource, name, retry=retry)))


def unauthorized(message: str = "Unauthorized") -> ApiError:
    return ApiError(Status(401, "Unauthorized", message))


def forbidden(resource: GroupResource, name: str, cause: str) -> ApiError:
    about = str(resource) if resource.resource or resource.group else ""
    who = f"{about} {quoted(name)} is forbidden" if about and name else f"{about} is forbidden" if about else "forbidden"
    return ApiError(Status(403, "Forbidden", f"{who}: {cause}", _about(resource, name)))


def conflict(resource: GroupResource, name: str, cause: str) -> ApiError:
    text = f"Operation cannot be fulfilled on {resource} {quoted(name)}: {cause}"
    return ApiError(Status(409, "Conflict", text, _about(resource, name)))


def apply_conflict(causes: Sequence[Cause], message: str) -> ApiError:
    return ApiError(Status(409, "Conflict", message, Details(causes=tuple(causes))))


def expired(message: str) -> ApiError:
    return ApiError(Status(410, "Expired", message))


def gone(message: str) -> ApiError:
    return ApiError(Status(410, "Gone", message))


def invalid(kind: GroupKind, name: str, found: Sequence[FieldError]) -> ApiError:
    causes = tuple(Cause(e.type.reason, e.body, e.field) for e in found)
    text = f"{kind} {quoted(name)} is invalid"
    if found:
        text = f"{text}: {fields.aggregate([str(e) for e in found])}"
    return ApiError(Status(422, "Invalid", text, Details(name, kind.group, kind.kind, causes=causes)))


def not_found_path() -> ApiError:
    """A path that leads nowhere."""
    return ApiError(Status(404, "NotFound", "the server could not find the requested resource", Details()))


def method_not_allowed() -> ApiError:
    return ApiError(Status(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", Details()))


def bad_request(message: str) -> ApiError:
    return ApiError(Status(400, "BadRequest", message))


def service_unavailable(message: str) -> ApiError:
    return ApiError(Status(503, "ServiceUnavailable", message))


def internal(message: str) -> ApiError:
    details = Details(causes=(Cause(message=message),))
    return ApiError(Status(500, "InternalError", f"Internal error occurred: {message}", details))


def timeout(message: str, retry: int = 0) -> ApiError:
    return ApiError(Status(504, "Timeout", f"Timeout: {message}", Details(retry_after_seconds=retry)))


def out_of_time() -> ApiError:
    """The whole request took too long, whatever it was doing."""
    error = timeout("request did not complete within the allotted timeout")
    return ApiError(replace(error.status, bare=True))


def entity_too_large(message: str) -> ApiError:
    return ApiError(Status(413, "RequestEntityTooLarge", f"Request entity too large: {message}"))


def unsupported_media_type(supported: Sequence[str]) -> ApiError:
    listed = ", ".join(supported)
    text = f"the body of the request was in an unknown format - accepted media types include: {listed}"
    return ApiError(Status(415, "UnsupportedMediaType", text))


def not_acceptable(supported: Sequence[str]) -> ApiError:
    text = f"only the following media types are accepted: {', '.join(supported)}"
    return ApiError(Status(406, "NotAcceptable", text))
