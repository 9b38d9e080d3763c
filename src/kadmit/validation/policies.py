"""MutatingAdmissionPolicy and ValidatingAdmissionPolicy: what may be registered."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.api.gojson import Named
from kadmit.cel.environment import NEWEST
from kadmit.cel.library import names
from kadmit.cel.library.mutation import OBJECT_TYPE
from kadmit.cel.types import BOOL, NULL, STRING
from kadmit.kinds import labels
from kadmit.policy.compiler import PATCH_LIST
from kadmit.validation import expressions, rules
from kadmit.validation.expressions import Role, Scope, Versions, trimmed

AUDIT_ANNOTATIONS_LIMIT = 20
AUDIT_EXPRESSION_LIMIT = 5 * 1024  # bytes
APPLY_CONFIGURATION, JSON_PATCH = "ApplyConfiguration", "JSONPatch"
PATCH_TYPES = (APPLY_CONFIGURATION, JSON_PATCH)
REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")

_SPEC = fields.path("spec")
_LINE_BREAK = re.compile(r"[\n\r]")


def validate_mutating(obj: Mapping[str, Any], old: Mapping[str, Any] | None = None, minor: int = NEWEST) -> list[FieldError]:
    """The spec of a MutatingAdmissionPolicy; `old` is what it was before an update."""
    spec, before = obj.get("spec") or {}, (old or {}).get("spec")
    scope = Scope(params=spec.get("paramKind") is not None, versions=Versions(minor, frozenset(_mutating_expressions(before))))
    return [
        *_shared(spec, before, scope, mutating=True),
        *_mutations(spec.get("mutations") or (), scope, _SPEC.child("mutations")),
        *_reinvocation(spec.get("reinvocationPolicy") or "", _SPEC.child("reinvocationPolicy")),
    ]


def validate_validating(obj: Mapping[str, Any], old: Mapping[str, Any] | None = None, minor: int = NEWEST) -> list[FieldError]:
    """The spec of a ValidatingAdmissionPolicy; `old` is what it was before an update."""
    spec, before = obj.get("spec") or {}, (old or {}).get("spec")
    scope = Scope(
        params=spec.get("paramKind") is not None,
        versions=Versions(minor, frozenset(_validating_expressions(before))),
        composed=bool(spec.get("variables")),
    )
    name = (obj.get("metadata") or {}).get("name") or ""
    return [*_shared(spec, before, scope), *_judgements(spec, name, scope)]


# ---------------------------------------------------------------- what both have


def _shared(
    spec: Mapping[str, Any], before: Mapping[str, Any] | None, scope: Scope, *, mutating: bool = False
) -> Iterator[FieldError]:
    yield from rules.exactly_one_of(spec.get("failurePolicy"), rules.FAILURE_POLICIES, _SPEC.child("failurePolicy"))
    if spec.get("paramKind") is not None:
        yield from _param_kind(spec["paramKind"], _SPEC.child("paramKind"))
    yield from _constraints(spec.get("matchConstraints"), _SPEC.child("matchConstraints"), mutating=mutating)
    conditions = spec.get("matchConditions") or ()
    if not _conditions_unchanged(spec, before):
        at = _SPEC.child("matchConditions")
        yield from expressions.validate_match_conditions(conditions, at, scope.versions, params=scope.params)
    for i, variable in enumerate(spec.get("variables") or ()):
        yield from scope.declare(variable, _SPEC.child("variables").index(i))


def _conditions_unchanged(spec: Mapping[str, Any], before: Mapping[str, Any] | None) -> bool:
    """Whether match conditions that were accepted once need no second look."""
    if before is None or spec.get("paramKind") != before.get("paramKind"):
        return False
    return (spec.get("matchConditions") or []) == (before.get("matchConditions") or [])


def _constraints(raw: Mapping[str, Any] | None, at: Path, *, mutating: bool) -> Iterator[FieldError]:
    if raw is None:
        yield fields.required(at)
        return
    yield from rules.validate_match_resources(raw, at)
    if not raw.get("resourceRules"):
        yield fields.required(at.child("resourceRules"))
    if mutating:
        yield from rules.validate_mutable(raw, at)


def _param_kind(raw: Mapping[str, Any], at: Path) -> Iterator[FieldError]:
    yield from _api_version(raw.get("apiVersion") or "", at.child("apiVersion"))
    kind = raw.get("kind") or ""
    wrong = names.dns1035_label(kind.lower())
    if not kind:
        yield fields.required(at.child("kind"))
    elif wrong:
        yield fields.invalid(at.child("kind"), kind, f"may have mixed case, but should otherwise match: {','.join(wrong)}")


def _api_version(text: str, at: Path) -> Iterator[FieldError]:
    if not text:
        yield fields.required(at)
        return
    if text.count("/") > 1:
        yield fields.invalid(at, text, f"unexpected GroupVersion string: {text}")
        return
    group, _, version = text.rpartition("/")
    wrong_group, wrong_version = names.dns1123_subdomain(group), names.dns1035_label(version)
    if group and wrong_group:
        yield fields.invalid(at, group, ",".join(wrong_group))
    if not version:
        yield fields.invalid(at, text, "version must be specified")
    elif wrong_version:
        yield fields.invalid(at, version, ",".join(wrong_version))


# ---------------------------------------------------------------- mutations


def _mutations(raw: Sequence[Mapping[str, Any]], scope: Scope, at: Path) -> Iterator[FieldError]:
    if not raw:
        yield fields.required(at, "mutations must contain at least one item")
    for i, mutation in enumerate(raw):
        yield from _mutation(mutation, scope, at.index(i))


def _mutation(raw: Mapping[str, Any], scope: Scope, at: Path) -> Iterator[FieldError]:
    match raw.get("patchType") or "":
        case "":
            yield fields.required(at.child("patchType"))
        case "JSONPatch":
            yield from _patch(raw, "jsonPatch", "applyConfiguration", scope, at)
        case "ApplyConfiguration":
            yield from _patch(raw, "applyConfiguration", "jsonPatch", scope, at)
        case other:
            yield fields.not_supported(at.child("patchType"), Named(other), PATCH_TYPES)


def _patch(raw: Mapping[str, Any], field: str, other: str, scope: Scope, at: Path) -> Iterator[FieldError]:
    """The patch that the type asks for, and not the other one."""
    patch_type = raw["patchType"]
    if raw.get(field) is None:
        yield fields.required(at.child(field), f"must be specified when patchType is {patch_type}")
    else:
        yield from _patch_expression(raw[field].get("expression") or "", patch_type, scope, at.child(field, "expression"))
    if raw.get(other) is not None:
        yield fields.invalid(at.child(other), f"{{{other}}}", f"must not be specified when patchType is {patch_type}")


def _patch_expression(text: str, patch_type: str, scope: Scope, at: Path) -> list[FieldError]:
    expression = trimmed(text)
    if not expression:
        return [fields.required(at)]
    returns = OBJECT_TYPE if patch_type == APPLY_CONFIGURATION else PATCH_LIST
    return expressions.problems(scope.env(Role.MUTATION, text, mutating=True), expression, (returns,), at)


def _reinvocation(policy: str, at: Path) -> list[FieldError]:
    return [fields.required(at)] if not policy else rules.one_of(policy, rules.REINVOCATION_POLICIES, at)


def _mutating_expressions(spec: Mapping[str, Any] | None) -> Iterator[tuple[Role, str]]:
    """NB: a JSON patch is old if an apply configuration had its text; its own kind does not count."""
    if spec is not None:
        yield from expressions.match_conditions_of(spec)
        for mutation in spec.get("mutations") or ():
            if mutation.get("applyConfiguration") is not None:
                yield Role.MUTATION, mutation["applyConfiguration"].get("expression") or ""


# ---------------------------------------------------------------- validations and audit annotations


def _judgements(spec: Mapping[str, Any], name: str, scope: Scope) -> Iterator[FieldError]:
    validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or ()
    if not validations and not annotations:
        for field in ("validations", "auditAnnotations"):
            yield fields.required(_SPEC.child(field), "validations or auditAnnotations must contain at least one item")
    for i, validation in enumerate(validations):
        yield from _validation(validation, scope, _SPEC.child("validations").index(i))
    yield from _audit_annotations(annotations, name, scope, _SPEC.child("auditAnnotations"))


def _validation(raw: Mapping[str, Any], scope: Scope, at: Path) -> Iterator[FieldError]:
    expression, message = raw.get("expression") or "", raw.get("message") or ""
    if trimmed(expression):
        yield from expressions.problems(scope.env(Role.VALIDATION, expression), expression, (BOOL,), at.child("expression"))
    else:
        yield fields.required(at.child("expression"), "expression is not specified")
    yield from _message_expression(raw.get("messageExpression") or "", scope, at.child("messageExpression"))
    if message and not trimmed(message):
        yield fields.invalid(at.child("message"), message, "must be non-empty if specified")
    elif _LINE_BREAK.search(trimmed(message)):
        yield fields.invalid(at.child("message"), message, "must not contain line breaks")
    yield from rules.one_of(raw.get("reason"), REASONS, at.child("reason"))


def _message_expression(text: str, scope: Scope, at: Path) -> list[FieldError]:
    """NB: a message cannot ask the authorizer."""
    if not text:
        return []
    if not trimmed(text):
        return [fields.invalid(at, text, "must be non-empty if specified")]
    return expressions.problems(scope.env(Role.MESSAGE, text, authorizer=False), text, (STRING,), at)


def _audit_annotations(raw: Sequence[Mapping[str, Any]], name: str, scope: Scope, at: Path) -> Iterator[FieldError]:
    if len(raw) > AUDIT_ANNOTATIONS_LIMIT:
        # NB: in this one place Kubernetes shows its own names of the fields.
        shown = [{"Key": a.get("key") or "", "ValueExpression": a.get("valueExpression") or ""} for a in raw]
        yield fields.invalid(at, shown, f"must not have more than {AUDIT_ANNOTATIONS_LIMIT} auditAnnotations")
    seen: set[str] = set()
    for i, annotation in enumerate(raw):
        key = annotation.get("key") or ""
        yield from _audit_key(key, name, at.index(i).child("key"))
        yield from _audit_value(annotation.get("valueExpression") or "", scope, at.index(i).child("valueExpression"))
        if key in seen:
            yield fields.duplicate(at.index(i).child("key"), key)
        seen.add(key)


def _audit_key(key: str, policy: str, at: Path) -> list[FieldError]:
    """Together with the policy's name it must be a qualified name."""
    return (
        labels.validate_key(f"{policy}/{key}", at) if policy else [fields.invalid(at, key, "requires metadata.name be non-empty")]
    )


def _audit_value(text: str, scope: Scope, at: Path) -> list[FieldError]:
    expression = trimmed(text)
    if not expression:
        return [fields.required(at, "valueExpression is not specified")]
    if len(expression.encode("utf-8", "surrogatepass")) > AUDIT_EXPRESSION_LIMIT:
        return [fields.required(at, f"must not exceed {AUDIT_EXPRESSION_LIMIT} bytes in length")]
    return expressions.problems(scope.env(Role.AUDIT, text), expression, (STRING, NULL), at, shown=text)


def _validating_expressions(spec: Mapping[str, Any] | None) -> Iterator[tuple[Role, str]]:
    if spec is not None:
        yield from expressions.match_conditions_of(spec)
        for validation in spec.get("validations") or ():
            yield Role.VALIDATION, validation.get("expression") or ""
            yield Role.MESSAGE, validation.get("messageExpression") or ""
        for annotation in spec.get("auditAnnotations") or ():
            yield Role.AUDIT, annotation.get("valueExpression") or ""
