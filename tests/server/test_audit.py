"""Audit events, held against lines that kube-apiserver v1.36.4 wrote."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from kadmit.api import auditpolicy
from kadmit.api.auditpolicy import Level
from kadmit.cel.library.authorizer import Attributes, User
from kadmit.server.audit import Auditor, Request, Trail
from kadmit.server.metrics import Metrics

POLICY = (Path(__file__).parent.parent / "conformance" / "server" / "audit-policy.yaml").read_text()
ALICE = User("alice", "alice-uid", ("developers", "system:authenticated"))
ADMIN = User("admin", "admin-uid", ("system:masters", "system:authenticated"))
ALLOWED = {"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": ""}


class Lines:
    """A sink that keeps what it is given."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def write(self, line: bytes) -> None:
        self.lines.append(line)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]


class Full:
    """A sink on a full disk."""

    def write(self, line: bytes) -> None:
        raise OSError("no space left on device")


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


RECEIVED, DONE = "2026-11-15T15:10:44.005653Z", "2026-11-15T15:10:44.008367Z"


def _auditor(policy: str = POLICY, **settings: Any) -> tuple[Auditor, Lines]:
    sink = Lines()
    known: dict[str, Any] = {"policy": auditpolicy.parse(policy), "sink": sink, "clock": lambda: _moment(DONE), **settings}
    return Auditor(**known), sink


def _level(level: str, more: str = "") -> str:
    return f"apiVersion: audit.k8s.io/v1\nkind: Policy\n{more}\nrules: [{{level: {level}}}]\n"


def _request(uri: str = "/api/v1/namespaces/default/configmaps", **known: Any) -> Request:
    return Request("bb8fe0cc", uri, _moment(RECEIVED), ("127.0.0.1",), **{"user_agent": "curl/7.88.1", **known})


def _asked(verb: str = "create", user: User = ADMIN, **known: Any) -> Attributes:
    about = {"resource_request": True, "version": "v1", "resource": "configmaps", "namespace": "default", **known}
    return Attributes(user, verb, **about)


def _trail(policy: str, **asked: Any) -> tuple[Trail, Lines]:
    auditor, sink = _auditor(policy)
    return auditor.follow(_request(), _asked(**asked)), sink


def test_a_creation_reads_as_kube_apiserver_writes_it() -> None:
    auditor, sink = _auditor()
    trail = auditor.follow(_request("/api/v1/namespaces/default/configmaps?dryRun=All"), _asked())
    assert trail.received()
    trail.annotate_all({"authorization.k8s.io/reason": "", "authorization.k8s.io/decision": "allow"})
    sent = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"generateName": "x-"}, "data": {"a": "<b>&\u2028é"}}
    trail.request_object(sent)
    trail.complete(201)
    assert sink.lines == [
        b'{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Request","auditID":"bb8fe0cc","stage":"ResponseComplete",'
        b'"requestURI":"/api/v1/namespaces/default/configmaps?dryRun=All","verb":"create",'
        b'"user":{"username":"admin","uid":"admin-uid","groups":["system:masters","system:authenticated"]},'
        b'"sourceIPs":["127.0.0.1"],"userAgent":"curl/7.88.1",'
        b'"objectRef":{"resource":"configmaps","namespace":"default","apiVersion":"v1"},'
        b'"responseStatus":{"metadata":{},"code":201},'
        b'"requestObject":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"generateName":"x-"},'
        b'"data":{"a":"\\u003cb\\u003e\\u0026\\u2028' + "é".encode() + b'"}},'
        b'"requestReceivedTimestamp":"2026-11-15T15:10:44.005653Z","stageTimestamp":"2026-11-15T15:10:44.008367Z",'
        b'"annotations":{"authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":""}}\n'
    ]


def test_a_patch_is_kept_as_it_was_sent_but_for_blanks() -> None:
    trail, sink = _trail(POLICY, verb="patch", name="kube-root-ca.crt")
    trail.request_patch(b'{ "data": 1e3,\n "data":7}')
    trail.response_object({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": 'configmaps "kube-root-ca.crt" not found', "reason": "NotFound",
        "details": {"name": "kube-root-ca.crt", "kind": "configmaps"}, "code": 404,
    })  # fmt: skip
    trail.complete(404)
    assert b'"requestObject":{"data":1e3,"data":7}' in sink.lines[0]
    assert (
        b'"responseStatus":{"metadata":{},"status":"Failure","message":"configmaps \\"kube-root-ca.crt\\" not found",'
        b'"reason":"NotFound","details":{"name":"kube-root-ca.crt","kind":"configmaps"},"code":404}'
    ) in sink.lines[0]


@pytest.mark.parametrize(
    ("patch", "fault"),
    [
        (b"kind: ConfigMap\n", "invalid character 'k' looking for beginning of value"),
        (b"", "unexpected end of JSON input"),
        (b'{"a":', "unexpected end of JSON input"),
    ],
)
def test_a_patch_that_is_no_json_loses_its_event_as_in_kubernetes(patch: bytes, fault: str) -> None:
    lost: list[tuple[str, str]] = []
    auditor, sink = _auditor(failed=lambda id_, error: lost.append((id_, str(error))))
    trail = auditor.follow(_request(), _asked("patch"))
    trail.request_patch(patch)
    trail.complete(201)
    assert sink.lines == []
    assert lost == [("bb8fe0cc", f"json: error calling MarshalJSON for type *runtime.Unknown: {fault}")]
    assert auditor.metrics.values["apiserver_audit_error_total"] == {("log",): 1}


def test_at_level_metadata_no_patch_can_lose_an_event() -> None:
    trail, sink = _trail(_level("Metadata"), verb="patch")
    trail.request_patch(b"kind: ConfigMap\n")
    trail.complete(201)
    assert [event["stage"] for event in sink.events] == ["ResponseComplete"]


def test_an_unauthenticated_request_has_one_event_when_its_answer_starts() -> None:
    auditor, sink = _auditor()
    trail = auditor.follow(_request("/api/v1/namespaces/default/configmaps?x=1"), _asked(user=User()))
    trail.response_object(
        {"kind": "Status", "status": "Failure", "message": "Unauthorized", "reason": "Unauthorized", "code": 401}
    )
    trail.started(401)
    assert sink.events == [
        {
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Request", "auditID": "bb8fe0cc",
            "stage": "ResponseStarted", "requestURI": "/api/v1/namespaces/default/configmaps?x=1", "verb": "create", "user": {},
            "sourceIPs": ["127.0.0.1"], "userAgent": "curl/7.88.1",
            "objectRef": {"resource": "configmaps", "namespace": "default", "apiVersion": "v1"},
            "responseStatus": {
                "metadata": {}, "status": "Failure", "message": "Unauthorized", "reason": "Unauthorized", "code": 401,
            },
            "requestReceivedTimestamp": RECEIVED, "stageTimestamp": DONE,
        }
    ]  # fmt: skip


def test_impersonation_is_told() -> None:
    trail, sink = _trail(POLICY)
    trail.impersonated(User("a", "u", ("system:authenticated",), {"acme.com/x": ("y",)}), "impersonate:user-info")
    trail.complete(201)
    event = sink.events[0]
    shown = {"username": "a", "uid": "u", "groups": ["system:authenticated"], "extra": {"acme.com/x": ["y"]}}
    assert event["impersonatedUser"] == shown
    assert event["authenticationMetadata"] == {"impersonationConstraint": "impersonate:user-info"}
    assert list(event).index("impersonatedUser") == list(event).index("user") + 1


def test_the_object_completes_what_the_path_said_of_it() -> None:
    trail, sink = _trail(POLICY, verb="update", name="a")
    trail.request_object({"metadata": {"name": "other", "namespace": "x", "uid": "u1", "resourceVersion": "953"}})
    trail.complete(200)
    assert list(sink.events[0]["objectRef"].items()) == [
        ("resource", "configmaps"), ("namespace", "default"), ("name", "a"), ("uid", "u1"), ("apiVersion", "v1"),
        ("resourceVersion", "953"),
    ]  # fmt: skip


STAGES: list[tuple[str, str, list[str]]] = [
    ("None", "", []),
    ("Metadata", "", ["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"]),
    ("Request", "omitStages: [RequestReceived, Panic]", ["ResponseStarted", "ResponseComplete"]),
]


@pytest.mark.parametrize(("level", "more", "stages"), STAGES)
def test_each_stage_is_an_event_unless_it_is_omitted(level: str, more: str, stages: list[str]) -> None:
    trail, sink = _trail(_level(level, more), verb="watch")
    assert trail.received()
    trail.started(200)
    trail.complete(200)
    trail.panicked("boom")
    assert [event["stage"] for event in sink.events] == stages


def test_the_first_event_is_stamped_with_the_arrival() -> None:
    trail, sink = _trail(_level("Metadata"))
    trail.received()
    assert sink.events[0]["stageTimestamp"] == sink.events[0]["requestReceivedTimestamp"] == RECEIVED
    assert "responseStatus" not in sink.events[0]


CONTENTS: list[tuple[str, set[str]]] = [
    ("Metadata", set()),
    ("Request", {"requestObject"}),
    ("RequestResponse", {"requestObject", "responseObject"}),
]


@pytest.mark.parametrize(("level", "bodies"), CONTENTS)
def test_the_level_says_how_much_is_kept(level: str, bodies: set[str]) -> None:
    trail, sink = _trail(_level(level))
    assert trail.level.text == level
    trail.request_object({"metadata": {"name": "a"}})
    trail.response_object({"metadata": {"name": "a"}, "data": {"b": "c"}})
    trail.complete(201)
    event = sink.events[0]
    assert {"requestObject", "responseObject"} & set(event) == bodies
    assert event["objectRef"]["name"] == "a"


def test_nothing_is_kept_at_level_none() -> None:
    trail, sink = _trail(_level("None"))
    assert not trail.enabled
    trail.request_object({"a": object()})
    trail.complete(200)
    assert sink.lines == []


@pytest.mark.parametrize(("level", "shown"), [("Metadata", {"a/b": "1"}), ("Request", {"a/b": "1", "patch/c": "2"})])
def test_some_annotations_need_level_request(level: str, shown: dict[str, str]) -> None:
    trail, sink = _trail(_level(level))
    trail.annotate_all({"a/b": "1", "patch/c": "2"}, {"patch/c"})
    trail.complete(200)
    assert sink.events[0]["annotations"] == shown


def test_the_first_value_of_an_annotation_stays() -> None:
    trail, sink = _trail(POLICY)
    trail.annotate("a/b", "first")
    trail.annotate("a/b", "second")
    trail.complete(200)
    assert sink.events[0]["annotations"] == {"a/b": "first"}


MANAGED = {"metadata": {"name": "a", "managedFields": [{}]}}
PLAIN = {"metadata": {"name": "a"}}


@pytest.mark.parametrize(
    ("answered", "shown"),
    [
        (MANAGED, PLAIN),
        ({"kind": "List", "items": [MANAGED, PLAIN, None]}, {"kind": "List", "items": [PLAIN, PLAIN, None]}),
        (
            {"kind": "Table", "rows": [{"cells": [1], "object": MANAGED}]},
            {"kind": "Table", "rows": [{"cells": [1], "object": PLAIN}]},
        ),
    ],
)
def test_managed_fields_are_left_out_where_the_policy_says_so(answered: Any, shown: Any) -> None:
    before = json.dumps(answered)
    trail, sink = _trail(_level("RequestResponse", "omitManagedFields: true"))
    trail.response_object(answered)
    trail.complete(200)
    assert sink.events[0]["responseObject"] == shown
    assert json.dumps(answered) == before


def test_an_object_is_kept_as_it_was_when_it_was_told() -> None:
    trail, sink = _trail(POLICY)
    sent = {"metadata": {"name": "a"}}
    trail.request_object(sent)
    sent["metadata"]["name"] = "changed"
    trail.complete(201)
    assert sink.events[0]["requestObject"] == {"metadata": {"name": "a"}}


HOSTILE: list[tuple[str, dict[str, Any], Any]] = [
    ("bytes that are no text", {"user_agent": "curl\udcff"}, {"a": 1}),
    ("half a character", {}, {"a": "\ud800"}),
    ("a huge number", {}, {"a": 10**40}),
    ("a line break", {"user_agent": 'x"\n{"kind":"Event"}'}, {"a": "\n"}),
]


@pytest.mark.parametrize(("request_", "sent"), [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE])
def test_whatever_is_sent_an_event_is_one_line_of_json(request_: dict[str, Any], sent: Any) -> None:
    auditor, sink = _auditor()
    trail = auditor.follow(_request(**request_), _asked())
    trail.request_object(sent)
    trail.complete(201)
    assert sink.lines[0].count(b"\n") == 1
    assert sink.events[0]["requestObject"].keys() == sent.keys()


def test_an_object_nested_too_deep_loses_its_event_and_not_the_request() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    auditor, sink = _auditor()
    trail = auditor.follow(_request(), _asked())
    trail.request_object({"spec": deep})
    trail.complete(201)
    assert sink.lines == []
    assert auditor.metrics.values["apiserver_audit_error_total"] == {("log",): 1}


def test_a_long_user_agent_is_cut() -> None:
    auditor, sink = _auditor()
    auditor.follow(_request(user_agent="x" * 2000), _asked()).complete(200)
    assert sink.events[0]["userAgent"] == "x" * 1024 + "...TRUNCATED"


@pytest.mark.parametrize(("strict", "goes_on"), [(False, True), (True, False)])
def test_a_full_disk_refuses_requests_only_where_auditing_is_strict(strict: bool, goes_on: bool) -> None:
    auditor, _ = _auditor(_level("Metadata"), sink=Full(), strict=strict)
    assert auditor.follow(_request(), _asked()).received() is goes_on
    assert auditor.metrics.values["apiserver_audit_requests_rejected_total"] == {(): 0 if goes_on else 1}


def test_requests_and_events_are_counted() -> None:
    auditor, _ = _auditor()
    auditor.follow(_request(), _asked("get")).complete(200)
    auditor.follow(_request(), _asked("create")).complete(200)
    assert auditor.metrics.values["apiserver_audit_level_total"] == {("None",): 1, ("Request",): 1}
    assert auditor.metrics.values["apiserver_audit_event_total"] == {(): 1}


def test_without_a_policy_nothing_is_recorded() -> None:
    sink = Lines()
    trail = Auditor(None, sink, Metrics()).follow(_request(), _asked())
    assert trail.level is Level.NONE
    assert trail.received()
    assert sink.lines == []


def test_a_panic_and_an_early_end_have_a_status() -> None:
    trail, sink = _trail(_level("Metadata"))
    trail.closed_early()
    trail.panicked(ValueError("boom"))
    assert [event["responseStatus"] for event in sink.events] == [
        {"metadata": {}, "status": "Success", "message": "Connection closed early", "code": 200},
        {"metadata": {}, "status": "Failure", "message": "APIServer panic'd: boom", "reason": "InternalError", "code": 500},
    ]


def test_a_request_for_no_resource_has_no_object_reference() -> None:
    auditor, sink = _auditor(_level("Metadata"))
    auditor.follow(_request("/healthz"), Attributes(ALICE, "get", path="/healthz")).complete(200)
    assert "objectRef" not in sink.events[0]
