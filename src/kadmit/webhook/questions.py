"""What policies ask that is not at hand: may a user do something, and is there a namespace that has not been seen yet.

The engine decides without waiting, while both answers come from the API server. So a review is judged optimistically: a question
without an answer is noted down, and answered with "no" for the moment. If there was any, that verdict is thrown away, the API
server is asked all of them at once, and the review is judged again. CEL has no side effects, so nothing is lost but the time of
one evaluation; each turn answers at least one question and expressions are finite, so it ends. Answers are kept for one request.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import orjson
from msgspec import Struct, field

from kadmit.cel.library.authorizer import Attributes, Decision
from kadmit.matching.attributes import Json

TURNS = 32
NO_CLUSTER = "kadmit webhook has no cluster to ask: it serves policies of files, without --kubeconfig"
_UNANSWERED = Decision(is_allowed=False)
_OPERATORS = {
    "=": "In",
    "==": "In",
    "in": "In",
    "!=": "NotIn",
    "notin": "NotIn",
    "exists": "Exists",
    "!": "DoesNotExist",
}


class Elsewhere(Protocol):
    """Answers what a replica does not know by itself. A seam, because files have no API server behind them."""

    def check(self, attributes: Attributes) -> Decision: ...

    def namespace(self, name: str) -> Json | None: ...


class Nowhere:
    """Behind files alone: nobody is known to be allowed anything, and every namespace is there, with nothing but its name."""

    def check(self, attributes: Attributes) -> Decision:
        return Decision(is_allowed=False, reason=NO_CLUSTER)

    def namespace(self, name: str) -> Json | None:
        metadata = {"name": name, "labels": {"kubernetes.io/metadata.name": name}}
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata, "spec": {}, "status": {"phase": "Active"}}


class Answers(Struct):
    """What the API server has answered for one request. A namespace that is None is not there."""

    access: dict[bytes, Decision] = field(default_factory=dict)
    namespaces: dict[str, Json | None] = field(default_factory=dict)


class Questions(Struct):
    """One turn: answers where there are some, and notes of what is still open."""

    answers: Answers
    open_access: dict[bytes, Json] = field(default_factory=dict)
    open_namespaces: set[str] = field(default_factory=set)

    @property
    def is_open(self) -> bool:
        return bool(self.open_access or self.open_namespaces)

    def check(self, attributes: Attributes) -> Decision:
        spec = access_spec(attributes)
        key = orjson.dumps(spec, option=orjson.OPT_SORT_KEYS)
        known = self.answers.access.get(key)
        if known is None:
            self.open_access[key] = spec
        return known or _UNANSWERED

    def namespace(self, name: str) -> Json | None:
        if name not in self.answers.namespaces:
            self.open_namespaces.add(name)
        return self.answers.namespaces.get(name)


# ---------------------------------------------------------------- SubjectAccessReview


def access_review(spec: Json) -> Json:
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}


def access_spec(asked: Attributes) -> Json:
    """The spec of a SubjectAccessReview. NB: a selector that cannot be read is left out, so the question is about more."""
    user = asked.user
    spec: Json = {"user": user.name, "uid": user.uid, "groups": list(user.groups)}
    spec["extra"] = {key: list(values) for key, values in user.extra.items()}
    spec = _filled(spec)
    if not asked.resource_request:
        return {**spec, "nonResourceAttributes": _filled({"path": asked.path, "verb": asked.verb})}
    about: Json = {"verb": asked.verb, "group": asked.group, "version": asked.version, "resource": asked.resource}
    about |= {"subresource": asked.subresource, "namespace": asked.namespace, "name": asked.name}
    by_field = [{"key": r.field, "operator": _OPERATORS[r.operator], "values": [r.value]} for r in asked.field_selector]
    by_label = [
        _filled({"key": r.key, "operator": _OPERATORS[r.operator], "values": list(r.values)})
        for r in asked.label_selector
        if r.operator in _OPERATORS
    ]
    about["fieldSelector"] = {"requirements": by_field} if by_field else None
    about["labelSelector"] = {"requirements": by_label} if by_label else None
    return {**spec, "resourceAttributes": _filled(about)}


def _filled(raw: Json) -> Json:
    return {key: value for key, value in raw.items() if value}


def decision(review: Mapping[str, Any]) -> Decision:
    """What a SubjectAccessReview came back with."""
    status = review.get("status") or {}
    return Decision(
        is_allowed=status.get("allowed") is True,
        reason=str(status.get("reason") or ""),
        error=str(status["evaluationError"]) if status.get("evaluationError") else None,
    )
