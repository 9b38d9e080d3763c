"""Rbac: an authorizer over Roles, ClusterRoles and their bindings.

Immutable. Bindings are indexed by subject, so a check looks at those of its user and groups only; `put` and `remove` share all
that one object does not touch. Kubernetes asks bindings in no fixed order; here it is by name, cluster-wide ones first.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from kadmit.access import aggregation
from kadmit.access.aggregation import ClusterRole
from kadmit.access.policyrules import PolicyRule, Rules, compile_rules
from kadmit.api import errors, fields
from kadmit.api.errors import ApiError, Status
from kadmit.api.gojson import quoted
from kadmit.api.meta import GroupResource
from kadmit.cel.library.authorizer import Attributes, Decision, User

Json: TypeAlias = Mapping[str, Any]
Key: TypeAlias = tuple[str, str, str]  # kind, namespace, name

_T = TypeVar("_T")

GROUP = "rbac.authorization.k8s.io"
ROLE, CLUSTER_ROLE, ROLE_BINDING, CLUSTER_ROLE_BINDING = "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"
KINDS = frozenset((ROLE, CLUSTER_ROLE, ROLE_BINDING, CLUSTER_ROLE_BINDING))
MASTERS = "system:masters"  # may do anything, whatever the roles say
CLUSTER = ""  # the scope of bindings that are in no namespace

_MASTERS_ALLOWED = Decision(True)


class RoleRef(Struct, frozen=True):
    kind: str
    name: str
    api_group: str = GROUP


def compile_role_ref(raw: object) -> RoleRef:
    held = raw if isinstance(raw, dict) else {}
    return RoleRef(_text(held, "kind"), _text(held, "name"), _text(held, "apiGroup"))


class Subject(Struct, frozen=True):
    """`text` is how reasons name it, made once: writing it takes longer than the rest of a check."""

    kind: str
    name: str
    namespace: str
    text: str

    @property
    def user(self) -> str | None:
        """The user that this is, if any. A service account is a user by another name."""
        if self.kind == "ServiceAccount":
            return f"system:serviceaccount:{self.namespace}:{self.name}" if self.namespace else None
        return self.name if self.kind == "User" else None

    @property
    def group(self) -> str | None:
        return self.name if self.kind == "Group" else None


def _subject(raw: Json, namespace: str) -> Subject:
    """A service account without a namespace is one of the binding's own."""
    kind, name, namespace = _text(raw, "kind"), _text(raw, "name"), _text(raw, "namespace") or namespace
    shown = f"{name}/{namespace}" if kind == "ServiceAccount" else name
    return Subject(kind, name, namespace, f"{kind} {quoted(shown)}")


class Binding(Struct, frozen=True):
    name: str
    namespace: str
    role: RoleRef
    subjects: tuple[Subject, ...]
    text: str


def compile_binding(raw: Json) -> Binding:
    name, namespace = _named(raw)
    role = compile_role_ref(raw.get("roleRef"))
    kind, shown = (ROLE_BINDING, f"{name}/{namespace}") if namespace else (CLUSTER_ROLE_BINDING, name)
    text = f"{kind} {quoted(shown)} of {role.kind} {quoted(role.name)}"
    held = raw.get("subjects")
    listed = held if isinstance(held, list) else ()
    return Binding(name, namespace, role, tuple(_subject(s, namespace) for s in listed if isinstance(s, dict)), text)


class Grant(Struct, frozen=True):
    """A binding as it reaches a user: by its first subject that is about them."""

    binding: Binding
    position: int

    def __str__(self) -> str:
        return f"{self.binding.text} to {self.binding.subjects[self.position].text}"


class Scope(Struct, frozen=True):
    """The bindings of one namespace, or of the cluster, by whom they are about."""

    bindings: Mapping[str, Binding] = field(default_factory=dict)
    by_user: Mapping[str, tuple[Grant, ...]] = field(default_factory=dict)
    by_group: Mapping[str, tuple[Grant, ...]] = field(default_factory=dict)

    @staticmethod
    def of(bindings: Mapping[str, Binding]) -> "Scope":
        found = bindings.values()
        by_user = _by_subject((b, [s.user for s in b.subjects]) for b in found)
        return Scope(bindings, by_user, _by_subject((b, [s.group for s in b.subjects]) for b in found))

    def grants(self, user: User) -> list[Grant]:
        found = {grant.binding.name: grant for grant in self.by_user.get(user.name, ())}
        for group in user.groups:
            for grant in self.by_group.get(group, ()):
                before = found.get(grant.binding.name)
                if before is None or grant.position < before.position:
                    found[grant.binding.name] = grant
        return [found[name] for name in sorted(found)] if len(found) > 1 else list(found.values())


def _by_subject(named: Iterable[tuple[Binding, Sequence[str | None]]]) -> dict[str, tuple[Grant, ...]]:
    """The bindings by the names in their subjects, each name by its first place."""
    found: dict[str, list[Grant]] = {}
    for binding, names in named:
        first = {name: position for position, name in reversed(list(enumerate(names))) if name is not None}
        for name, position in first.items():
            found.setdefault(name, []).append(Grant(binding, position))
    return {name: tuple(grants) for name, grants in found.items()}


NO_BINDINGS = Scope()


class Rbac(Struct, frozen=True):
    """All roles and bindings. `resolved` holds what cluster roles allow, aggregated ones included."""

    scopes: Mapping[str, Scope] = field(default_factory=dict)  # by namespace
    roles: Mapping[str, Mapping[str, Rules]] = field(default_factory=dict)  # by namespace and name
    cluster_roles: Mapping[str, ClusterRole] = field(default_factory=dict)
    resolved: Mapping[str, Rules] = field(default_factory=dict)
    aggregates: bool = True

    # ------------------------------------------------------------ building

    @staticmethod
    def build(objects: Iterable[Json], *, aggregates: bool = True) -> "Rbac":
        """From objects of the four kinds; others are left out. Without `aggregates`, aggregated roles keep the rules they have,
        as in a cluster where no controller runs."""
        return Rbac(aggregates=aggregates).changed({_key(raw): raw for raw in objects})

    def put(self, raw: Json) -> "Rbac":
        """With this object, new or changed."""
        return self.changed({_key(raw): raw})

    def remove(self, kind: str, namespace: str, name: str) -> "Rbac":
        return self.changed({(kind, namespace, name): None})

    def changed(self, objects: Mapping[Key, Json | None]) -> "Rbac":
        """With all of these, new or changed; None for one that is gone. Many at once cost hardly more than one."""
        grouped: dict[tuple[str, str], dict[str, Json | None]] = {}
        for (kind, namespace, name), raw in objects.items():
            grouped.setdefault((kind, namespace), {})[name] = raw
        made = self
        for (kind, namespace), held in grouped.items():
            made = made._with(kind, namespace, held)
        return made

    def _with(self, kind: str, namespace: str, changes: Mapping[str, Json | None]) -> "Rbac":
        match kind:
            case "RoleBinding" | "ClusterRoleBinding":
                return self._with_scope(namespace, _merged(self._scope(namespace).bindings, changes, compile_binding))
            case "Role":
                return self._with_roles(namespace, _merged(self.roles.get(namespace, {}), changes, _rules))
            case "ClusterRole":
                return self._with_cluster_roles(_merged(self.cluster_roles, changes, aggregation.compile_cluster_role))
        return self

    def _with_scope(self, namespace: str, bindings: Mapping[str, Binding]) -> "Rbac":
        if not bindings:
            return replace(self, scopes=_without(self.scopes, namespace))
        return replace(self, scopes={**self.scopes, namespace: Scope.of(bindings)})

    def _with_roles(self, namespace: str, roles: Mapping[str, Rules]) -> "Rbac":
        return replace(self, roles={**self.roles, namespace: roles} if roles else _without(self.roles, namespace))

    def _with_cluster_roles(self, roles: Mapping[str, ClusterRole]) -> "Rbac":
        """Only what changed is indexed again."""
        gathered = aggregation.aggregated(roles) if self.aggregates else {}
        resolved = {name: self._indexed(name, gathered.get(name, role.rules)) for name, role in roles.items()}
        return replace(self, cluster_roles=roles, resolved=resolved)

    def _indexed(self, name: str, rules: tuple[PolicyRule, ...]) -> Rules:
        before = self.resolved.get(name)
        return before if before is not None and before.rules == rules else Rules.of(rules)

    # ------------------------------------------------------------ asking

    def check(self, attributes: Attributes) -> Decision:
        if MASTERS in attributes.user.groups:
            return _MASTERS_ALLOWED
        missing: list[str] = []
        for grant in self.grants(attributes.user, attributes.namespace):
            rules = self.rules_of(grant.binding.role, grant.binding.namespace)
            if isinstance(rules, ApiError):
                missing.append(str(rules))
            elif rules.allow(attributes):
                return Decision(True, f"RBAC: allowed by {grant}")
        return Decision(False, f"RBAC: {fields.aggregate(missing)}" if missing else "")

    def rules_for(self, user: User, namespace: str, *, reported_as: str = "") -> "Found":
        """All that a user may do in a namespace (or, with none, cluster-wide), and which roles are missing."""
        rules: list[PolicyRule] = []
        missing: list[str] = []
        for grant in self.grants(user, namespace):
            held = self.rules_of(grant.binding.role, grant.binding.namespace, reported_as=reported_as)
            if isinstance(held, ApiError):
                missing.append(str(held))
            else:
                rules += held.rules
        return Found(tuple(rules), fields.aggregate(missing) if missing else None)

    def rules_of(self, role: RoleRef, namespace: str, *, reported_as: str = "") -> Rules | ApiError:
        """What a binding (in this namespace) refers to. NB: while an object is written, Kubernetes reports that a role is
        missing with the resource that is written, such as rolebindings."""
        if role.kind == ROLE:
            found = self.roles.get(namespace, {}).get(role.name)
        elif role.kind == CLUSTER_ROLE:
            found = self.resolved.get(role.name)
        else:
            return ApiError(Status(500, "", f"unsupported role reference kind: {quoted(role.kind)}"))
        return found if found is not None else errors.not_found(GroupResource(GROUP, reported_as or role.kind.lower()), role.name)

    def grants(self, user: User, namespace: str) -> Iterator[Grant]:
        yield from self._scope(CLUSTER).grants(user)
        if namespace:
            yield from self._scope(namespace).grants(user)

    def _scope(self, namespace: str) -> Scope:
        return self.scopes.get(namespace, NO_BINDINGS)


class Found(Struct, frozen=True):
    """Rules, and what went wrong on the way: they are right even then, but there may be more."""

    rules: Sequence[PolicyRule]
    error: str | None = None


def _named(raw: Json) -> tuple[str, str]:
    metadata = raw.get("metadata")
    held = metadata if isinstance(metadata, dict) else {}
    kind = raw.get("kind")
    return _text(held, "name"), _text(held, "namespace") if kind in (ROLE, ROLE_BINDING) else CLUSTER


def _text(raw: Json, key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def _key(raw: Json) -> Key:
    name, namespace = _named(raw)
    return str(raw.get("kind")), namespace, name


def _rules(raw: Json) -> Rules:
    return Rules.of(compile_rules(raw.get("rules")))


def _merged(held: Mapping[str, _T], changes: Mapping[str, Json | None], compiled: Callable[[Json], _T]) -> dict[str, _T]:
    made = dict(held)
    for name, raw in changes.items():
        if raw is None:
            made.pop(name, None)
        else:
            made[name] = compiled(raw)
    return made


def _without(held: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {k: v for k, v in held.items() if k != name}
