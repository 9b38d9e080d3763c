"""The recorded conversations without a server: requests go straight to a cluster in memory, webhooks are answered in process.

It stands where `replay` has a connection and TLS webhooks; what is sent, compared and shown is the same. Only what needs HTTP
itself (media types, tables, watches, refused logins) is left to the real server's own replay.
"""

import base64
import json
import re
import threading
import urllib.parse
import uuid
from collections.abc import Sequence
from typing import Any

from tests.conformance import replay

from kadmit.access import attributes, bootstrap
from kadmit.admission import outcome, replies
from kadmit.admission.answers import Answer
from kadmit.admission.outcome import Record
from kadmit.admission.webhooks import Call
from kadmit.api.errors import ApiError
from kadmit.api.meta import GroupVersionResource
from kadmit.authoring.cluster import Cluster, Request
from kadmit.cel.library.authorizer import User
from kadmit.matching.attributes import Json
from kadmit.resources import connections, deprecation, patching
from kadmit.resources.context import Options, Target
from kadmit.resources.deleting import DeleteOptions
from kadmit.resources.verbs import Answered

USERS = {
    "admin": User("admin", "admin-uid", ("system:masters", "system:authenticated")),
    "alice": User("alice", "alice-uid", ("developers", "system:authenticated")),
    "bob": User("bob", "bob-uid", ("operators", "auditors", "system:authenticated")),
}
TOKENS = {name: f"{name}-token" for name in USERS}


class NeedsHttp(Exception):
    """A step that only the real server can take."""


class Hooks:
    """Scripted webhooks, answered by looking into the script."""

    def __init__(self) -> None:
        self.scripts: dict[str, list[Any]] = {}
        self.calls: list[dict[str, Any]] = []
        self.lock = threading.Lock()
        self.port = 18443
        self.ca = base64.b64encode(b"in process").decode()

    def ask(self, calls: Sequence[Call]) -> Sequence[Answer]:
        return [self._ask(call) for call in calls]

    def _ask(self, call: Call) -> Answer:
        url = call.webhook.client.get("url")
        if url is None or f":{self.port}/" not in url:
            raise NeedsHttp("a webhook that is not scripted")
        if call.webhook.client.get("caBundle") != self.ca or "//127.0.0.1:" not in url:
            raise NeedsHttp("trust and names of TLS")
        split = urllib.parse.urlsplit(url)
        name, uid = split.path.strip("/"), str(uuid.uuid4())
        review = call.review(uid)
        script = self.scripts.get(name, [])
        nth = sum(1 for c in self.calls if c["webhook"] == name)
        keys = sorted([k for k, _ in urllib.parse.parse_qsl(split.query)] + ["timeout"])
        self.calls.append({"webhook": name, "contentType": "application/json", "review": review, "query": keys})
        script_answer = script[min(nth, len(script) - 1)] if script else {"httpStatus": 404, "raw": "no such hook"}
        return self._reply(call, uid, review, script_answer)

    def _reply(self, call: Call, uid: str, review: Json, answer: dict[str, Any]) -> Answer:
        if answer.get("delay") or answer.get("headers"):
            raise NeedsHttp("time and headers")
        if "raw" in answer or "httpStatus" in answer:
            raw = answer.get("raw", "")
            text = (raw if isinstance(raw, str) else json.dumps(raw)).replace("${uid}", uid)
            content_type = answer.get("contentType", "application/json")
            return replies.read(call, uid, status=answer.get("httpStatus", 200), content_type=content_type, body=text.encode())
        response = {k: v for k, v in answer.items() if k not in ("delay", "patch", "version", "kind", "omitUID")}
        response.setdefault("allowed", True)
        if not answer.get("omitUID"):
            response.setdefault("uid", uid)
        if "patch" in answer:
            patch = answer["patch"]
            text = patch if isinstance(patch, str) else json.dumps(patch)
            response["patch"] = base64.b64encode(text.encode()).decode()
            response.setdefault("patchType", "JSONPatch")
            if response["patchType"] is None:
                del response["patchType"]
        made = {
            "apiVersion": answer.get("version", review["apiVersion"]),
            "kind": answer.get("kind", "AdmissionReview"),
            "response": response,
        }
        return replies.read(call, uid, status=200, content_type="application/json", body=json.dumps(made).encode())


class Headers(dict[str, str]):
    """As http.client has them, as far as replay asks."""

    warnings: list[str]

    def get_all(self, name: str) -> list[str] | None:
        return self.warnings if name == "Warning" else None


_PATH = re.compile(
    r"/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+)/(?P<version>[^/]+))"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/[^/]+))?/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>.+))?$"
)


class Server(replay.Server):
    """A cluster in memory where replay expects a server."""

    def __init__(self, hooks: Hooks) -> None:
        super().__init__("http://127.0.0.1", TOKENS)  # type: ignore[no-untyped-call]  # replay has no types
        self.cluster = Cluster(ask=hooks.ask)
        self.audits: dict[str, dict[str, Any]] = {}
        self.counts: dict[str, float] = {}
        for value in bootstrap.objects():
            self.cluster.put(value)
        self.audit_log = "in process"
        for name in ("default", "kube-system"):
            self.cluster.put(
                {
                    "apiVersion": "v1",
                    "kind": "Namespace",
                    "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
                }
            )

    # ------------------------------------------------------------ what replay asks

    def resource(self, api_version: str, kind: str) -> tuple[str, str, bool]:
        base = f"/api/{api_version}" if "/" not in api_version else f"/apis/{api_version}"
        group, _, version = api_version.rpartition("/")
        found = self.cluster.known.catalog.kind(group, version, kind)
        if found is None:
            raise SystemExit(f"discovery has no {api_version} {kind}")
        return base, found.plural, found.namespaced

    def counters(self, names: Sequence[str]) -> dict[str, float]:
        return {k: v for k, v in self.counts.items() if k.split("{")[0] in names}

    def audit_events(self, audit_id: str) -> list[dict[str, Any]] | None:
        found = self.audits.get(audit_id)
        return [found] if found else None

    def request(
        self,
        method: str,
        path: str,
        query: dict[str, Any] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        user: str = "admin",
        accept: str | None = None,
        headers: dict[str, str] | None = None,
        timeout: float = 90,
    ) -> tuple[int, Headers, Any]:
        if accept or headers or user not in USERS:
            raise NeedsHttp("media types, headers, logins")
        data = b"" if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        path, _, in_path = path.partition("?")
        asked = {**dict(urllib.parse.parse_qsl(in_path)), **{k: _text(v) for k, v in (query or {}).items()}}
        record = Record()
        try:
            status, answer = self._handle(method, path, asked, data, content_type, USERS[user], record)
        except ApiError as e:
            status, answer = e.status.code, e.status.as_json()
        return self._answered(method, user, status, answer, record)

    def _answered(self, method: str, user: str, status: int, answer: Any, record: Record) -> tuple[int, Headers, Any]:
        headers = Headers()
        # as Python's http.client reads the bytes of a header
        headers.warnings = [text.encode().decode("latin-1") for text in outcome.warning_headers(record.warnings)]
        retry = (answer.get("details") or {}).get("retryAfterSeconds") if isinstance(answer, dict) and status >= 400 else None
        if retry is not None and retry > 0:
            headers["Retry-After"] = str(retry)
        headers["Audit-Id"] = audit_id = str(uuid.uuid4())
        for increment in record.increments:
            labels = ",".join(f'{k}="{v}"' for k, v in increment.labels)
            key = f"{increment.metric}{{{labels}}}"
            self.counts[key] = self.counts.get(key, 0) + 1
        verb = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}.get(method, "get")
        annotations = {**record.annotations, **self._decision(user)}
        self.audits[audit_id] = {
            "stage": "ResponseComplete",
            "level": "Request",
            "verb": verb,
            "user": user,
            "code": status,
            "annotations": annotations,
        }
        return status, headers, json.loads(json.dumps(answer))

    def _decision(self, user: str) -> dict[str, str]:
        return {"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": ""}

    # ------------------------------------------------------------ requests

    def _target(self, path: str) -> Target:
        match = _PATH.match(path)
        if match is None:
            raise NeedsHttp(path)
        group, version = (match["group"], match["version"]) if match["group"] else ("", "v1")
        namespace, plural, name, sub = match["namespace"], match["plural"], match["name"], match["sub"]
        resource = self.cluster.known.resource(GroupVersionResource(group, version, plural))
        if resource is None or group in ("authentication.k8s.io", "authorization.k8s.io"):
            raise NeedsHttp(path)
        if sub and (resource.subresource(sub) is None or sub in connections.SUBRESOURCES):
            raise NeedsHttp(path)
        return Target(resource, namespace or "", name or "", sub or "")

    def _handle(
        self, method: str, path: str, query: dict[str, str], body: bytes, content_type: str, user: User, record: Record
    ) -> tuple[int, Any]:
        target = self._target(path)
        deprecation.warn(target, record)
        self.cluster.authorizer = authorizer = self.cluster.state.rbac
        info = attributes.request_info(method, path)
        asked = attributes.attributes_of(info, user)
        if not authorizer.check(asked).is_allowed:
            raise attributes.forbidden(asked)
        if method == "GET":
            return self._get(target, query)
        sent = json.loads(body) if method == "DELETE" and body else {}
        request = Request(user, _options(method, query, sent), record)
        is_yaml = content_type.startswith("application/yaml")
        answered = self._write(method, target, query, body, content_type, request, is_yaml=is_yaml)
        return answered.code, answered.object

    def _write(
        self,
        method: str,
        target: Target,
        query: dict[str, str],
        body: bytes,
        content_type: str,
        request: Request,
        *,
        is_yaml: bool,
    ) -> Answered:
        if method == "POST":
            return self.cluster.create(target, body, request, is_yaml=is_yaml)
        if method == "PUT":
            return self.cluster.update(target, body, request, is_yaml=is_yaml)
        if method == "PATCH":
            return self.cluster.patch(target, body, content_type, request)
        if method == "DELETE" and target.name:
            return self._delete(target, query, body, request)
        raise NeedsHttp(method)

    def _get(self, target: Target, query: dict[str, str]) -> tuple[int, Any]:
        if query:
            raise NeedsHttp("list options")
        if target.name:
            return 200, self.cluster.find(target)
        raise NeedsHttp("lists")

    def _delete(self, target: Target, query: dict[str, str], body: bytes, request: Request) -> Answered:
        sent = json.loads(body) if body else {}
        preconditions = sent.get("preconditions") or {}
        grace = query.get("gracePeriodSeconds", sent.get("gracePeriodSeconds"))
        options = DeleteOptions(
            grace_period=None if grace is None else int(grace),
            propagation=query.get("propagationPolicy") or sent.get("propagationPolicy") or "",
            uid=preconditions.get("uid") or "",
            resource_version=preconditions.get("resourceVersion") or "",
        )
        return self.cluster.delete(target, options, request)


def _text(value: Any) -> str:
    return "true" if value is True else "false" if value is False else str(value)


_KINDS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "UpdateOptions", "DELETE": "DeleteOptions"}


def _options(method: str, query: dict[str, str], sent: Json) -> Options:
    raw: Json = {
        "kind": _KINDS[method],
        "apiVersion": "meta.k8s.io/v1",
        **{k: v for k, v in sent.items() if k not in ("kind", "apiVersion")},
    }
    if "gracePeriodSeconds" in query:
        raw["gracePeriodSeconds"] = int(query["gracePeriodSeconds"])
    if "propagationPolicy" in query:
        raw["propagationPolicy"] = query["propagationPolicy"]
    if "dryRun" in query:
        raw["dryRun"] = [query["dryRun"]]
    if "fieldManager" in query:
        raw["fieldManager"] = query["fieldManager"]
    if "fieldValidation" in query:
        raw["fieldValidation"] = query["fieldValidation"]
    known = {"dryRun", "fieldManager", "fieldValidation", "force", "gracePeriodSeconds", "propagationPolicy"}
    if set(query) - known:
        raise NeedsHttp(f"query {sorted(set(query) - known)}")
    return Options(
        dry_run="dryRun" in raw,
        manager=query.get("fieldManager", "unknown"),
        field_validation=query.get("fieldValidation", "Warn"),
        force=query.get("force") == "true",
        raw=raw,
    )


APPLY = patching.APPLY_PATCH
