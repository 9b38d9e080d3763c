"""Compiled policies and bindings: what a request meets. Made by `compiler`, never changed."""

from typing import TYPE_CHECKING

from msgspec import Struct, field

from kadmit.api.meta import GroupVersionKind
from kadmit.cel.composition import Composition
from kadmit.cel.source import CompileError
from kadmit.matching.criteria import Criteria
from kadmit.matching.selectors import Selector

if TYPE_CHECKING:
    from kadmit.cel.program import Program


class Expression(Struct, frozen=True):
    """An expression as it was written and as it compiled."""

    text: str
    program: "Program | CompileError"


class MatchCondition(Struct, frozen=True):
    name: str
    expression: Expression


class Mutation(Struct, frozen=True):
    """One mutation; `apply_configuration`: its value is an Object to merge, else a list of JSONPatch operations."""

    expression: Expression
    apply_configuration: bool


class Validation(Struct, frozen=True):
    expression: Expression
    message: str = ""
    message_expression: Expression | None = None
    reason: str = ""


class AuditAnnotation(Struct, frozen=True):
    key: str
    expression: Expression


class Policy(Struct, frozen=True):
    """A mutating or a validating policy."""

    name: str
    criteria: Criteria
    fail: bool  # failurePolicy Fail
    conditions: tuple[MatchCondition, ...]
    composition: Composition
    param_kind: GroupVersionKind | None
    mutations: tuple[Mutation, ...] = ()
    reinvoke: bool = False
    asks_authorizer: bool = True  # False: no expression does, so nobody need prepare for it
    validations: tuple[Validation, ...] = ()
    audit_annotations: tuple[AuditAnnotation, ...] = ()


class ParamRef(Struct, frozen=True):
    """Which params a binding uses: one by name, or all that a selector selects."""

    name: str = ""
    namespace: str = ""
    selector: Selector | None = None
    deny_if_missing: bool = False


class Binding(Struct, frozen=True):
    name: str
    policy_name: str
    criteria: Criteria | None  # None: whatever the policy matches
    param_ref: ParamRef | None = None
    actions: tuple[str, ...] = ()


class BoundPolicy(Struct, frozen=True):
    """A policy with its bindings, in their order."""

    policy: Policy
    bindings: tuple[Binding, ...] = field(default_factory=tuple)
