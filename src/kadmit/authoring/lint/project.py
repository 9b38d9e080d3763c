"""All that is checked together: policies, bindings and webhooks of files, with everything else in them as their surroundings.

Only sound objects are here: what the server would refuse has been told already, and rules need not reckon with it. Expressions
are parsed and checked once, for all rules.
"""

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kadmit.api import registration
from kadmit.api.meta import GroupVersionKind, parse_api_version
from kadmit.authoring.lint.rule import Finding, Rule, finding
from kadmit.authoring.manifests import Json, Manifest
from kadmit.cel import ast, composition, environment
from kadmit.cel.ast import Expr
from kadmit.cel.checker import Checked
from kadmit.cel.environment import Environment
from kadmit.cel.source import CompileError
from kadmit.kinds import schema as schemas
from kadmit.kinds.known import Known
from kadmit.kinds.schema import Schema
from kadmit.policy import type_checker

if TYPE_CHECKING:
    from kadmit.authoring.lint.presence import Presence
    from kadmit.authoring.lint.reading import Reading
    from kadmit.authoring.lint.trials import Trials

MAX_KINDS = 12  # that a policy is checked against


class Role(enum.Enum):
    """What an expression is for."""

    CONDITION = "match condition"
    VARIABLE = "variable"
    VALIDATION = "validation"
    MESSAGE = "message"
    ANNOTATION = "audit annotation"
    APPLY = "apply configuration"
    PATCH = "JSON patch"


TRIMMED = frozenset({Role.CONDITION, Role.ANNOTATION, Role.APPLY, Role.PATCH})


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """An expression where it stands. `lead`: how much space before it was not compiled."""

    manifest: Manifest
    field: str
    role: Role
    text: str
    checked: Checked
    lead: int = 0
    name: str = ""  # of a variable or condition

    @property
    def root(self) -> Expr:
        return self.checked.tree.root

    def written(self, node: Expr) -> Expr:
        """A node as the author wrote it: macros as calls."""
        return self.checked.tree.macros.get(node.id, node)

    def offset(self, node: Expr | ast.StructField | ast.MapEntry) -> int:
        """Where a node stands: a selected field at its name, anything else at its first character."""
        offsets = self.checked.tree.offsets
        at = offsets.get(node.id, 0)
        if isinstance(node, ast.Select):
            return self.lead + at + 1
        if isinstance(node, ast.StructField):
            named = at - len(node.name)
            return self.lead + (named if self.text[named:at] == node.name else at)
        if isinstance(node, ast.MapEntry):
            return self.offset(node.key)
        return self.lead + self._first(node)

    def _first(self, node: Expr) -> int:
        """The offset of the leftmost part. A struct's own is that of its brace, with the name before it."""
        offsets = self.checked.tree.offsets
        waiting, first = [node], len(self.text)
        while waiting:
            part = self.written(waiting.pop())
            at = offsets.get(part.id, first)
            if isinstance(part, ast.StructExpr):
                at = max(self.text.rfind(part.type_name, 0, at), 0)
            elif isinstance(part, ast.Call) and part.target is None and part.function.isidentifier():
                at = max(self.text.rfind(part.function, 0, at + 1), 0)
            first = min(first, at)
            waiting += ast.children(part)
        return first

    def finding(self, rule: Rule, node: Expr | ast.StructField | ast.MapEntry | None, message: str, **more: Any) -> Finding:
        offset = self.offset(self.root if node is None else node)
        return finding(rule, self.manifest, self.field, message, offset=offset, **more)


@dataclass(eq=False)
class Policy:
    """A policy as it would be registered, with its expressions."""

    project: "Project"
    manifest: Manifest
    made: Json
    conditions: list[Expression] = field(default_factory=list)
    variables: dict[str, Expression] = field(default_factory=dict)  # NB: of a name given twice, the last
    validations: list[Expression] = field(default_factory=list)
    messages: dict[int, Expression] = field(default_factory=dict)  # by the number of their validation
    annotations: list[Expression] = field(default_factory=list)
    mutations: list[Expression] = field(default_factory=list)
    declared: list[Expression] = field(default_factory=list)  # all variables
    scope: Environment = field(default_factory=environment.admission)  # where mutations and validations stand
    _environments: dict[GroupVersionKind, Environment | None] = field(default_factory=dict)
    _checked: dict[tuple[int, GroupVersionKind], Checked | CompileError | None] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def spec(self) -> Json:
        found: Json = self.made.get("spec") or {}
        return found

    @property
    def mutating(self) -> bool:
        return self.manifest.kind.kind == registration.MUTATING_POLICY

    @property
    def fails(self) -> bool:
        return self.spec.get("failurePolicy") != "Ignore"

    @property
    def constraints(self) -> Json:
        found: Json = self.spec.get("matchConstraints") or {}
        return found

    @property
    def expressions(self) -> list[Expression]:
        judged = [*self.validations, *self.messages.values(), *self.annotations, *self.mutations]
        return [*self.conditions, *self.declared, *judged]

    @property
    def operations(self) -> set[str]:
        return operations_of(self.constraints.get("resourceRules") or ())

    @cached_property
    def param_kind(self) -> GroupVersionKind | None:
        raw = self.spec.get("paramKind")
        if raw is None:
            return None
        group_version = parse_api_version(raw.get("apiVersion") or "")
        return GroupVersionKind(group_version.group, group_version.version, raw.get("kind") or "")

    @cached_property
    def kinds(self) -> list[GroupVersionKind]:
        """The kinds that the rules name and of which a schema is known."""
        return self.project.kinds_of(self.constraints.get("resourceRules") or ())

    @cached_property
    def reading(self) -> "Reading":
        """What the expressions read, and under which conditions."""
        from kadmit.authoring.lint import reading

        return reading.of_policy(self)

    def checked(self, expression: Expression, kind: GroupVersionKind) -> Checked | CompileError | None:
        """An expression with the types of a kind; None where the kind has no schema."""
        key = (id(expression), kind)
        if key not in self._checked:
            self._checked[key] = self._check(expression, kind)
        return self._checked[key]

    def _check(self, expression: Expression, kind: GroupVersionKind) -> Checked | CompileError | None:
        if kind not in self._environments:
            self._environments[kind] = self.project.typed(self, kind)
        env = self._environments[kind]
        if env is None:
            return None
        try:
            return env.check(expression.text)
        except CompileError as e:
            return e


@dataclass(frozen=True, slots=True)
class Binding:
    """A binding of either kind."""

    manifest: Manifest
    made: Json

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def spec(self) -> Json:
        found: Json = self.made.get("spec") or {}
        return found

    @property
    def mutating(self) -> bool:
        return self.manifest.kind.kind == registration.MUTATING_BINDING

    @property
    def policy_name(self) -> str:
        return str(self.spec.get("policyName") or "")


@dataclass(frozen=True, slots=True)
class Webhook:
    """One webhook of a configuration. `given` is what the file says, `made` has the defaults."""

    manifest: Manifest
    index: int
    given: Json
    made: Json
    conditions: Sequence[Expression] = ()

    @property
    def field(self) -> str:
        return f"webhooks[{self.index}]"

    @property
    def name(self) -> str:
        return str(self.made.get("name") or "")

    @property
    def fails(self) -> bool:
        return self.made.get("failurePolicy") != "Ignore"

    @property
    def rules(self) -> Sequence[Json]:
        found: Sequence[Json] = self.made.get("rules") or ()
        return found

    @property
    def operations(self) -> set[str]:
        return operations_of(self.rules)


@dataclass(eq=False)
class Project:
    """Everything that the files hold. `now` is the moment at which certificates must be valid."""

    known: Known
    manifests: Sequence[Manifest]
    now: datetime
    policies: list[Policy] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    webhooks: list[Webhook] = field(default_factory=list)
    registered: list[Manifest] = field(default_factory=list)  # all objects of the registration kinds that are sound
    early: list[Finding] = field(default_factory=list)  # what registration has found
    _plain: dict[tuple[object, ...], tuple[Environment, Environment] | None] = field(default_factory=dict)
    _presence: "dict[GroupVersionKind, Presence]" = field(default_factory=dict)

    # ------------------------------------------------------------ filling

    def add(self, manifest: Manifest, made: Json) -> None:
        """A sound object of one of the registration kinds."""
        self.registered.append(manifest)
        match manifest.kind.kind:
            case registration.MUTATING_POLICY | registration.VALIDATING_POLICY:
                self.policies.append(_policy(self, manifest, made))
            case registration.MUTATING_BINDING | registration.VALIDATING_BINDING:
                self.bindings.append(Binding(manifest, made))
            case registration.MUTATING_WEBHOOKS | registration.VALIDATING_WEBHOOKS:
                self.webhooks += _webhooks(manifest, made)

    # ------------------------------------------------------------ asking

    def bindings_of(self, policy: Policy) -> list[Binding]:
        return [b for b in self.bindings if b.mutating == policy.mutating and b.policy_name == policy.name]

    def policy_of(self, binding: Binding) -> Policy | None:
        same = (p for p in self.policies if p.mutating == binding.mutating and p.name == binding.policy_name)
        return next(same, None)

    def objects(self, kind: GroupVersionKind) -> list[Manifest]:
        """Objects of a kind, in any version."""
        return [m for m in self.manifests if (m.kind.group, m.kind.kind) == (kind.group, kind.kind)]

    def kinds_of(self, rules: Sequence[Json]) -> list[GroupVersionKind]:
        found = {kind: None for rule in rules for kind in self._kinds_of_rule(rule)}
        return sorted(found)[:MAX_KINDS]

    def _kinds_of_rule(self, rule: Mapping[str, Any]) -> Iterator[GroupVersionKind]:
        """NB: a resource with a wildcard names no kind, and what is sent to a part of a resource may be of another kind."""
        groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
        for resource in rule.get("resources") or ():
            if "*" in resource or "/" in resource:
                continue
            for known in self.known.catalog:
                if known.plural == resource and _among(known.group, groups) and _among(known.version, versions):
                    yield GroupVersionKind(*known.gvk)

    def schema_of(self, kind: GroupVersionKind) -> Schema | None:
        custom = self.known.custom.get(kind)
        return custom.schema if custom is not None else schemas.for_kind(kind)

    @cached_property
    def trials(self) -> "Trials":
        """Where mutations are tried."""
        from kadmit.authoring.lint.trials import Trials

        return Trials(self)

    def presence(self, kind: GroupVersionKind) -> "Presence":
        """What may be missing in objects of a kind."""
        from kadmit.authoring.lint.presence import Presence

        if kind not in self._presence:
            self._presence[kind] = Presence(self, kind)
        return self._presence[kind]

    def typed(self, policy: Policy, kind: GroupVersionKind) -> Environment | None:
        """Where the expressions of a policy stand for a kind. NB: types of a kind are declared once for all policies."""
        key = (kind, policy.param_kind, policy.mutating)
        if key not in self._plain:
            self._plain[key] = type_checker.environments(
                kind, policy.param_kind, _Schemas(self), mutating=policy.mutating, forgiving=True
            )
        made = self._plain[key]
        return None if made is None else type_checker.with_variables(policy.spec, *made)


@dataclass(frozen=True, slots=True)
class _Schemas:
    """What type checking asks."""

    project: Project

    def kinds_of(self, group: str, version: str, resource: str) -> Sequence[GroupVersionKind]:
        return self.project.kinds_of([{"apiGroups": [group], "apiVersions": [version], "resources": [resource]}])

    def schema_of(self, kind: GroupVersionKind) -> Schema | None:
        return self.project.schema_of(kind)


def operations_of(rules: Sequence[Mapping[str, Any]]) -> set[str]:
    named = {operation for rule in rules for operation in rule.get("operations") or ()}
    return {"CREATE", "UPDATE", "DELETE", "CONNECT"} if "*" in named else named


def _among(name: str, names: Sequence[str]) -> bool:
    return name in names or "*" in names


# ---------------------------------------------------------------- expressions


def _policy(project: Project, manifest: Manifest, made: Json) -> Policy:
    policy = Policy(project, manifest, made)
    spec, params = policy.spec, policy.spec.get("paramKind") is not None
    plain = environment.admission(params=params)
    for i, raw in enumerate(spec.get("matchConditions") or ()):
        at, name = f"spec.matchConditions[{i}].expression", raw.get("name") or ""
        policy.conditions += _expression(plain, manifest, at, Role.CONDITION, raw.get("expression"), name)
    listed = [(raw.get("name") or "", raw.get("expression") or "") for raw in spec.get("variables") or ()]
    target = environment.admission(params=params, mutating=policy.mutating)
    composed, env = composition.compose(listed, plain, target)
    policy.scope = env
    for i, (name, text) in enumerate(listed):
        program = composed.programs.get(name)
        if program is None or isinstance(program, CompileError):
            continue
        at = f"spec.variables[{i}].expression"
        if program.text == text:
            found = Expression(manifest, at, Role.VARIABLE, text, program.checked, name=name)
            policy.variables[name] = found
            policy.declared.append(found)
        else:
            policy.declared += _expression(env, manifest, at, Role.VARIABLE, text, name)
    for i, raw in enumerate(spec.get("validations") or ()):
        at = f"spec.validations[{i}]"
        policy.validations += _expression(env, manifest, f"{at}.expression", Role.VALIDATION, raw.get("expression"))
        for message in _expression(env, manifest, f"{at}.messageExpression", Role.MESSAGE, raw.get("messageExpression")):
            policy.messages[i] = message
    for i, raw in enumerate(spec.get("auditAnnotations") or ()):
        at = f"spec.auditAnnotations[{i}].valueExpression"
        policy.annotations += _expression(env, manifest, at, Role.ANNOTATION, raw.get("valueExpression"))
    for i, raw in enumerate(spec.get("mutations") or ()):
        applying = raw.get("patchType") == "ApplyConfiguration"
        part, role = ("applyConfiguration", Role.APPLY) if applying else ("jsonPatch", Role.PATCH)
        text = (raw.get(part) or {}).get("expression")
        policy.mutations += _expression(env, manifest, f"spec.mutations[{i}].{part}.expression", role, text)
    return policy


def _expression(
    env: Environment, manifest: Manifest, at: str, role: Role, text: str | None, name: str = ""
) -> Iterator[Expression]:
    """None if there is none, or if it does not compile, which has been told."""
    from kadmit.validation.expressions import trimmed

    if not text:
        return
    compiled = trimmed(text) if role in TRIMMED else text
    try:
        checked = env.check(compiled)
    except CompileError:
        return
    yield Expression(manifest, at, role, compiled, checked, text.find(compiled), name)


def _webhooks(manifest: Manifest, made: Json) -> Iterator[Webhook]:
    env = environment.admission(params=False)
    given = manifest.value.get("webhooks") or ()
    for i, hook in enumerate(made.get("webhooks") or ()):
        conditions = [
            expression
            for j, raw in enumerate(hook.get("matchConditions") or ())
            for expression in _expression(
                env,
                manifest,
                f"webhooks[{i}].matchConditions[{j}].expression",
                Role.CONDITION,
                raw.get("expression"),
                raw.get("name") or "",
            )
        ]
        yield Webhook(manifest, i, given[i] if i < len(given) else {}, hook, conditions)
