"""One mutation of a mutating policy: evaluate it, and apply what it gives to the object.

Whatever goes wrong is a `Rejection` with Kubernetes' text, which the failure policy may forgive, or an ApiError, which nothing
forgives: a patched object that does not decode.
"""

from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

from kadmit.api.errors import ApiError, Status
from kadmit.api.meta import GroupVersionKind
from kadmit.cel import cost, work
from kadmit.cel.library.mutation import OBJECT, ObjectValue
from kadmit.cel.source import CompileError
from kadmit.cel.values import Value
from kadmit.kinds.settling import Unconvertible
from kadmit.matching.attributes import Json
from kadmit.patch import jsonpatch, merge, unwritten
from kadmit.patch.errors import PatchError
from kadmit.patch.typed import MergeError
from kadmit.patch.unwritten import Unwritable
from kadmit.policy import natives
from kadmit.policy.evaluation import Budget, Failed, OutOfBudget, evaluate
from kadmit.policy.model import Mutation
from kadmit.policy.natives import NoJson, Provenance
from kadmit.policy.world import Kinds


class Rejection(Struct, frozen=True):
    """Why a mutation was not applied. `error_type` is how metrics count it."""

    text: str
    error_type: str = "invalid_error"


def mutate(mutation: Mutation, bound: Mapping[str, Value], kind: GroupVersionKind, world: Kinds) -> "Json | Rejection":
    """The changed object (the same one if nothing changed), or why not. Raises ApiError."""
    if isinstance(mutation.expression.program, CompileError):
        return Rejection(str(mutation.expression.program), "compile_error")
    try:
        value = evaluate(mutation.expression, bound, Budget(cost.PER_BINDING_BUDGET))
    except OutOfBudget as e:
        return Rejection(str(e), "out_of_budget")
    if isinstance(value, Failed):
        return Rejection(value.text)
    live: Json = bound["object"]
    origin = Provenance(bound)
    change = _apply_configuration if mutation.apply_configuration else _json_patch
    try:
        return work.alone(change, value, live, kind, origin, world)
    except Unconvertible as e:
        return Rejection(str(e))
    except work.TooMuchWork:
        return Rejection(work.TOO_MUCH)


def _json_patch(value: Value, live: Json, kind: GroupVersionKind, origin: Provenance, world: Kinds) -> "Json | Rejection":
    operations: list[dict[str, Any]] = []
    for operation in value:
        wrong = list(natives.misnamed(operation.value, operation.value.cel_type.name)) if _is_object(operation.value) else []
        if wrong:
            return Rejection("type mismatch: " + "\n".join(wrong))
        try:
            operations.append(natives.operation_json(operation, origin))
        except NoJson as e:
            return Rejection(f"JSONPath valueExpression evaluated to a type that could not marshal to JSON: {e}")
    try:
        patched = jsonpatch.decode(operations, null_is_text=True).apply(live)
    except PatchError as e:
        return live if e.test_failed else Rejection(f"JSON Patch: {e}")
    return world.settle(kind, cast("Json", patched), live, strict=True)


def _is_object(value: Value) -> bool:
    return value.__class__ is ObjectValue


def _apply_configuration(
    value: Value, live: Json, kind: GroupVersionKind, origin: Provenance, world: Kinds
) -> "Json | Rejection":
    wrong = list(natives.misnamed(value, OBJECT))
    if wrong:
        return Rejection("type mismatch: " + "\n".join(wrong))
    try:
        partial = natives.to_partial(value, origin)
    except NoJson:
        return Rejection("invalid return type: *dynamic.ObjectVal")
    partial = {**partial, "apiVersion": str(kind.group_version), "kind": kind.kind}
    custom = world.is_custom(kind)
    if custom and live.get("kind") != kind.kind:  # NB: an earlier mutation may have changed that
        kind = GroupVersionKind(kind.group, kind.version, str(live.get("kind")))
    shape = world.shape(kind)
    if shape is None:
        missing = f"no corresponding type for {kind}"
        return Rejection(f"error applying patch: failed to convert patch object to typed object: {missing}")
    try:
        # NB: no Go type has made sure yet that a custom object fits its schema, nor has validation.
        merged = merge.apply_configuration(shape, live, partial, trusted=not custom)
    except MergeError as e:
        return Rejection(f"error applying patch: {e}")
    return world.settle(kind, merged if custom else _written(partial, merged), live, strict=False)


def _written(partial: Json, merged: Json) -> Json:
    """NB: only what an expression made can be odd, so only that is searched."""
    if not unwritten.is_odd(partial):
        return merged
    try:
        return cast("Json", unwritten.written(merged))
    except Unwritable as e:
        raise ApiError(Status(500, "", str(e))) from None
