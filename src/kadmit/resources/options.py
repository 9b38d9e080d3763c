"""CreateOptions, UpdateOptions, PatchOptions and DeleteOptions: read from the query (and, for DELETE, the body), and checked."""

from collections.abc import Sequence
from typing import Any

from kadmit.api import errors, fields
from kadmit.api.fields import FieldError
from kadmit.api.meta import GroupKind
from kadmit.kinds import metadata
from kadmit.matching.attributes import Json
from kadmit.presentation import queries
from kadmit.presentation.queries import Query
from kadmit.resources.context import Options
from kadmit.resources.deleting import DeleteOptions

APPLY = "application/apply-patch+yaml"
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_POLICIES = ("Background", "Foreground", "Orphan")


def manager_of(user_agent: str) -> str:
    """Who a request without fieldManager is taken for: the name before the slash of its user agent."""
    name = user_agent.split("/")[0]
    return (name if name.isprintable() else "".join(c for c in name if c.isprintable()))[:128] or "unknown"


def read(kind: str, query: Query, *, user_agent: str = "", patch_type: str = "") -> Options:
    """The options of a create, update or patch. Raises ApiError (422)."""
    dry_run = list(query.get("dryRun") or ())
    manager, validation = queries.text(query, "fieldManager"), queries.text(query, "fieldValidation")
    force = queries.flag(query, "force")
    problems = _patch_problems(force, manager, patch_type) if kind == "PatchOptions" else []
    if manager or dry_run or validation:
        problems += [*_manager_problems(manager), *_dry_run_problems(dry_run), *_validation_problems(validation)]
    if problems:
        raise errors.invalid(GroupKind("meta.k8s.io", kind), "", problems)
    shown = "UpdateOptions" if kind == "PatchOptions" else kind
    raw: Json = {"kind": shown, "apiVersion": "meta.k8s.io/v1"}
    if dry_run:
        raw["dryRun"] = dry_run
    if manager:
        raw["fieldManager"] = manager
    if validation:
        raw["fieldValidation"] = validation
    return Options(
        dry_run=bool(dry_run),
        manager=manager or manager_of(user_agent),
        field_validation=validation or "Warn",
        force=bool(force),
        raw=raw,
    )


def _dry_run_problems(values: Sequence[str]) -> list[FieldError]:
    if all(v == "All" for v in values):
        return []
    return [fields.not_supported(fields.path("dryRun"), list(values), ("All",))]


def _manager_problems(manager: str) -> list[FieldError]:
    if not manager:
        return []
    return metadata.validate_manager(manager, fields.path("fieldManager"))


def _patch_problems(force: bool | None, manager: str, patch_type: str) -> list[FieldError]:
    if patch_type != APPLY:
        return [fields.forbidden(fields.path("force"), "may not be specified for non-apply patch")] if force is not None else []
    return [] if manager else [fields.required(fields.path("fieldManager"), "is required for apply patch")]


def _validation_problems(validation: str) -> list[FieldError]:
    if validation in _VALIDATIONS:
        return []
    return [fields.not_supported(fields.path("fieldValidation"), validation, _VALIDATIONS)]


def read_delete(query: Query, body: Json | None, *, user_agent: str = "") -> tuple[Options, DeleteOptions]:
    """The options of a delete: a body counts alone, else the query. Raises ApiError (422)."""
    sent = body if body is not None else _from_query(query)
    policy, orphan = sent.get("propagationPolicy"), sent.get("orphanDependents")
    problems: list[FieldError] = []
    if orphan is not None and policy is not None:
        at = fields.path("propagationPolicy")
        problems.append(fields.invalid(at, policy, "orphanDependents and deletionPropagation cannot be both set"))
    if policy is not None and policy not in _POLICIES:
        problems.append(
            fields.not_supported(fields.path("propagationPolicy"), policy, ("Foreground", "Background", "Orphan", "nil"))
        )
    dry_run = list(sent.get("dryRun") or ())
    problems += _dry_run_problems(dry_run)
    if problems:
        raise errors.invalid(GroupKind("meta.k8s.io", "DeleteOptions"), "", problems)
    known = {k: v for k, v in sent.items() if k not in ("kind", "apiVersion") and v is not None}
    raw: Json = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", **known}
    preconditions = sent.get("preconditions") or {}
    options = Options(dry_run=bool(dry_run), manager=manager_of(user_agent), raw=raw)
    return options, DeleteOptions(
        grace_period=sent.get("gracePeriodSeconds"),
        propagation=policy or "",
        orphan=orphan,
        uid=preconditions.get("uid") or "",
        resource_version=preconditions.get("resourceVersion") or "",
    )


def _from_query(query: Query) -> dict[str, Any]:
    """Raises ApiError (400)."""
    made: dict[str, Any] = {
        "gracePeriodSeconds": queries.integer(query, "gracePeriodSeconds"),
        "orphanDependents": queries.flag(query, "orphanDependents"),
        "propagationPolicy": queries.text(query, "propagationPolicy") if "propagationPolicy" in query else None,
        "dryRun": list(query.get("dryRun") or ()),
        "preconditions": {"uid": queries.text(query, "uid")} if queries.text(query, "uid") else None,
    }
    return {name: value for name, value in made.items() if value not in (None, [])}
