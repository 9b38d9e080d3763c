"""The recorded conversations as far as access goes: who is asking, may they, and what are they told if not.

Each step of a case is only decided here, never carried out: the recorded answer tells whether it was.
"""

import json
import re
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kadmit.access import attributes, bootstrap, escalation, impersonation, reviews, tokenfile
from kadmit.access.identity import Identities
from kadmit.access.impersonation import Impersonated
from kadmit.access.rbac import KINDS, Rbac
from kadmit.access.reviews import Reviewer
from kadmit.api import errors
from kadmit.api.errors import ApiError
from kadmit.cel.library.authorizer import Attributes, Decision, User
from kadmit.kinds import catalog

CASES = Path(__file__).parent.parent / "conformance" / "cases"
AREAS = ("kinds-access", "registration-auth")
TOKENS = """\
admin-token,admin,admin-uid,"system:masters"
alice-token,alice,alice-uid,"developers"
bob-token,bob,bob-uid,"operators,auditors"
"""
BUILT_IN = catalog.builtin()


class Conversation:
    """A case on its way through its steps: its roles, and by which mode each user last impersonated."""

    def __init__(self, case: dict[str, Any]) -> None:
        tokens = tokenfile.parse(TOKENS, "tokens.csv").users
        self.identities = Identities(tokens, anonymous=case.get("needs") == "anonymous")
        self.rbac = Rbac.build([*bootstrap.objects(), *case.get("given", [])], aggregates=False)
        self.modes: dict[str, str] = {}
        self.decision = Decision(False)
        self.user = User()

    def decide(self, method: str, path: str, query: str, headers: dict[str, str]) -> None:
        """Raises ApiError for what is refused before anybody looks at the body."""
        identified = self.identities.identify(headers.get("Authorization", ""))
        if identified.user is None:
            raise errors.unauthorized()
        self.user, info = identified.user, attributes.request_info(method, path, query)
        wanted = impersonation.wanted_user(headers.items())
        if wanted is not None:
            self.user = self._impersonated(attributes.attributes_of(info, self.user), wanted)
        asked = attributes.attributes_of(info, self.user)
        self.decision = self.rbac.check(asked)
        if not self.decision.is_allowed:
            raise attributes.forbidden(asked, self.decision.reason)

    def _impersonated(self, request: Attributes, wanted: User) -> User:
        name = request.user.name
        found = impersonation.impersonate(self.rbac, request, wanted, last_mode=self.modes.get(name, ""))
        if not isinstance(found, Impersonated):
            raise found
        self.modes[name] = found.mode
        return found.user

    def answer(self, body: Any, path: str) -> Any:
        """What access itself answers to an object that may be sent; None for what others do."""
        kind = body.get("kind", "") if isinstance(body, dict) else ""
        namespace = path.partition("/namespaces/")[2].partition("/")[0]
        if kind in reviews.KINDS:
            review = {**body, "metadata": {"namespace": namespace} if namespace else {}}
            refusal = reviews.refusal(kind, review)
            return refusal or reviews.answer(kind, review, Reviewer(self.user, self.rbac, self.identities))
        return escalation.refusal(self.rbac, self.user, body, namespace=namespace) if kind in KINDS else None


def _request(step: dict[str, Any]) -> tuple[str, str, Any]:
    """Method, path and body of a step."""
    if "send" in step:
        raw = step["send"]
        return raw["method"], raw["path"], raw.get("body")
    verb = next(v for v in ("create", "update", "apply", "delete", "get", "list") if v in step)
    value = step[verb]
    group, _, version = value["apiVersion"].rpartition("/")
    found = BUILT_IN.kind(group, version, value["kind"])
    assert found is not None
    base = f"/apis/{group}/{version}" if group else f"/api/{version}"
    where = f"/namespaces/{value['metadata'].get('namespace', 'default')}" if found.namespaced else ""
    path = f"{base}{where}/{found.plural}"
    method = {"create": "POST", "update": "PUT", "apply": "PATCH", "delete": "DELETE", "get": "GET", "list": "GET"}[verb]
    return (
        method,
        path if verb in ("create", "list") else f"{path}/{value['metadata']['name']}",
        value if verb == "create" else None,
    )


def _headers(step: dict[str, Any]) -> dict[str, str]:
    user = step.get("as", "admin")
    token = {} if user == "nobody" else {"Authorization": f"Bearer {user}-token"}
    return {**token, **step.get("headers", {})}


def _cases() -> Iterator[Any]:
    for area in AREAS:
        for path in sorted((CASES / area).glob("*.yaml")):
            yield pytest.param(path, id=f"{area}/{path.stem}")


@pytest.mark.parametrize("path", list(_cases()))
def test_every_step_is_decided_as_recorded(path: Path) -> None:
    case = yaml.safe_load(_text(path))
    expected = json.loads(_text(path.with_suffix(".expected.json")))
    conversation = Conversation(case)
    for step, recorded in zip(case["steps"], expected["steps"], strict=True):
        _check(conversation, step, recorded)


def _text(path: Path) -> str:
    return re.sub(r"\$\{token:(\w+)\}", r"\1-token", path.read_text().replace("${ns}", "the-namespace"))


def _check(conversation: Conversation, step: dict[str, Any], recorded: dict[str, Any]) -> None:
    method, path, body = _request(step)
    try:
        conversation.decide(method, path, urllib.parse.urlencode(step.get("query", {})), _headers(step))
        found = conversation.answer(body, path) if method == "POST" else None
    except ApiError as refusal:
        found = refusal
    _check_reason(conversation.decision, recorded)
    if isinstance(found, ApiError):
        assert recorded["status"] == found.status.code, (step, str(found))
        found = None if method == "HEAD" else found.status.as_json()
    elif found is None:
        _check_went_on(step, recorded)
        _remember(conversation, method, path, body, recorded["status"])
        return
    assert _comparable(_picked(found, step.get("pick"))) == _comparable(recorded["body"]), step


def _picked(value: Any, path: str | None) -> Any:
    for name in path.split(".") if path else ():
        value = value.get(name)
    return value


def _check_reason(decision: Decision, recorded: dict[str, Any]) -> None:
    for event in recorded.get("audit") or ():
        if "authorization.k8s.io/reason" in event["annotations"]:
            assert decision.reason == event["annotations"]["authorization.k8s.io/reason"]


def _check_went_on(step: dict[str, Any], recorded: dict[str, Any]) -> None:
    """Others may have refused it, for what it does: admission, validation, or apply, which may need create as well."""
    assert recorded["status"] != 401, step
    assert recorded["status"] != 403 or step.get("send", {}).get("method") == "PATCH" or "apply" in step or "create" in step, step


def _remember(conversation: Conversation, method: str, path: str, body: Any, status: int) -> None:
    info = attributes.request_info(method, path)
    kind = {kind.lower() + "s": kind for kind in KINDS}.get(info.resource)
    if status >= 300 or kind is None:
        return
    if method == "POST":
        conversation.rbac = conversation.rbac.put(body)
    elif method == "PATCH":
        metadata = {"name": info.name, "namespace": info.namespace}
        conversation.rbac = conversation.rbac.put({"kind": kind, "metadata": metadata, **body})
    elif method == "DELETE":
        conversation.rbac = conversation.rbac.remove(kind, info.namespace, info.name)


def _comparable(value: Any) -> Any:
    """NB: replay shows metadata of a review without what a server adds to it."""
    if isinstance(value, dict) and isinstance(value.get("metadata"), dict):
        return {**value, "metadata": {k: v for k, v in value["metadata"].items() if k != "namespace"}}
    return value
