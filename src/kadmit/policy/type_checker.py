"""Type checking of validating policies: whether expressions fit the kinds that a policy names, which registration does not ask.

`object`, `oldObject` and `params` have the types of their schemas here. What is found is a warning and changes nothing. Rules
with wildcards say no kinds, so there is nothing to check then; at most ten kinds are checked.
NB: kube-apiserver does not declare what a schema gives no single type (quantities), nor names that CEL reserves (`namespace`),
and warns of expressions that use them, which work all the same. `forgiving` leaves such warnings out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from kadmit.api.meta import GroupVersionKind, parse_api_version
from kadmit.cel import composition, environment, types
from kadmit.cel.environment import NEWEST, Environment
from kadmit.cel.source import CompileError
from kadmit.cel.types import Type
from kadmit.kinds.declared import escaped
from kadmit.kinds.schema import Node, Schema

MAX_KINDS = 10

_PREFIX = "compilation failed: "
_SCALARS = {
    Node.INT_OR_STRING: types.DYN,
    Node.STRING: types.STRING,
    Node.BYTES: types.BYTES,
    Node.INTEGER: types.INT,
    Node.NUMBER: types.DOUBLE,
    Node.BOOLEAN: types.BOOL,
    Node.TIME: types.TIMESTAMP,
    Node.MICRO_TIME: types.TIMESTAMP,
}
_FORMATS = {"duration": types.DURATION, "date": types.TIMESTAMP, "date-time": types.TIMESTAMP}


class Schemas(Protocol):
    """What is known of kinds: a seam, because custom kinds come and go."""

    def kinds_of(self, group: str, version: str, resource: str) -> Sequence[GroupVersionKind]:
        """The kinds that a rule with these names is about."""
        ...

    def schema_of(self, kind: GroupVersionKind) -> Schema | None: ...


@dataclass(frozen=True, slots=True)
class Warned:
    """A warning about one expression, as the status of a policy has it."""

    field: str
    text: str


def check(policy: Mapping[str, Any], schemas: Schemas, minor: int = NEWEST, *, forgiving: bool = False) -> list[Warned]:
    """What is to be warned of in a ValidatingAdmissionPolicy of v1, defaults filled in."""
    spec = policy.get("spec") or {}
    typed = ((kind, _environment(spec, kind, schemas, minor, _Declared(forgiving))) for kind in _kinds(spec, schemas))
    environments = [(kind, env) for kind, env in typed if env is not None]
    found = []
    for i, validation in enumerate(spec.get("validations") or ()):
        for name in ("expression", "messageExpression"):
            text = _warning(validation.get(name) or "", environments)
            if text:
                found.append(Warned(f"spec.validations[{i}].{name}", text))
    return found


def _warning(expression: str, environments: Sequence[tuple[GroupVersionKind, Environment]]) -> str:
    if not expression:
        return ""
    said = []
    for kind, env in environments:
        try:
            env.compile(expression)
        except CompileError as e:
            said.append(f"{kind.group_version}, Kind={kind.kind}: {str(e).removeprefix(_PREFIX)}\n")
    return "\n".join(said)


# ---------------------------------------------------------------- kinds


def _kinds(spec: Mapping[str, Any], schemas: Schemas) -> list[GroupVersionKind]:
    """The kinds that a policy's rules name. NB: the limit counts within one rule, and ends the search."""
    found: set[GroupVersionKind] = set()
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        for count, kind in enumerate(_kinds_of_rule(rule, schemas), 1):
            found.add(kind)
            if count == MAX_KINDS:
                return sorted(found)
    return sorted(found)


def _kinds_of_rule(rule: Mapping[str, Any], schemas: Schemas) -> Iterator[GroupVersionKind]:
    groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
    if any("*" in name for name in (*groups, *versions)):
        return
    resources = sorted(r for r in rule.get("resources") or () if "*" not in r and "/" not in r)
    for group in sorted(groups):
        for version in sorted(versions):
            for resource in resources:
                yield from schemas.kinds_of(group, version, resource)


# ---------------------------------------------------------------- types


def _environment(
    spec: Mapping[str, Any], kind: GroupVersionKind, schemas: Schemas, minor: int, declared: "_Declared"
) -> Environment | None:
    """Where the expressions of a policy stand when the object is of this kind; None, if nobody knows the kind's schema."""
    schema = schemas.schema_of(kind)
    if schema is None:
        return None
    object_type = declared.root(schema, kind.kind)
    typed = {"object": object_type, "oldObject": object_type}
    has_params = spec.get("paramKind") is not None
    if has_params:
        params = _param_kind(spec["paramKind"])
        found = schemas.schema_of(params)
        typed["params"] = types.DYN if found is None else declared.root(found, f"{params.kind}Params")
    plain = environment.admission(minor, params=has_params)
    env = plain.with_types(plain.types.with_fixed(declared.structs)).with_variables(typed)
    variables = [(v.get("name") or "", v.get("expression") or "") for v in spec.get("variables") or ()]
    return composition.compose(variables, env, env)[1]


def _param_kind(raw: Mapping[str, Any]) -> GroupVersionKind:
    group_version = parse_api_version(raw.get("apiVersion") or "")
    return GroupVersionKind(group_version.group, group_version.version, raw.get("kind") or "")


@dataclass(slots=True)
class _Declared:
    """Structs by name, as schemas are walked. A schema inside itself is an object of which nothing is known."""

    forgiving: bool
    structs: dict[str, Mapping[str, Type]] = field(default_factory=dict)
    _open: set[str] = field(default_factory=set)

    def root(self, schema: Schema, name: str) -> Type:
        return self._of(schema, name) or types.DYN

    def _of(self, schema: Schema, name: str) -> Type | None:
        if schema.name in self._open:
            return self._struct(name, {})
        if schema.name:
            self._open.add(schema.name)
        made = self._type(schema, name)
        self._open.discard(schema.name)
        return types.DYN if made is None and self.forgiving else made

    def _type(self, schema: Schema, name: str) -> Type | None:
        match schema.kind:
            case Node.ARRAY:
                item = self._of(schema.items, f"{name}.@idx") if schema.items is not None else None
                return types.list_of(item) if item is not None else None
            case Node.OBJECT | Node.MAP | Node.RAW:
                return self._object(schema, name)
            case Node.STRING:
                return _FORMATS.get(schema.format, types.STRING)
        return _SCALARS.get(schema.kind)

    def _object(self, schema: Schema, name: str) -> Type | None:
        if isinstance(schema.raw.get("additionalProperties"), Mapping) and schema.additional is not None:
            value = self._of(schema.additional, f"{name}.@elem")
            return types.map_of(types.STRING, value) if value is not None else None
        declared = {}
        for key, part in schema.fields.items():
            called = escaped(key)
            found = self._of(part.schema, f"{name}.{called}") if called is not None else None
            if called is not None and found is not None:
                declared[called] = found
                if self.forgiving:
                    declared[key] = found
        return self._struct(name, declared)

    def _struct(self, name: str, declared: Mapping[str, Type]) -> Type:
        self.structs[name] = declared
        return types.struct(name)
