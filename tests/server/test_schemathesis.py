"""Requests made up from the OpenAPI documents that the server itself serves: none of them is too much for it.

Each is sent twice: as it was made up, and with the parts that would be refused first (names, versions, options) put right, so
that the rest of it reaches validation and admission. All are dry runs, so that one changes nothing for the next.
"""

import asyncio
import http.client
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase
from schemathesis.core import NotSet
from tests.server.process import TOKEN, Running, running

DOCUMENTS = ["api/v1", "apis/apps/v1", "apis/admissionregistration.k8s.io/v1"]
EXAMPLES = 3
SETTINGS = hypothesis.settings(
    max_examples=EXAMPLES,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
# What Kubernetes itself answers with 500.
THEIR_OWN = (
    "resourceVersion: Invalid value: ",
    "failed to create typed patch object (",
    "resourceVersion should not be set on objects to be created",
    "target.name: Required value",
    "target.kind: Unsupported value: ",
)
PATCH_TYPES = ["json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"]
NAME = "made-up"


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    target: str
    body: str | None
    content_type: str


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("serve"), "--request-timeout=5s") as started:
        yield started


def _case_requests(case: Any, kind: dict[str, str], content_type: str) -> Iterator[Request]:
    """As made up, and put right. NB: a watch would not end."""
    query = {k: v for k, v in (case.query or {}).items() if k != "watch"}
    write = "" if case.method == "GET" else "dryRun=All"
    body = None if isinstance(case.body, NotSet) else case.body
    yield Request(case.method, _target(case.formatted_path, query, write), _text(body), content_type)
    path = case.path.replace("{namespace}", "default")
    named = path.replace("{name}", NAME).replace("{path}", "x")
    if isinstance(body, dict):
        metadata = body.get("metadata")
        body = {**body, **kind, "metadata": {**(metadata if isinstance(metadata, dict) else {}), "name": NAME}}
        body["metadata"].pop("namespace", None)
        body["metadata"].pop("resourceVersion", None)
    options = f"{write}&fieldManager=test" if "apply" in content_type else write
    yield Request(case.method, _target(named, {}, options), _text(body), content_type)


def _target(path: str, query: dict[str, Any], more: str) -> str:
    return f"{quote(path, safe='/%')}?{urlencode(query, doseq=True, errors='replace')}&{more}"


def _text(body: Any) -> str | None:
    return None if body is None else json.dumps(body, default=str)


def _answer(connection: http.client.HTTPSConnection, request: Request) -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": request.content_type}
    connection.request(request.method, request.target, request.body, headers)
    response = connection.getresponse()
    return response.status, response.read().decode("utf-8", "replace")


def _is_failure(status: int, text: str) -> bool:
    """Whether something went wrong that nobody foresaw."""
    return status == 500 and not any(theirs in text for theirs in THEIR_OWN)


def _content_types(method: str) -> list[str]:
    return [f"application/{t}" for t in PATCH_TYPES] if method == "PATCH" else ["application/json"]


def _kind(operation: Any) -> dict[str, str]:
    raw = operation.definition.raw.get("x-kubernetes-group-version-kind", {})
    version = f"{raw.get('group')}/{raw.get('version')}" if raw.get("group") else raw.get("version", "v1")
    return {"apiVersion": version, "kind": raw.get("kind", "")}


def _for_examples(operation: Any, ask: Callable[[Any], None]) -> None:
    @hypothesis.seed(1)
    @SETTINGS
    @hypothesis.given(operation.as_strategy())
    def each(case: Any) -> None:
        ask(case)

    each()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_request_of_a_document_is_too_much(name: str, server: Running) -> None:
    document = asyncio.run(server.ask("GET", f"/openapi/v3/{name}")).json
    found: Iterable[Any] = schemathesis.openapi.from_dict(document).get_all_operations()
    operations = [each.ok() for each in found]
    connection = http.client.HTTPSConnection(server.host, server.port, timeout=20, context=server.context)
    failures: list[str] = []
    asked = 0

    def ask(case: Any, kind: dict[str, str]) -> None:
        nonlocal asked
        for request in [r for each in _content_types(case.method) for r in _case_requests(case, kind, each)]:
            asked += 1
            status, text = _answer(connection, request)
            if _is_failure(status, text):
                failures.append(f"{request}: {text}")

    for operation in operations:
        if "/watch/" not in operation.path:
            _for_examples(operation, partial(ask, kind=_kind(operation)))
    connection.close()
    assert asked > len(operations) * EXAMPLES
    assert failures == []
    assert server.complaints == ""
