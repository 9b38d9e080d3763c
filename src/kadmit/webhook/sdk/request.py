"""What a function that answers reviews is given and may say: the request, a refusal, warnings, audit annotations."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from kadmit.api.meta import GroupVersionKind, GroupVersionResource

Object: TypeAlias = dict[str, Any]
"""A Kubernetes object, as JSON has it."""


class Deny(Exception):
    """Raised to refuse a request. `code` is what the client gets, from 400 on; `reason` is Kubernetes' word for it, by default
    the one that goes with the code; `details` is that field of a Status."""

    def __init__(self, message: str, code: int = 403, *, reason: str = "", details: Mapping[str, Any] | None = None) -> None:
        if not 400 <= code <= 599:
            raise ValueError(f"code of a refusal must be from 400 to 599, not {code}")
        super().__init__(message)
        self.message, self.code, self.reason, self.details = message, code, reason, details


class User(Struct, frozen=True):
    """Who made the request."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] | None = None


class Request:
    """A request as admission sees it. `raw` is the AdmissionRequest as it came; all else is read from it when asked for."""

    __slots__ = ("annotations", "raw", "warnings")

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw
        self.warnings: list[str] = []
        self.annotations: dict[str, str] = {}

    def warn(self, text: str) -> None:
        """Shown to the user as a warning, whatever the verdict is."""
        self.warnings.append(str(text))

    def audit(self, key: str, value: object) -> None:
        """Written to the audit log of the API server, under the webhook's name and this key."""
        self.annotations[key] = str(value)

    @property
    def uid(self) -> str:
        return self._text("uid")

    @property
    def operation(self) -> str:
        """CREATE, UPDATE, DELETE or CONNECT."""
        return self._text("operation")

    @property
    def name(self) -> str:
        """Empty if the API server is to make it up."""
        return self._text("name")

    @property
    def namespace(self) -> str:
        """Empty for what has none."""
        return self._text("namespace")

    @property
    def subresource(self) -> str:
        """Such as `status` or `scale`; empty for the object itself."""
        return self._text("subResource")

    @property
    def user(self) -> User:
        found = self.raw.get("userInfo") or {}
        extra = {key: tuple(values) for key, values in (found.get("extra") or {}).items()}
        return User(found.get("username") or "", found.get("uid") or "", tuple(found.get("groups") or ()), extra)

    @property
    def dry_run(self) -> bool:
        """Nothing will be stored, so nothing else may be changed, either."""
        return bool(self.raw.get("dryRun"))

    @property
    def kind(self) -> GroupVersionKind:
        """Of the object that came; for subresources its own, such as Scale."""
        return GroupVersionKind(*self._names("kind", "kind"))

    @property
    def resource(self) -> GroupVersionResource:
        return GroupVersionResource(*self._names("resource", "resource"))

    @property
    def request_kind(self) -> GroupVersionKind:
        """As the user asked, where `kind` is an equivalent that the rules name."""
        return GroupVersionKind(*self._names("requestKind" if self.raw.get("requestKind") else "kind", "kind"))

    @property
    def request_resource(self) -> GroupVersionResource:
        return GroupVersionResource(
            *self._names("requestResource" if self.raw.get("requestResource") else "resource", "resource")
        )

    @property
    def object(self) -> Object | None:
        """None on DELETE."""
        found: Object | None = self.raw.get("object")
        return found

    @property
    def old_object(self) -> Object | None:
        """What is stored; None on CREATE."""
        found: Object | None = self.raw.get("oldObject")
        return found

    @property
    def options(self) -> Object:
        """CreateOptions, UpdateOptions, PatchOptions or DeleteOptions; empty where there are none."""
        return self.raw.get("options") or {}

    def _text(self, field: str) -> str:
        return self.raw.get(field) or ""

    def _names(self, field: str, last: str) -> tuple[str, str, str]:
        found = self.raw.get(field) or {}
        return found.get("group") or "", found.get("version") or "", found.get(last) or ""

    def __repr__(self) -> str:
        return f"<{self.operation} {self.kind.kind} {self.namespace}/{self.name}>"
