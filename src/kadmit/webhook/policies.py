"""Policies as a webhook: from a review, through the engine's own chain, to the answer.

The engine decides as it does inside an API server: matching, match conditions, params, variables, failure policy, reinvocation
among the policies. What they changed comes back as the JSON patch between the object that was sent and what became of it.

One configuration of webhooks has several entries, since failurePolicy and reinvocationPolicy belong to an entry. Each entry runs
its `Share` of the policies. NB: a second call of the same request cannot be told from the first, so policies that must run once
have an entry of their own, which is called once.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from kadmit.admission import chain
from kadmit.admission.outcome import Record
from kadmit.admission.snapshot import Snapshot
from kadmit.api.errors import ApiError
from kadmit.api.meta import GroupVersionKind, GroupVersionResource
from kadmit.cel.library.authorizer import User
from kadmit.kinds.conversion import UnknownConversion
from kadmit.matching.attributes import CONNECT, CREATE, DELETE, UPDATE, Attributes, Json
from kadmit.policy.model import BoundPolicy
from kadmit.policy.world import World
from kadmit.webhook import patching
from kadmit.webhook.patching import Operation
from kadmit.webhook.review import BadReview, Response

MUTATE, VALIDATE = "/mutate", "/validate"
_OPERATIONS = (CREATE, UPDATE, DELETE, CONNECT)
_MAX_KEY = 63  # characters of an audit annotation's name


class Share(Struct, frozen=True):
    """Some of the policies: those of one half, with this failurePolicy and this reinvocationPolicy; None is any."""

    mutating: bool
    fail: bool | None = None
    reinvoke: bool | None = None

    @property
    def path(self) -> str:
        """Where it is served: /validate/fail, /mutate/ignore/never."""
        parts = [MUTATE if self.mutating else VALIDATE]
        if self.fail is not None:
            parts.append("fail" if self.fail else "ignore")
        if self.reinvoke is not None:
            parts.append("ifneeded" if self.reinvoke else "never")
        return "/".join(parts)

    def holds(self, bound: BoundPolicy) -> bool:
        policy = bound.policy
        return self.fail in (None, policy.fail) and (not self.mutating or self.reinvoke in (None, policy.reinvoke))

    def of(self, snapshot: Snapshot) -> Snapshot:
        """The part of a snapshot that is this share."""
        return Snapshot(
            mutating_policies=tuple(filter(self.holds, snapshot.mutating_policies)) if self.mutating else (),
            validating_policies=() if self.mutating else tuple(filter(self.holds, snapshot.validating_policies)),
        )


def shares() -> Iterator[Share]:
    """Every share that has a path: all of a half, and what a configuration's entries are made of, in their order.

    NB: those that run once come first, so that what they change need not bring the others back.
    """
    yield from (Share(mutating=True), Share(mutating=False))
    yield from entries()


def entries() -> Iterator[Share]:
    for reinvoke in (False, True):
        yield from (Share(mutating=True, fail=fail, reinvoke=reinvoke) for fail in (True, False))
    yield from (Share(mutating=False, fail=fail) for fail in (True, False))


# ---------------------------------------------------------------- from the review


def attributes_of(request: Mapping[str, Any]) -> Attributes:
    """The request as admission sees it, its objects in the version that they were sent in. Raises BadReview.

    Kind and resource are those that the user asked for: policies match on them, whatever the API server converted to.
    """
    operation = _text(request, "operation")
    if operation not in _OPERATIONS:
        raise BadReview(f"request.operation: must be one of {', '.join(_OPERATIONS)}")
    kind, resource = _kind(request, "kind"), _resource(request, "resource")
    return Attributes(
        kind=_kind(request, "requestKind") if request.get("requestKind") is not None else kind,
        resource=_resource(request, "requestResource") if request.get("requestResource") is not None else resource,
        operation=operation,
        name=_text(request, "name"),
        namespace=_text(request, "namespace"),
        subresource=_text(request, "requestSubResource") or _text(request, "subResource"),
        object=_object(request, "object"),
        old_object=_object(request, "oldObject"),
        options=_object(request, "options"),
        dry_run=request.get("dryRun") is True,
        user=_user(_object(request, "userInfo") or {}),
    )


def _text(raw: Mapping[str, Any], name: str, at: str = "request") -> str:
    value = raw.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadReview(f"{at}.{name}: must be a text")
    return value


def _object(raw: Mapping[str, Any], name: str) -> Json | None:
    value = raw.get(name)
    if value is not None and not isinstance(value, dict):
        raise BadReview(f"request.{name}: must be an object")
    return value


def _kind(request: Mapping[str, Any], name: str) -> GroupVersionKind:
    raw = _object(request, name) or {}
    return GroupVersionKind(*(_text(raw, part, f"request.{name}") for part in ("group", "version", "kind")))


def _resource(request: Mapping[str, Any], name: str) -> GroupVersionResource:
    raw = _object(request, name) or {}
    return GroupVersionResource(*(_text(raw, part, f"request.{name}") for part in ("group", "version", "resource")))


def _user(raw: Mapping[str, Any]) -> User:
    extra = raw.get("extra") or {}
    if not isinstance(extra, dict):
        raise BadReview("request.userInfo.extra: must be an object")
    return User(
        _text(raw, "username", "request.userInfo"),
        _text(raw, "uid", "request.userInfo"),
        _texts(raw.get("groups"), "groups"),
        {str(key): _texts(values, f"extra[{key}]") for key, values in extra.items()},
    )


def _texts(value: object, name: str) -> tuple[str, ...]:
    if value is not None and not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
        raise BadReview(f"request.userInfo.{name}: must be a list of texts")
    return tuple(cast("list[str]", value or ()))


# ---------------------------------------------------------------- through the chain


def judge(request: Mapping[str, Any], share: Share, snapshot: Snapshot, world: World, record: Record | None = None) -> Response:
    """What the policies of a share say. `snapshot` holds no others. Raises BadReview."""
    sent = attributes_of(request)
    record = Record() if record is None else record
    try:
        asked = _as_asked(sent, world)
        if share.mutating:
            outcome = chain.drive(chain.mutate(snapshot, asked, world, record), lambda _calls: ())
            patch = _patch(sent.object, _as_sent(outcome.object, request, asked, world))
        else:
            chain.drive(chain.validate(snapshot, asked, world, record), lambda _calls: ())
            patch = []
    except ApiError as error:
        return Response(allowed=False, status=error.status.as_json(), warnings=record.warnings, annotations=_annotations(record))
    return Response(allowed=True, patch=patch, warnings=record.warnings, annotations=_annotations(record))


def _as_asked(sent: Attributes, world: World) -> Attributes:
    """Objects in the version that the user asked for, as they would be inside an API server."""
    new, old = (_converted(value, sent.kind, world) for value in (sent.object, sent.old_object))
    return replace(sent, object=new, old_object=old)


def _as_sent(after: Json | None, request: Mapping[str, Any], asked: Attributes, world: World) -> Json | None:
    """What policies made of the object, in the version that came with the review."""
    kind = _kind(request, "kind")
    return after if kind == asked.kind else _converted(after, kind, world)


def _converted(value: Json | None, kind: GroupVersionKind, world: World) -> Json | None:
    """NB: options of a connection are of another kind than the request, and stay what they are."""
    if value is None:
        return None
    try:
        return world.convert(value, kind)
    except UnknownConversion:
        return value


def _patch(before: Json | None, after: Json | None) -> list[Operation]:
    """The operations that make the one of the other; none for an object that nobody changed."""
    if before is None or after is None or after is before:
        return []
    return patching.operations(before, after)


# ---------------------------------------------------------------- words


def _annotations(record: Record) -> dict[str, str]:
    """Audit annotations, by names that can stand behind a webhook's: a name must not have a slash, nor be long."""
    return {annotation_name(key): value for key, value in record.annotations.items()}


def annotation_name(key: str) -> str:
    name = key.replace("/", ".")
    if len(name) <= _MAX_KEY:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{digest}.{name[len(name) - _MAX_KEY + 9 :].lstrip('-_.')}"
