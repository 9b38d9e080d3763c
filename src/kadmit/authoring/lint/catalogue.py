"""All rules, in the order of their codes. Hundreds: 0 registration, 1 mutations, 2 expressions, 3 what comes of running them,
4 lock-outs, 5 webhooks, 6 how objects fit together.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from kadmit.authoring.lint.project import Project
from kadmit.authoring.lint.rule import Finding, Rule
from kadmit.authoring.lint.rules import (
    atomic,
    bundle,
    conflict,
    constant_condition,
    constant_validation,
    cost,
    everything,
    expiry,
    heartbeats,
    idempotence,
    kind_mismatch,
    list_key,
    missing_param,
    null_object,
    object_type,
    old_review,
    old_version,
    own_namespace,
    param_kind,
    param_ref,
    patch_operation,
    patch_parent,
    patch_path,
    patch_removal,
    registered,
    repeated_object,
    repeated_variable,
    system_namespace,
    timeout,
    unbound_policy,
    unguarded,
    unknown_field,
    unknown_policy,
    unknown_resource,
    unmergeable,
    unused_params,
    unused_variable,
    value_type,
)
from kadmit.authoring.lint.silencing import IDLE


class Module(Protocol):
    """What a module of a rule offers: the seam that lets rules be files of their own."""

    @property
    def RULE(self) -> Rule: ...  # noqa: N802  a constant of the module

    def find(self, project: Project, /) -> Iterator[Finding]: ...


MODULES: tuple[Module, ...] = (
    atomic,
    unknown_field,
    value_type,
    object_type,
    patch_path,
    patch_operation,
    list_key,
    patch_parent,
    patch_removal,
    unmergeable,
    kind_mismatch,
    unguarded,
    null_object,
    cost,
    constant_validation,
    constant_condition,
    unused_variable,
    repeated_variable,
    idempotence,
    conflict,
    everything,
    own_namespace,
    system_namespace,
    heartbeats,
    timeout,
    bundle,
    expiry,
    old_version,
    old_review,
    unknown_policy,
    unbound_policy,
    param_ref,
    param_kind,
    missing_param,
    unused_params,
    unknown_resource,
    repeated_object,
)

RULES: tuple[Rule, ...] = tuple(sorted((*registered.RULES, IDLE, *(m.RULE for m in MODULES)), key=lambda rule: rule.code))


def named(code: str) -> Rule | None:
    return next((rule for rule in RULES if rule.code == code.upper()), None)


def matching(prefix: str) -> Sequence[Rule]:
    """The rules whose codes begin so: KA1 are all about mutations."""
    return [rule for rule in RULES if rule.code.startswith(prefix.upper())]
