"""Compiled policies and bindings: what a request meets. Made by `compiler`, never changed."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kadmit.api.meta import GroupVersionKind
from kadmit.cel.composition import Composition
from kadmit.cel.source import CompileError
from kadmit.matching.criteria import Criteria
from kadmit.matching.selectors import Selector

if TYPE_CHECKING:
    from kadmit.cel.program import Program


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression as it was written and as it compiled."""

    text: str
    program: "Program | CompileError"


@dataclass(frozen=True, slots=True)
class MatchCondition:
    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Mutation:
    """One mutation; `apply_configuration`: its value is an Object to merge, else a list of JSONPatch operations."""

    expression: Expression
    apply_configuration: bool


@dataclass(frozen=True, slots=True)
class Validation:
    expression: Expression
    message: str = ""
    message_expression: Expression | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AuditAnnotation:
    key: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Policy:
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


@dataclass(frozen=True, slots=True)
class ParamRef:
    """Which params a binding uses: one by name, or all that a selector selects."""

    name: str = ""
    namespace: str = ""
    selector: Selector | None = None
    deny_if_missing: bool = False


@dataclass(frozen=True, slots=True)
class Binding:
    name: str
    policy_name: str
    criteria: Criteria | None  # None: whatever the policy matches
    param_ref: ParamRef | None = None
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BoundPolicy:
    """A policy with its bindings, in their order."""

    policy: Policy
    bindings: tuple[Binding, ...] = field(default_factory=tuple)
