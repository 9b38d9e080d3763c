"""Type checking of validating policies: whether expressions fit the kinds that a policy names, which registration does not ask.

`object`, `oldObject` and `params` have the types of their schemas here. What is found is a warning and changes nothing. Rules
with wildcards say no kinds, so there is nothing to check then; at most ten kinds are checked.
NB: kube-apiserver does not declare what a schema gives no single type (quantities), nor names that CEL reserves (`namespace`),
and it declares times and bytes, which are texts when they are evaluated; it warns of expressions that use them as what they are.
`forgiving` leaves such warnings out.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct, field

from kadmit.api.meta import GroupVersionKind, parse_api_version
from kadmit.cel import composition, environment, types
from kadmit.cel.environment import NEWEST, Environment
from kadmit.cel.request_types import FixedTypes
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


class Warned(Struct, frozen=True):
    """A warning about one expression, as the status of a policy has it."""

    field: str
    text: str


def check(policy: Mapping[str, Any], schemas: Schemas, minor: int = NEWEST, *, forgiving: bool = False) -> list[Warned]:
    """What is to be warned of in a ValidatingAdmissionPolicy of v1, defaults filled in."""
    spec = policy.get("spec") or {}
    typed = ((kind, environment_of(spec, kind, schemas, minor, forgiving=forgiving)) for kind in _kinds(spec, schemas))
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


def environment_of(
    spec: Mapping[str, Any],
    kind: GroupVersionKind,
    schemas: Schemas,
    minor: int = NEWEST,
    *,
    mutating: bool = False,
    forgiving: bool = False,
) -> Environment | None:
    """Where the expressions of a policy stand when the object is of this kind; None, if nobody knows the kind's schema."""
    params = spec.get("paramKind")
    made = environments(
        kind, None if params is None else _param_kind(params), schemas, minor, mutating=mutating, forgiving=forgiving
    )
    return None if made is None else with_variables(spec, *made)


def environments(
    kind: GroupVersionKind,
    params: GroupVersionKind | None,
    schemas: Schemas,
    minor: int = NEWEST,
    *,
    mutating: bool = False,
    forgiving: bool = False,
) -> tuple[Environment, Environment] | None:
    """For variables and for all else of any policy for this kind with these params, before it has variables of its own."""
    schema = schemas.schema_of(kind)
    if schema is None:
        return None
    declared = _Declared(forgiving)
    object_type = declared.root(schema, kind.kind)
    typed = {"object": object_type, "oldObject": object_type}
    if params is not None:
        found = schemas.schema_of(params)
        typed["params"] = types.DYN if found is None else declared.root(found, f"{params.kind}Params")
    plain = _typed(environment.admission(minor, params=params is not None), declared, typed)
    if not mutating:
        return plain, plain
    return plain, _typed(environment.admission(minor, params=params is not None, mutating=True), declared, typed)


def with_variables(spec: Mapping[str, Any], plain: Environment, target: Environment) -> Environment:
    """The environment with the variables of a policy."""
    variables = [(v.get("name") or "", v.get("expression") or "") for v in spec.get("variables") or ()]
    return composition.compose(variables, plain, target)[1]


def _typed(env: Environment, declared: "_Declared", variables: Mapping[str, Type]) -> Environment:
    from kadmit.cel.dialect import Types  # as heavy as all libraries, and loaded by whoever compiles

    fixed = _SchemaTypes(env.types.fixed.structs, declared)
    return env.with_types(Types(fixed, env.types.mutation)).with_variables(variables)


def _param_kind(raw: Mapping[str, Any]) -> GroupVersionKind:
    group_version = parse_api_version(raw.get("apiVersion") or "")
    return GroupVersionKind(group_version.group, group_version.version, raw.get("kind") or "")


class _Declared(Struct):
    """Structs by name. A struct's fields are declared when somebody asks for one: an expression looks at few of a kind's many.

    A schema inside itself is an object of which nothing is known.
    """

    forgiving: bool
    _waiting: dict[str, tuple[Schema, frozenset[str]]] = field(default_factory=dict)  # not looked at yet, inside of which schemas
    _structs: dict[str, Mapping[str, Type]] = field(default_factory=dict)

    def root(self, schema: Schema, name: str) -> Type:
        return self._of(schema, name, frozenset()) or types.DYN

    def knows(self, name: str) -> bool:
        """NB: a name may be written before anything has led to it."""
        if name not in self._structs and name not in self._waiting:
            parts = name.split(".")
            for length in range(1, len(parts)):
                self.fields(".".join(parts[:length]))
        return name in self._structs or name in self._waiting

    def fields(self, name: str) -> Mapping[str, Type] | None:
        if name in self._waiting:
            schema, within = self._waiting.pop(name)
            self._structs[name] = dict(self._declared(schema, name, within))
        return self._structs.get(name)

    def _of(self, schema: Schema, name: str, within: frozenset[str]) -> Type | None:
        if schema.name in within:
            self._structs[name] = {}
            return types.struct(name)
        made = self._type(schema, name, within | {schema.name} if schema.name else within)
        return types.DYN if made is None and self.forgiving else made

    def _type(self, schema: Schema, name: str, within: frozenset[str]) -> Type | None:
        match schema.kind:
            case Node.ARRAY:
                item = self._of(schema.items, f"{name}.@idx", within) if schema.items is not None else None
                return types.list_of(item) if item is not None else None
            case Node.OBJECT | Node.MAP | Node.RAW:
                return self._object(schema, name, within)
            case Node.STRING:
                return self._text(_FORMATS.get(schema.format))
            case Node.BYTES | Node.TIME | Node.MICRO_TIME:
                return self._text(_SCALARS[schema.kind])
        return _SCALARS.get(schema.kind)

    def _text(self, declared: Type | None) -> Type:
        return types.STRING if declared is None else types.DYN if self.forgiving else declared

    def _object(self, schema: Schema, name: str, within: frozenset[str]) -> Type | None:
        if isinstance(schema.raw.get("additionalProperties"), Mapping) and schema.additional is not None:
            value = self._of(schema.additional, f"{name}.@elem", within)
            return types.map_of(types.STRING, value) if value is not None else None
        self._waiting[name] = schema, within
        return types.struct(name)

    def _declared(self, schema: Schema, name: str, within: frozenset[str]) -> Iterator[tuple[str, Type]]:
        for key, part in schema.fields.items():
            called = escaped(key)
            found = self._of(part.schema, f"{name}.{called}", within) if called is not None else None
            if called is not None and found is not None:
                yield called, found
                if self.forgiving:
                    yield key, found


class _SchemaTypes(FixedTypes):
    """The types of requests, and those of schemas."""

    __slots__ = ("_declared",)

    def __init__(self, structs: Mapping[str, Mapping[str, Type]], declared: _Declared) -> None:
        super().__init__(structs)
        self._declared = declared

    def struct(self, name: str) -> Type | None:
        return types.struct(name) if name in self.structs or self._declared.knows(name) else None

    def field(self, struct_name: str, field_name: str) -> Type | None:
        fields = self._declared.fields(struct_name)
        return super().field(struct_name, field_name) if fields is None else fields.get(field_name)

    def with_structs(self, extra: Mapping[str, Mapping[str, Type]]) -> "FixedTypes":
        return _SchemaTypes({**self.structs, **extra}, self._declared)
