"""MutatingAdmissionPolicyBinding and ValidatingAdmissionPolicyBinding: what may be registered.

Neither looks at the policy that it names: it need not exist, nor take params.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.api.gojson import Named
from kadmit.kinds import labels, metadata
from kadmit.validation import rules

ACTIONS = ("Audit", "Deny", "Warn")
NOT_FOUND_ACTIONS = ("Deny", "Allow")  # in the order in which they are listed

_SPEC = fields.path("spec")
_EXCLUSIVE = "name and selector are mutually exclusive"


def validate_mutating(obj: Mapping[str, Any]) -> list[FieldError]:
    spec = obj.get("spec") or {}
    resources = spec.get("matchResources")
    mutable = rules.validate_mutable(resources, _SPEC.child("matchResources")) if resources is not None else []
    return [*_shared(spec), *mutable]


def validate_validating(obj: Mapping[str, Any]) -> list[FieldError]:
    spec = obj.get("spec") or {}
    return [*_shared(spec), *_actions(spec.get("validationActions") or (), _SPEC.child("validationActions"))]


def _shared(spec: Mapping[str, Any]) -> Iterator[FieldError]:
    yield from _policy_name(spec.get("policyName") or "", _SPEC.child("policyName"))
    if spec.get("paramRef") is not None:
        yield from _param_ref(spec["paramRef"], _SPEC.child("paramRef"))
    if spec.get("matchResources") is not None:
        yield from rules.validate_match_resources(spec["matchResources"], _SPEC.child("matchResources"))


def _policy_name(name: str, at: Path) -> list[FieldError]:
    if not name:
        return [fields.required(at)]
    return [fields.invalid(at, name, problem) for problem in metadata.dns_subdomain(name, False)]


def _param_ref(raw: Mapping[str, Any], at: Path) -> Iterator[FieldError]:
    name, selector, action = raw.get("name") or "", raw.get("selector"), raw.get("parameterNotFoundAction") or ""
    both = name and selector is not None
    yield from (fields.invalid(at.child("name"), name, problem) for problem in metadata.path_segment(name, False))
    if both:
        yield fields.forbidden(at.child("name"), _EXCLUSIVE)
    yield from labels.validate_selector(selector, at.child("selector"))
    if both:
        yield fields.forbidden(at.child("selector"), _EXCLUSIVE)
    if not name and selector is None:
        yield fields.required(at, "one of name or selector must be specified")
    if not action:
        yield fields.required(at.child("parameterNotFoundAction"))
    else:
        yield from rules.one_of(action, NOT_FOUND_ACTIONS, at.child("parameterNotFoundAction"))


def _actions(actions: Sequence[str], at: Path) -> Iterator[FieldError]:
    seen: set[str] = set()
    for i, action in enumerate(actions):
        yield from rules.one_of(action, ACTIONS, at.index(i))
        if action in seen:
            yield fields.duplicate(at.index(i), Named(action))
        seen.add(action)
    if "Deny" in actions and "Warn" in actions:
        why = "(repeating the same validation failure information in the API response and headers serves no purpose)"
        yield fields.invalid(at, list(actions), f"must not contain both Deny and Warn {why}")
    if not actions:
        yield fields.required(at, "at least one validation action is required")
