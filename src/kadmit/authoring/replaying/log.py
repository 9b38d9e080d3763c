"""An API server's audit log, line by line: which request each event tells of, or why it cannot be replayed.

Only an event that ends a request (stage ResponseComplete) counts, for others tell of the same request. The log has objects from
level Request on. A patch is replayed by what came of it, which only level RequestResponse has. NB: servers leave out what is
secret or too large, each in its own way; whatever is missing is a reason that is counted, never silence.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

import orjson
from msgspec import Struct

from kadmit.api.meta import GroupVersionResource
from kadmit.authoring.request import MANAGER
from kadmit.cel.library.authorizer import User
from kadmit.matching.attributes import CREATE, DELETE, UPDATE
from kadmit.resources import connections

Json: TypeAlias = dict[str, Any]

MAX_LINE = 64 * 1024 * 1024
GROUP = "audit.k8s.io/"

_READS = frozenset({"get", "list", "watch", "head", "options"})
_WRITES = frozenset({"create", "update", "patch", "delete"})
_CONNECTIONS = connections.SUBRESOURCES | {"log"}
_WITH_OBJECTS = ("Request", "RequestResponse")


class Origin(Struct, frozen=True):
    """Where a request stands in the log, for examples."""

    audit_id: str
    at: str
    user: str
    uri: str


class Logged(Struct, frozen=True):
    """A request that was admitted at the time, as far as the log tells of it."""

    operation: str
    resource: GroupVersionResource
    subresource: str
    namespace: str
    name: str
    sent: Json | None  # the object that was sent; of a patch, what came of it; None of a deletion
    stored: Json | None  # what came of it, where the log has that
    user: User
    dry_run: bool
    manager: str
    origin: Origin


class Unreplayable(Struct, frozen=True):
    """An event that stands for no write, or for one that cannot be made again."""

    reason: str
    origin: Origin | None = None
    is_lost: bool = True  # False: there was nothing to replay
    is_event: bool = True  # False: it is no audit event at all


Line: TypeAlias = Logged | Unreplayable


def read(line: bytes) -> Iterator[Line]:
    """What one line of the log tells: one event, or a list of them."""
    if not line.strip():
        return
    if len(line) > MAX_LINE:
        yield Unreplayable(f"line is longer than {MAX_LINE} bytes", is_event=False)
        return
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        yield Unreplayable("line is not JSON", is_event=False)
        return
    yield from map(_event, _events(value))


def _events(value: Any) -> list[Any]:
    if isinstance(value, dict) and value.get("kind") == "EventList" and isinstance(value.get("items"), list):
        return [
            {"kind": "Event", "apiVersion": value.get("apiVersion"), **e} if isinstance(e, dict) else e for e in value["items"]
        ]
    return [value]


def _event(event: Any) -> Line:
    if not isinstance(event, dict) or event.get("kind") != "Event" or not str(event.get("apiVersion")).startswith(GROUP):
        return Unreplayable("line is no audit event (audit.k8s.io/v1, kind Event)", is_event=False)
    try:
        return _read(event)
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        return Unreplayable(f"event is malformed ({type(error).__name__})", is_event=False)


def _read(event: Json) -> Line:
    origin = _origin(event)
    nothing = _no_write(event)
    if nothing:
        return Unreplayable(nothing, origin, is_lost=False)
    missing = _what_is_missing(event)
    if missing:
        return Unreplayable(missing, origin)
    operation = _operation(event)
    sent, stored = _objects(event)
    reference, query = event["objectRef"], parse_qs(urlsplit(str(event.get("requestURI") or "")).query)
    metadata = (stored or sent or {}).get("metadata") or {}
    return Logged(
        operation,
        GroupVersionResource(
            *(str(reference.get(k) or d) for k, d in (("apiGroup", ""), ("apiVersion", "v1"), ("resource", "")))
        ),
        str(reference.get("subresource") or ""),
        str(reference.get("namespace") or ""),
        str(reference.get("name") or metadata.get("name") or ""),
        None if operation == DELETE else sent,
        stored,
        _user(event.get("impersonatedUser") or event.get("user") or {}),
        bool(query.get("dryRun")),
        (query.get("fieldManager") or [MANAGER])[0],
        origin,
    )


def _origin(event: Json) -> Origin:
    user = event.get("impersonatedUser") or event.get("user") or {}
    at = event.get("requestReceivedTimestamp") or event.get("stageTimestamp") or ""
    return Origin(str(event.get("auditID") or ""), str(at), str(user.get("username") or ""), str(event.get("requestURI") or ""))


def _user(raw: Mapping[str, Any]) -> User:
    extra = {str(k): tuple(map(str, v)) for k, v in (raw.get("extra") or {}).items()}
    return User(str(raw.get("username") or ""), str(raw.get("uid") or ""), tuple(map(str, raw.get("groups") or ())), extra)


# ---------------------------------------------------------------- reasons


def _no_write(event: Json) -> str:
    """Why an event is about nothing that was written; empty if it is."""
    verb, stage = str(event.get("verb")), str(event.get("stage"))
    reference = event.get("objectRef") or {}
    code = (event.get("responseStatus") or {}).get("code") or 0
    if stage != "ResponseComplete":
        return f"stage {stage}: only ResponseComplete tells how a request ended"
    if not reference.get("resource"):
        return "not about a resource"
    if reference.get("subresource") in _CONNECTIONS:
        return f"{reference['subresource']}: nothing is written"
    if verb in _READS:
        return "nothing is written (get, list, watch)"
    return "" if 200 <= code < 300 else f"refused at the time (code {code})"


def _what_is_missing(event: Json) -> str:
    """Why a write cannot be replayed; empty if it can."""
    verb, level = str(event.get("verb")), str(event.get("level"))
    if verb == "deletecollection":
        return "deletecollection: the log does not say which objects went"
    if verb not in _WRITES:
        return f"verb {verb}: not known"
    if level not in _WITH_OBJECTS:
        return f"level {level}: the log has no objects (Request or RequestResponse is needed)"
    if (event.get("annotations") or {}).get("audit.k8s.io/truncated") == "true":
        return "cut short by the size limit of the log"
    if verb == "patch" and level == "Request":
        return "patch at level Request: the log has the patch, not what came of it (RequestResponse is needed)"
    needed = {"patch": "responseObject", "create": "requestObject", "update": "requestObject"}.get(verb)
    if needed and not isinstance(event.get(needed), dict):
        return f"{verb} without {needed}: the log leaves it out"
    return ""


# ---------------------------------------------------------------- objects


def _operation(event: Json) -> str:
    """NB: a patch or an update may make an object, and says so with its code."""
    verb, code = event["verb"], event["responseStatus"]["code"]
    if verb == "delete":
        return DELETE
    return CREATE if verb == "create" or code == 201 else UPDATE


def _objects(event: Json) -> tuple[Json | None, Json | None]:
    """What was sent, and what came of it."""
    answered = event.get("responseObject")
    stored = answered if isinstance(answered, dict) and answered.get("kind") != "Status" else None
    return (stored if event["verb"] == "patch" else event.get("requestObject")), stored
