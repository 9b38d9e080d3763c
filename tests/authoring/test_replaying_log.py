"""Which events of an audit log stand for a request that can be made again, and which do not, and why."""

import json
from typing import Any, TypeAlias

import pytest

from kadmit.authoring.replaying import log
from kadmit.authoring.replaying.log import Logged, Unreplayable

Json: TypeAlias = dict[str, Any]

OBJECT: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}, "data": {"x": "1"}}
STORED: Json = {**OBJECT, "metadata": {**OBJECT["metadata"], "uid": "u", "resourceVersion": "7"}}
STATUS: Json = {"kind": "Status", "apiVersion": "v1", "status": "Success"}


def event(verb: str = "create", **fields: Any) -> Json:
    made = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "RequestResponse",
        "auditID": "id-1",
        "stage": "ResponseComplete",
        "requestURI": "/api/v1/namespaces/shop/configmaps?fieldManager=kubectl",
        "verb": verb,
        "user": {"username": "alice", "groups": ["developers"], "extra": {"k": ["v"]}},
        "objectRef": {"resource": "configmaps", "namespace": "shop", "name": "a", "apiVersion": "v1"},
        "responseStatus": {"code": 200},
        "requestObject": OBJECT,
        "responseObject": STORED,
        "requestReceivedTimestamp": "2026-01-01T00:00:00.000000Z",
        **fields,
    }
    return {k: v for k, v in made.items() if v is not None}


def read(value: Any) -> list[log.Line]:
    return list(log.read(value if isinstance(value, bytes) else json.dumps(value).encode()))


def logged(value: Json) -> Logged:
    (found,) = read(value)
    assert isinstance(found, Logged), found
    return found


@pytest.mark.parametrize(
    ("told", "operation", "sent", "stored"),
    [
        (event("create"), "CREATE", OBJECT, STORED),
        (event("create", level="Request", responseObject=None), "CREATE", OBJECT, None),
        (event("update"), "UPDATE", OBJECT, STORED),
        (event("update", responseStatus={"code": 201}), "CREATE", OBJECT, STORED),
        (event("patch", requestObject=[{"op": "remove", "path": "/data"}]), "UPDATE", STORED, STORED),
        (event("patch", requestObject={"data": None}, responseStatus={"code": 201}), "CREATE", STORED, STORED),
        (event("delete", requestObject=None), "DELETE", None, STORED),
        (event("delete", requestObject=None, responseObject=STATUS), "DELETE", None, None),
    ],
)
def test_a_write_is_a_request(told: Json, operation: str, sent: Json | None, stored: Json | None) -> None:
    found = logged(told)
    assert (found.operation, found.sent, found.stored) == (operation, sent, stored)
    assert (tuple(found.resource), found.namespace, found.name) == (("", "v1", "configmaps"), "shop", "a")


def test_a_request_has_the_user_and_options_of_its_event() -> None:
    found = logged(event(requestURI="/api/v1/namespaces/shop/configmaps?dryRun=All&fieldManager=helm"))
    assert (found.dry_run, found.manager) == (True, "helm")
    assert (found.user.name, found.user.groups, found.user.extra) == ("alice", ("developers",), {"k": ("v",)})
    assert logged(event(impersonatedUser={"username": "bob"})).user.name == "bob"


def test_a_generated_name_is_that_of_the_answer() -> None:
    reference = {"resource": "configmaps", "namespace": "shop", "apiVersion": "v1"}
    assert logged(event(objectRef=reference)).name == "a"


def test_a_list_of_events_is_taken_apart() -> None:
    bare = {k: v for k, v in event().items() if k not in ("kind", "apiVersion")}
    assert [type(e) for e in read({"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "items": [bare, bare]})] == [Logged] * 2


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (event("get"), "nothing is written (get, list, watch)"),
        (event("watch", stage="ResponseStarted"), "stage ResponseStarted: only ResponseComplete tells how a request ended"),
        (event(stage="RequestReceived"), "stage RequestReceived: only ResponseComplete tells how a request ended"),
        (event("get", objectRef=None), "not about a resource"),
        (event("create", objectRef={"resource": "pods", "subresource": "exec"}), "exec: nothing is written"),
        (event(responseStatus={"code": 409}), "refused at the time (code 409)"),
    ],
)
def test_what_writes_nothing_is_nothing_to_replay(told: Json, reason: str) -> None:
    (found,) = read(told)
    assert isinstance(found, Unreplayable)
    assert (found.reason, found.is_lost, found.is_event) == (reason, False, True)


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (event(level="Metadata"), "level Metadata: the log has no objects (Request or RequestResponse is needed)"),
        (event("deletecollection"), "deletecollection: the log does not say which objects went"),
        (event("conquer"), "verb conquer: not known"),
        (event(annotations={"audit.k8s.io/truncated": "true"}), "cut short by the size limit of the log"),
        (event(requestObject=None), "create without requestObject: the log leaves it out"),
        (event("update", requestObject=None), "update without requestObject: the log leaves it out"),
        (event("patch", responseObject=None), "patch without responseObject: the log leaves it out"),
        (
            event("patch", level="Request"),
            "patch at level Request: the log has the patch, not what came of it (RequestResponse is needed)",
        ),
    ],
)
def test_a_write_that_the_log_does_not_tell_enough_of_is_lost(told: Json, reason: str) -> None:
    (found,) = read(told)
    assert isinstance(found, Unreplayable)
    assert (found.reason, found.is_lost, found.origin is not None) == (reason, True, True)


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (b"{", "line is not JSON"),
        (b"\xff\xfe", "line is not JSON"),
        (b"[" * 100_000, "line is not JSON"),
        ([], "line is no audit event (audit.k8s.io/v1, kind Event)"),
        ({"kind": "Event", "apiVersion": "v1"}, "line is no audit event (audit.k8s.io/v1, kind Event)"),
        (event(user=["alice"]), "event is malformed (AttributeError)"),
        (event(responseStatus={"code": "many"}), "event is malformed (TypeError)"),
        (event(objectRef="pods"), "event is malformed (AttributeError)"),
    ],
)
def test_what_is_no_event_is_told_and_harms_nobody(told: Any, reason: str) -> None:
    (found,) = read(told)
    assert isinstance(found, Unreplayable)
    assert (found.reason, found.is_event) == (reason, False)


def test_an_empty_line_is_nothing() -> None:
    assert read(b" \n") == []


def test_a_line_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "MAX_LINE", 10)
    (found,) = read(b"{" + b" " * 20 + b"}")
    assert isinstance(found, Unreplayable)
    assert found.reason == "line is longer than 10 bytes"
