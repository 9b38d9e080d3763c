"""The audit trail: events as kube-apiserver writes them, one for each stage of a request that the policy wants recorded.

A `Trail` follows one request. It is told what happens, keeps what the level allows, and writes an event where a stage ends.
Objects are encoded when they are told, since what comes later may change them.

NB: a patch that is not JSON (server-side apply takes YAML) costs the request its event at level Request, as in Kubernetes; the
loss is counted.
"""

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol, TypeAlias

import orjson
from msgspec import Struct, field

from kadmit.api.auditpolicy import Decision, Level, Policy, Stage
from kadmit.cel.library.authorizer import Attributes, User
from kadmit.patch import goscanner
from kadmit.server.metrics import Metrics

Json: TypeAlias = Any

HEADER = "Audit-Id"
MAX_USER_AGENT = 1024

_BLANKS = re.compile(rb'("(?:[^"\\]|\\.)*")|[ \t\r\n]+')
_NO_DECISION = Decision(Level.NONE)


class Sink(Protocol):
    """Where events go. A seam, so that tests and tools can look at them."""

    def write(self, line: bytes) -> None:
        """Raises OSError."""


class Request(Struct, frozen=True):
    """What is known of a request as soon as it has come in. `received` counts seconds since 1970."""

    id: str
    uri: str
    received: float
    source_ips: tuple[str, ...] = ()
    user_agent: str = ""


class Auditor(Struct):
    """One server's auditing. `strict` (mode blocking-strict) refuses requests whose first event cannot be written."""

    policy: Policy | None = None
    sink: Sink | None = None
    metrics: Metrics = field(default_factory=Metrics)
    strict: bool = False
    clock: Callable[[], float] = time.time
    failed: Callable[[str, Exception], None] = lambda _id, _error: None  # told of each event that is lost

    def follow(self, request: Request, asked: Attributes) -> "Trail":
        """Begins a trail, once it is known who asks. NB: without a policy or a log nothing is recorded."""
        if self.policy is None or self.sink is None:
            return Trail(self, request, asked, _NO_DECISION)
        decision = self.policy.decide(asked)
        self.metrics.count("apiserver_audit_level_total", level=decision.level.text)
        return Trail(self, request, asked, decision)

    def write(self, id_: str, event: Json, lost: str = "") -> bool:
        """`lost` says why an event cannot be written at all."""
        self.metrics.count("apiserver_audit_event_total")
        try:
            if lost:
                raise ValueError(lost)
            if self.sink is not None:
                self.sink.write(encoded(event) + b"\n")
        except (OSError, ValueError, TypeError) as error:
            self.metrics.count("apiserver_audit_error_total", plugin="log")
            self.failed(id_, error)
            return not self.strict
        return True


class Trail:
    """One request's trail. All methods may be called whatever the level: what is not wanted is not kept."""

    __slots__ = ("_annotations", "_asked", "_auditor", "_constraint", "_decision", "_impersonated", "_lost",
                 "_reference", "_request_object", "_response_object", "_status", "request")  # fmt: skip

    def __init__(self, auditor: Auditor, request: Request, asked: Attributes, decision: Decision) -> None:
        self.request = request
        self._auditor = auditor
        self._asked = asked
        self._decision = decision
        self._annotations: dict[str, str] = {}
        self._impersonated: User | None = None
        self._constraint = ""
        self._reference = _reference(asked)
        self._request_object: orjson.Fragment | None = None
        self._response_object: orjson.Fragment | None = None
        self._lost = ""
        self._status: dict[str, Json] | None = None

    @property
    def level(self) -> Level:
        return self._decision.level

    @property
    def enabled(self) -> bool:
        return self._decision.level is not Level.NONE

    # ---- what is told

    def annotate(self, key: str, value: str) -> None:
        """The first value of a key stays."""
        if self.enabled:
            self._annotations.setdefault(key, value)

    def annotate_all(self, annotations: Mapping[str, str], request_level: Iterable[str] = ()) -> None:
        """Those of an admission record; some of its keys (`request_level`) only show from level Request on."""
        hidden = frozenset(request_level) if self.level < Level.REQUEST else frozenset()
        for key, value in annotations.items():
            if key not in hidden:
                self.annotate(key, value)

    def impersonated(self, user: User, constraint: str = "") -> None:
        self._impersonated, self._constraint = user, constraint

    def request_object(self, value: Json, *, group: str = "", version: str = "", resource: str = "") -> None:
        """The object of the request; its metadata completes what the path said of it."""
        if not self.enabled:
            return
        self._complete_reference(value, group=group, version=version, resource=resource)
        if self.level >= Level.REQUEST:
            self._request_object = self._text(value)

    def request_patch(self, body: bytes) -> None:
        """The patch as it was sent."""
        if self.level >= Level.REQUEST:
            fault = _fault(body)
            self._lost = self._lost or fault
            self._request_object = None if fault else orjson.Fragment(_compact(body))

    def response_object(self, value: Json) -> None:
        """What is answered: an object, or the Status of a failure."""
        if not self.enabled:
            return
        if isinstance(value, dict) and value.get("kind") == "Status":
            self._status = {k: value[k] for k in ("status", "message", "reason", "details", "code") if value.get(k)}
        if self.level >= Level.REQUEST_RESPONSE:
            self._response_object = self._text(value)

    # ---- stages

    def received(self) -> bool:
        """RequestReceived. False: the event could not be written, and the request must be refused with a 500."""
        written = self._stage(Stage.REQUEST_RECEIVED, self.request.received)
        if not written:
            self._auditor.metrics.count("apiserver_audit_requests_rejected_total")
        return written

    def started(self, code: int) -> None:
        """ResponseStarted: only for long-running requests, and for those that could not be authenticated."""
        self._answered(code)
        self._stage(Stage.RESPONSE_STARTED)

    def complete(self, code: int) -> None:
        self._answered(code)
        self._stage(Stage.RESPONSE_COMPLETE)

    def closed_early(self) -> None:
        """The client went away before anything was answered."""
        self._status = {"status": "Success", "message": "Connection closed early", "code": 200}
        self._stage(Stage.RESPONSE_COMPLETE)

    def panicked(self, error: object) -> None:
        message = f"APIServer panic'd: {error}"
        self._status = {"status": "Failure", "message": message, "reason": "InternalError", "code": 500}
        self._stage(Stage.PANIC)

    # ---- events

    def _stage(self, stage: Stage, at: float | None = None) -> bool:
        if not self.enabled or stage in self._decision.omit_stages:
            return True
        event = self._event(stage, self._auditor.clock() if at is None else at)
        return self._auditor.write(self.request.id, event, self._lost)

    def _event(self, stage: Stage, at: float) -> dict[str, Json]:
        """NB: in the order in which Kubernetes writes them; what is empty is left out."""
        request = self.request
        event: dict[str, Json] = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": self.level.text,
            "auditID": request.id,
            "stage": stage.value,
            "requestURI": request.uri,
            "verb": self._asked.verb,
            "user": _user(self._asked.user),
        }
        if self._impersonated is not None:
            event["impersonatedUser"] = _user(self._impersonated)
        if self._constraint:
            event["authenticationMetadata"] = {"impersonationConstraint": self._constraint}
        if request.source_ips:
            event["sourceIPs"] = request.source_ips
        if request.user_agent:
            event["userAgent"] = _shortened(request.user_agent)
        if self._reference is not None:
            event["objectRef"] = self._reference
        if self._status is not None:
            event["responseStatus"] = {"metadata": {}, **self._status}
        if self._request_object is not None:
            event["requestObject"] = self._request_object
        if self._response_object is not None:
            event["responseObject"] = self._response_object
        event["requestReceivedTimestamp"] = timestamp(request.received)
        event["stageTimestamp"] = timestamp(at)
        if self._annotations:
            event["annotations"] = dict(sorted(self._annotations.items()))
        return event

    def _answered(self, code: int) -> None:
        self._status = {**(self._status or {}), "code": code}

    def _text(self, value: Json) -> orjson.Fragment | None:
        try:
            return orjson.Fragment(_object_text(without_managed_fields(value) if self._decision.omit_managed_fields else value))
        except (TypeError, ValueError, RecursionError) as error:
            self._lost = f"cannot encode object: {error}"
            return None

    def _complete_reference(self, value: Json, **named: str) -> None:
        metadata = value.get("metadata") if isinstance(value, dict) else None
        found = metadata if isinstance(metadata, dict) else {}
        known = self._reference or {}
        known = known | {
            "namespace": known.get("namespace") or found.get("namespace"),
            "name": known.get("name") or found.get("name"),
            "uid": found.get("uid"),
            "apiGroup": known.get("apiGroup") if known.get("apiVersion") else named["group"],
            "apiVersion": known.get("apiVersion") or named["version"],
            "resourceVersion": found.get("resourceVersion"),
            "resource": known.get("resource") or named["resource"],
        }
        self._reference = {key: known[key] for key in _REFERENCE_KEYS if known.get(key)}


class _Silence(Trail):
    """The trail of a request that nobody records. It keeps nothing, so one serves all."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(Auditor(), Request("", "", 0.0), Attributes(User(""), ""), _NO_DECISION)

    def annotate(self, key: str, value: str) -> None:
        pass

    def annotate_all(self, annotations: Mapping[str, str], request_level: Iterable[str] = ()) -> None:
        pass

    def impersonated(self, user: User, constraint: str = "") -> None:
        pass

    def request_patch(self, body: bytes) -> None:
        pass

    def received(self) -> bool:
        return True

    def started(self, code: int) -> None:
        pass

    def complete(self, code: int) -> None:
        pass

    def closed_early(self) -> None:
        pass

    def panicked(self, error: object) -> None:
        pass


_REFERENCE_KEYS = ("resource", "namespace", "name", "uid", "apiGroup", "apiVersion", "resourceVersion", "subresource")


def _reference(asked: Attributes) -> dict[str, Json] | None:
    if not asked.resource_request:
        return None
    made = {
        "resource": asked.resource,
        "namespace": asked.namespace,
        "name": asked.name,
        "apiGroup": asked.group,
        "apiVersion": asked.version,
        "subresource": asked.subresource,
    }
    return {key: value for key, value in made.items() if value}


def _user(user: User) -> dict[str, Json]:
    made: dict[str, Json] = {"username": user.name} if user.name else {}
    if user.uid:
        made["uid"] = user.uid
    if user.groups:
        made["groups"] = user.groups
    if user.extra:
        made["extra"] = {key: list(values) for key, values in sorted(user.extra.items())}
    return made


def _shortened(user_agent: str) -> str:
    return user_agent if len(user_agent) <= MAX_USER_AGENT else f"{user_agent[:MAX_USER_AGENT]}...TRUNCATED"


def timestamp(moment: float) -> str:
    """MicroTime."""
    return f"{datetime.fromtimestamp(moment, UTC).isoformat(timespec='microseconds')[:-6]}Z"


def without_managed_fields(value: Json) -> Json:
    """An object, the items of a list or the rows of a table, without metadata.managedFields."""
    if not isinstance(value, dict):
        return value
    shown = dict(value)
    metadata = shown.get("metadata")
    if isinstance(metadata, dict) and "managedFields" in metadata:
        shown["metadata"] = {k: v for k, v in metadata.items() if k != "managedFields"}
    for name, of in (("items", without_managed_fields), ("rows", _row_without_managed_fields)):
        if isinstance(shown.get(name), list):
            shown[name] = [of(item) for item in shown[name]]
    return shown


def _row_without_managed_fields(row: Json) -> Json:
    has_object = isinstance(row, dict) and "object" in row
    return {**row, "object": without_managed_fields(row["object"])} if has_object else row


SILENCE = _Silence()


# ---------------------------------------------------------------- encoding


def encoded(event: Json) -> bytes:
    """JSON as Go writes it: what could be taken for markup is escaped, and what is no Unicode is replaced."""
    try:
        text = orjson.dumps(event)
    except TypeError:
        text = orjson.dumps(_clean(event))
    for character, escape in _ESCAPES:
        if character in text:  # NB: outside of strings JSON has none of these
            text = text.replace(character, escape)
    return text


_ESCAPES = (
    (b"<", b"\\u003c"), (b">", b"\\u003e"), (b"&", b"\\u0026"), ("\u2028".encode(), b"\\u2028"), ("\u2029".encode(), b"\\u2029"),
)  # fmt: skip


def _object_text(value: Json) -> bytes:
    """The slow way also writes numbers of any size."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(_clean(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _clean(value: Json) -> Json:
    """Headers arrive as bytes of any kind, held in surrogates."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if type(value) in (list, tuple) else value  # a Fragment is a tuple too


def _fault(patch: bytes) -> str:
    """Why a patch is no JSON; nothing if it is. The quick answer is right when it is yes."""
    try:
        orjson.loads(patch)
    except ValueError:
        fault = goscanner.fault(patch)
        return f"json: error calling MarshalJSON for type *runtime.Unknown: {fault}" if fault else ""
    return ""


def _compact(text: bytes) -> bytes:
    """Without blanks between values: an event is one line."""
    return _BLANKS.sub(rb"\1", text).decode("utf-8", "replace").encode()
