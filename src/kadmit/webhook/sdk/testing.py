"""Handlers without a server: reviews in, answers out; or plain objects in, and what became of them.

Which handlers are asked is decided by their rules, as an API server does. Selectors and match conditions take no part: these
need a cluster, and `kadmit webhook run` against `kadmit serve` has one.
"""

import asyncio
import base64
import threading
from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson
from msgspec import Struct

from kadmit.api.meta import GroupVersionResource, parse_api_version
from kadmit.matching.rules import compile_rules
from kadmit.patch import jsonpatch
from kadmit.webhook import review as wire
from kadmit.webhook.review import Json, Response, Review
from kadmit.webhook.sdk import registration
from kadmit.webhook.sdk.handlers import Handler

if TYPE_CHECKING:
    from kadmit.webhook.sdk.app import App


class Verdict(Struct, frozen=True):
    """What became of an object. `object` is it after the patch; None where the request is refused, or deletes."""

    allowed: bool
    object: Json | None
    patch: tuple[Json, ...]
    code: int
    reason: str
    message: str
    warnings: tuple[str, ...]
    annotations: Mapping[str, str]


def review(app: "App", body: bytes | Mapping[str, Any], path: str) -> Json:
    """Raises BadReview, NoVerdict, and KeyError for a path that no handler has."""
    asked = wire.read(body if isinstance(body, bytes) else orjson.dumps(body))
    answered: Json = orjson.loads(wire.write(asked, _answered(app, asked, path)))
    return answered


def _answered(app: "App", asked: Review, path: str) -> Response:
    handlers = [app.handlers[path]] if path else matching(app, asked.request)
    return _run(app.answer(asked, handlers))


def matching(app: "App", asked: Mapping[str, Any]) -> list[Handler]:
    """The handlers whose rules are about a request, mutating ones first."""
    names = asked.get("resource") or {}
    resource = GroupVersionResource(names.get("group") or "", names.get("version") or "", names.get("resource") or "")
    found = [handler for handler in app.handlers.values() if _is_about(handler, resource, asked)]
    return sorted(found, key=lambda handler: not handler.mutating)


def _is_about(handler: Handler, resource: GroupVersionResource, asked: Mapping[str, Any]) -> bool:
    subresource, operation = asked.get("subResource") or "", asked.get("operation") or ""
    cluster = not asked.get("namespace") or resource == ("", "v1", "namespaces")
    for rule in compile_rules(registration.rules(handler)):
        if (
            rule.could_match(resource.group, resource.resource, subresource, operation)
            and (handler.match_policy == "Equivalent" or not rule.versions.isdisjoint((resource.version, "*")))
            and rule.scope in ("*", "Cluster" if cluster else "Namespaced")
        ):
            return True
    return False


def _run(work: Coroutine[Any, Any, Response]) -> Response:
    """NB: where an event loop runs already, another one in another thread; a test may be a coroutine itself."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    found: list[Response | BaseException] = []

    def elsewhere() -> None:
        try:
            found.append(asyncio.run(work))
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


# ------------------------------------------------------------ plain objects


def request(
    new: Json | None,
    old: Json | None,
    operation: str | None,
    *,
    user: str,
    groups: Sequence[str],
    namespace: str,
    subresource: str,
) -> Json:
    """An AdmissionRequest for an object. Raises ValueError for one that does not say what it is."""
    subject = new if new is not None else old
    if subject is None:
        raise ValueError("an object is needed, new or old")
    kind, resource, namespaced = _names(subject)
    metadata = subject.get("metadata") or {}
    made: Json = {
        "uid": "00000000-0000-0000-0000-000000000000",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "operation": operation or _operation(new, old),
        "userInfo": {"username": user, "groups": list(groups)},
        "object": new,
        "oldObject": old,
    }
    if metadata.get("name"):
        made["name"] = metadata["name"]
    if namespaced:
        made["namespace"] = metadata.get("namespace") or namespace
    return {**made, "subResource": subresource} if subresource else made


def _operation(new: Json | None, old: Json | None) -> str:
    return "DELETE" if new is None else "CREATE" if old is None else "UPDATE"


def _names(subject: Json) -> tuple[Json, Json, bool]:
    """Kind, resource, and whether it lies in a namespace. What is not Kubernetes' own is taken to have the usual plural."""
    from kadmit.kinds import catalog

    api_version, kind = subject.get("apiVersion"), subject.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        raise ValueError("an object needs its apiVersion and kind")
    group, version = parse_api_version(api_version)
    known = catalog.builtin().kind(group, version, kind)
    plural = known.plural if known else f"{kind.lower()}s"
    place = {"group": group, "version": version}
    return {**place, "kind": kind}, {**place, "resource": plural}, known.namespaced if known else True


def admit(app: "App", asked: Json) -> Verdict:
    review = Review("v1", asked["uid"], orjson.loads(orjson.dumps(asked)))  # the caller's object stays as it is
    answered: Json = orjson.loads(wire.write(review, _answered(app, review, "")))["response"]
    status, patch = answered.get("status") or {}, base64.b64decode(answered.get("patch") or "")
    changed = asked["object"] if answered["allowed"] else None
    if changed is not None and patch:
        changed = jsonpatch.decode(patch).apply(changed)
    return Verdict(
        allowed=answered["allowed"],
        object=changed,
        patch=tuple(orjson.loads(patch or b"[]")),
        code=status.get("code", 0),
        reason=status.get("reason", ""),
        message=status.get("message", ""),
        warnings=tuple(answered.get("warnings", ())),
        annotations=answered.get("auditAnnotations", {}),
    )
