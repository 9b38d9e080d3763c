"""Reviews: questions asked as if they were objects. Who am I, whose token is this, may they do that, what may I do.

Two steps, because admission stands between them: `refusal` says what is wrong with a question, `answer` answers it.
Nothing is stored. The answer is the question with a status, except where noted.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from kadmit.access import selectorfields
from kadmit.access.identity import Identities
from kadmit.access.rbac import Found
from kadmit.api import errors, fields
from kadmit.api.errors import ApiError
from kadmit.api.fields import FieldError
from kadmit.api.meta import GroupKind
from kadmit.cel.library.authorizer import Attributes, Decision, User
from kadmit.matching.attributes import user_info

Json: TypeAlias = dict[str, Any]

SUBJECT_ACCESS, LOCAL_SUBJECT_ACCESS = "SubjectAccessReview", "LocalSubjectAccessReview"
SELF_SUBJECT_ACCESS, SELF_SUBJECT_RULES = "SelfSubjectAccessReview", "SelfSubjectRulesReview"
SELF_SUBJECT, TOKEN = "SelfSubjectReview", "TokenReview"
ACCESS_KINDS = frozenset((SUBJECT_ACCESS, LOCAL_SUBJECT_ACCESS, SELF_SUBJECT_ACCESS))
KINDS = ACCESS_KINDS | {SELF_SUBJECT_RULES, SELF_SUBJECT, TOKEN}

_KIND = GroupKind("authorization.k8s.io", "")  # NB: Kubernetes forgets the kind when it refuses one of these
_META_ORDER = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers", "managedFields",
)  # fmt: skip


class Rules(Protocol):
    """Answers about a user: one thing, or everything. A seam, because some authorizers can only do the former."""

    def check(self, attributes: Attributes) -> Decision: ...

    def rules_for(self, user: User, namespace: str) -> Found: ...


class Reviewer(Struct, frozen=True):
    """Who asks, and who knows."""

    user: User
    rules: Rules
    identities: Identities


# ---------------------------------------------------------------- what is wrong with a question


def refusal(kind: str, review: Json) -> ApiError | None:
    spec = _spec(review)
    if kind in ACCESS_KINDS:
        found = list(_access_problems(kind, review, spec))
        return errors.invalid(_KIND, "", found) if found else None
    if kind == SELF_SUBJECT_RULES and not spec.get("namespace"):
        return errors.bad_request("no namespace on request")
    if kind == TOKEN and not spec.get("token"):
        return errors.bad_request("token is required for TokenReview in authentication")
    return None


def _access_problems(kind: str, review: Json, spec: Json) -> Iterator[FieldError]:
    at, asked, asked_path = fields.path("spec"), spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if asked is not None and asked_path is not None:
        text = "cannot be specified in combination with resourceAttributes"
        yield fields.invalid(at.child("nonResourceAttributes"), _shown_path(asked_path), text)
    if asked is None and asked_path is None:
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        yield fields.invalid(at.child("resourceAttributes"), None, text)
    if kind != SELF_SUBJECT_ACCESS and not spec.get("user") and not spec.get("groups"):
        yield fields.invalid(at.child("user"), "", "at least one of user or group must be specified")
    if asked is not None:
        yield from selectorfields.problems(asked, at.child("resourceAttributes"))
    yield from _metadata_problems(kind, review)
    if kind == LOCAL_SUBJECT_ACCESS:
        yield from _local_problems(review, asked, asked_path)


def _metadata_problems(kind: str, review: Json) -> Iterator[FieldError]:
    metadata = review.get("metadata") or {}
    local = kind == LOCAL_SUBJECT_ACCESS
    forgiven = {"managedFields", "namespace"} if local else {"managedFields"}
    if any(value for key, value in metadata.items() if key not in forgiven):
        shown = {key: metadata[key] for key in _META_ORDER if metadata.get(key)}
        yield fields.invalid(fields.path("metadata"), shown, "must be empty except for namespace" if local else "must be empty")


def _local_problems(review: Json, asked: Json | None, asked_path: Json | None) -> Iterator[FieldError]:
    at = fields.path("spec")
    if asked is not None:
        namespace = asked.get("namespace") or ""
        if namespace != ((review.get("metadata") or {}).get("namespace") or ""):
            yield fields.invalid(at.child("resourceAttributes", "namespace"), namespace, "must match metadata.namespace")
    if asked_path is not None:
        yield fields.invalid(at.child("nonResourceAttributes"), _shown_path(asked_path), "disallowed on this kind of request")


def _shown_path(asked: Json) -> Json:
    return {"Path": asked.get("path") or "", "Verb": asked.get("verb") or ""}


# ---------------------------------------------------------------- answers


def answer(kind: str, review: Json, reviewer: Reviewer) -> Json:
    """NB: only for a question that was not refused."""
    match kind:
        case "SelfSubjectReview":
            return {**_empty(review), "status": {"userInfo": user_info(reviewer.user)}}
        case "SelfSubjectRulesReview":
            return _rules_answer(review, reviewer)
        case "TokenReview":
            return {**review, "status": _token_status(_spec(review), reviewer.identities)}
    return {**review, "status": _access_status(attributes_of(kind, _spec(review), reviewer.user), reviewer.rules)}


def _empty(review: Json) -> Json:
    """An answer that forgets what was asked."""
    return {"apiVersion": review.get("apiVersion"), "kind": review.get("kind"), "metadata": {}}


def _access_status(asked: Attributes, rules: Rules) -> Json:
    decision = rules.check(asked)
    found = {"reason": decision.reason, "evaluationError": "; ".join(_evaluation_errors(decision, asked))}
    return {"allowed": decision.is_allowed} | {k: v for k, v in found.items() if v}


def _evaluation_errors(decision: Decision, asked: Attributes) -> Iterator[str]:
    if decision.error is not None:
        yield decision.error
    for name, error, rest in (
        ("fieldSelector", asked.field_selector_error, asked.field_selector),
        ("labelSelector", asked.label_selector_error, asked.label_selector),
    ):
        if error:
            yield f"spec.resourceAttributes.{name} {'partially ' if rest else ''}ignored due to parse error"


def attributes_of(kind: str, spec: Json, user: User) -> Attributes:
    """What an access review asks an authorizer; about its own user, but for the Self ones."""
    subject = user if kind == SELF_SUBJECT_ACCESS else _subject(spec)
    asked = spec.get("resourceAttributes")
    if asked is None:
        path = spec.get("nonResourceAttributes") or {}
        return Attributes(subject, path.get("verb") or "", path=path.get("path") or "")
    plain = Attributes(
        subject,
        asked.get("verb") or "",
        resource_request=True,
        group=asked.get("group") or "",
        version=asked.get("version") or "*",
        resource=asked.get("resource") or "",
        subresource=asked.get("subresource") or "",
        namespace=asked.get("namespace") or "",
        name=asked.get("name") or "",
    )
    return selectorfields.with_selectors(plain, asked)


def _subject(spec: Json) -> User:
    extra: Mapping[str, Sequence[str]] = {k: tuple(v or ()) for k, v in (spec.get("extra") or {}).items()}
    return User(spec.get("user") or "", spec.get("uid") or "", tuple(spec.get("groups") or ()), extra)


def _rules_answer(review: Json, reviewer: Reviewer) -> Json:
    found = reviewer.rules.rules_for(reviewer.user, _spec(review)["namespace"])
    shown = [rule.as_json() for rule in found.rules]
    on_resources = [{k: v for k, v in rule.items() if k != "nonResourceURLs"} for rule in shown if rule.get("resources")]
    on_paths = [{k: rule[k] for k in ("verbs", "nonResourceURLs")} for rule in shown if rule.get("nonResourceURLs")]
    status = {"resourceRules": on_resources, "nonResourceRules": on_paths, "incomplete": False}
    if found.error is not None:
        status["evaluationError"] = found.error
    return {**_empty(review), "spec": {}, "status": status}


def _token_status(spec: Json, identities: Identities) -> Json:
    audiences = [a for a in identities.audiences if a in (spec.get("audiences") or identities.audiences)]
    found = identities.identify(f"Bearer {spec['token']}", for_this_api=bool(audiences))
    if found.user is None:
        return {"user": {}} | ({"error": found.error} if found.error else {})
    return {"authenticated": True, "user": user_info(found.user), "audiences": audiences}


def _spec(review: Json) -> Json:
    spec = review.get("spec")
    return spec if isinstance(spec, dict) else {}
