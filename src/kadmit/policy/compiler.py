"""From policy objects (as v1 has them, defaults filled in) to compiled policies.

Objects that are registered have passed validation, so every expression compiles; should one not, its error waits inside the
compiled policy and meets the failure policy when a request comes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kadmit.api.meta import GroupVersionKind, parse_api_version
from kadmit.cel import composition, environment, types
from kadmit.cel.composition import Composition
from kadmit.cel.environment import NEWEST, Environment
from kadmit.cel.library.mutation import JSON_PATCH_TYPE, OBJECT_TYPE
from kadmit.cel.source import CompileError
from kadmit.cel.types import BOOL, NULL, STRING, Type
from kadmit.matching.criteria import compile_policy_criteria
from kadmit.matching.selectors import compile_selector
from kadmit.policy.model import AuditAnnotation, Binding, Expression, MatchCondition, Mutation, ParamRef, Policy, Validation

PATCH_LIST = types.list_of(JSON_PATCH_TYPE)


def compile_expression(env: Environment, text: str, returns: Sequence[Type], *, limit: int | None = None) -> Expression:
    try:
        return Expression(text, env.compile(text, returns=returns, limit=limit))
    except CompileError as e:
        return Expression(text, e)


def compile_conditions(raw: Sequence[Mapping[str, Any]], env: Environment) -> tuple[MatchCondition, ...]:
    """matchConditions: no variables there."""
    return tuple(MatchCondition(c.get("name", ""), compile_expression(env, c.get("expression", ""), (BOOL,))) for c in raw)


def compile_mutating(raw: Mapping[str, Any], minor: int = NEWEST) -> Policy:
    """A MutatingAdmissionPolicy."""
    spec = raw.get("spec") or {}
    params = spec.get("paramKind") is not None
    plain = environment.admission(minor, params=params)
    composed, env = composition.compose(_variables(spec), plain, environment.admission(minor, mutating=True, params=params))
    return replace(
        _policy(raw, plain, composed),
        mutations=tuple(_mutation(m, env) for m in spec.get("mutations") or ()),
        reinvoke=spec.get("reinvocationPolicy") == "IfNeeded",
        asks_authorizer="authorizer" in str(spec),
    )


def _policy(raw: Mapping[str, Any], plain: Environment, composed: Composition) -> Policy:
    """What policies of both kinds have."""
    spec = raw.get("spec") or {}
    return Policy(
        name=raw["metadata"]["name"],
        criteria=compile_policy_criteria(spec.get("matchConstraints") or {}),
        fail=spec.get("failurePolicy") != "Ignore",
        conditions=compile_conditions(spec.get("matchConditions") or (), plain),
        composition=composed,
        param_kind=_param_kind(spec),
    )


def _mutation(raw: Mapping[str, Any], env: Environment) -> Mutation:
    applying = raw.get("patchType") == "ApplyConfiguration"
    text = (raw.get("applyConfiguration" if applying else "jsonPatch") or {}).get("expression", "")
    return Mutation(compile_expression(env, text, (OBJECT_TYPE,) if applying else (PATCH_LIST,)), applying)


def compile_validating(raw: Mapping[str, Any], minor: int = NEWEST) -> Policy:
    """A ValidatingAdmissionPolicy."""
    spec = raw.get("spec") or {}
    params = spec.get("paramKind") is not None
    plain = environment.admission(minor, params=params)
    composed, env = composition.compose(_variables(spec), plain, plain)
    # NB: messages cannot ask the authorizer. Audit annotations compile as if they could, and fail when they do.
    unauthorized = environment.admission(minor, params=params, authorizer_=False)
    _, quiet = composition.compose(_variables(spec), plain, unauthorized)
    return replace(
        _policy(raw, plain, composed),
        validations=tuple(_validation(v, env, quiet) for v in spec.get("validations") or ()),
        audit_annotations=tuple(_audit_annotation(a, env) for a in spec.get("auditAnnotations") or ()),
    )


def _validation(raw: Mapping[str, Any], env: Environment, quiet: Environment) -> Validation:
    message = raw.get("messageExpression") or ""
    return Validation(
        expression=compile_expression(env, raw.get("expression", ""), (BOOL,)),
        message=raw.get("message") or "",
        message_expression=compile_expression(quiet, message, (STRING,)) if message else None,
        reason=raw.get("reason") or "",
    )


def _audit_annotation(raw: Mapping[str, Any], env: Environment) -> AuditAnnotation:
    text = raw.get("valueExpression", "")
    return AuditAnnotation(raw.get("key", ""), compile_expression(env, text, (STRING, NULL)))


def _variables(spec: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(v.get("name", ""), v.get("expression", "")) for v in spec.get("variables") or ()]


def _param_kind(spec: Mapping[str, Any]) -> GroupVersionKind | None:
    raw = spec.get("paramKind")
    if raw is None:
        return None
    group_version = parse_api_version(raw.get("apiVersion", ""))
    return GroupVersionKind(group_version.group, group_version.version, raw.get("kind", ""))


def compile_binding(raw: Mapping[str, Any]) -> Binding:
    """A binding of either kind."""
    spec = raw.get("spec") or {}
    resources = spec.get("matchResources")
    return Binding(
        name=raw["metadata"]["name"],
        policy_name=spec.get("policyName", ""),
        criteria=compile_policy_criteria(resources) if resources is not None else None,
        param_ref=_param_ref(spec.get("paramRef")),
        actions=tuple(spec.get("validationActions") or ()),
    )


def _param_ref(raw: Mapping[str, Any] | None) -> ParamRef | None:
    if raw is None:
        return None
    selector = raw.get("selector")
    return ParamRef(
        name=raw.get("name") or "",
        namespace=raw.get("namespace") or "",
        selector=compile_selector(selector) if selector is not None else None,
        deny_if_missing=raw.get("parameterNotFoundAction") == "Deny",
    )
