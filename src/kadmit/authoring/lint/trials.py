"""Policies that are tried: mutations run on sample objects, again on their own result, and in another order.

Samples come from the files, and from the schema where the files have none. Whatever fails is left to other rules: here only what
works is looked at.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from kadmit.api.errors import ApiError
from kadmit.api.gojson import marshal
from kadmit.api.meta import GroupVersionKind, GroupVersionResource
from kadmit.authoring.lint import samples
from kadmit.authoring.lint.project import Policy, Project
from kadmit.authoring.manifests import Json, Manifest
from kadmit.cel.library.authorizer import Attributes as Question
from kadmit.cel.library.authorizer import Decision, User
from kadmit.cel.values import Value
from kadmit.kinds.structs import DecodeError
from kadmit.matching.attributes import CREATE, UPDATE, Attributes
from kadmit.policy import compiler, model
from kadmit.policy.bindings import variables
from kadmit.policy.evaluation import evaluate_conditions

MOST_SAMPLES = 6
_NAMESPACE = "default"
_USER = User("admin", "", ("system:authenticated",))


class Yes(Struct, frozen=True):
    """An authorizer that gives everybody the same answer."""

    allows: bool = True

    def check(self, attributes: Question) -> Decision:
        return Decision(self.allows)


class Sample(Struct, frozen=True):
    """An object to try things on. `manifest`: where it stands, if it is one of the files'."""

    value: Json
    manifest: Manifest | None = None

    @property
    def text(self) -> str:
        return "a made-up object" if self.manifest is None else f'{self.manifest.kind.kind} "{self.manifest.name}"'


class Trials(Struct):
    """All trials of a project; compiled policies and samples are made once."""

    project: Project
    _compiled: dict[int, model.Policy] = field(default_factory=dict)
    _samples: dict[GroupVersionKind, list[Sample]] = field(default_factory=dict)
    _once: dict[tuple[int, GroupVersionKind, int], Json | None] = field(default_factory=dict)

    def compiled(self, policy: Policy) -> model.Policy:
        if id(policy) not in self._compiled:
            made = {**policy.made, "metadata": {**(policy.made.get("metadata") or {}), "name": policy.name}}
            self._compiled[id(policy)] = compiler.compile_mutating(made)
        return self._compiled[id(policy)]

    def samples(self, kind: GroupVersionKind) -> list[Sample]:
        if kind not in self._samples:
            self._samples[kind] = list(itertools.islice(self._made(kind), MOST_SAMPLES))
        return self._samples[kind]

    def _made(self, kind: GroupVersionKind) -> Iterator[Sample]:
        for manifest in self.project.objects(kind):
            if manifest.kind == kind:
                yield from self._decoded(kind, manifest.value, manifest)
        schema = self.project.schema_of(kind)
        if schema is None:
            return
        for size in (samples.BARE, samples.SOME):
            body = samples.named(samples.of(schema, size), str(kind.group_version), kind.kind)
            body.pop("status", None)
            yield from self._decoded(kind, body)

    def _decoded(self, kind: GroupVersionKind, body: Mapping[str, Any], manifest: Manifest | None = None) -> Iterator[Sample]:
        resource = self.project.known.kind(kind)
        if resource is None:
            return
        metadata = dict(body.get("metadata") or {})
        if resource.namespaced:
            metadata.setdefault("namespace", _NAMESPACE)
        try:
            made = self.project.known.decode(kind, marshal({**body, "metadata": metadata}).encode()).object
        except DecodeError:
            return
        yield Sample({**made, "apiVersion": str(kind.group_version), "kind": kind.kind}, manifest)

    # ------------------------------------------------------------ running

    def matches(self, policy: Policy, kind: GroupVersionKind, value: Json) -> bool:
        """Whether the policy is about such an object, in a namespace of which nothing is known, by one of its bindings."""
        attributes = self._attributes(policy, kind, value)
        criteria = [self.compiled(policy).criteria]
        bound = [compiler.compile_binding(_named(b.made, b.name)).criteria for b in self.project.bindings_of(policy)]
        surroundings = _Surroundings()
        if isinstance(criteria[0].match(attributes, self.project.known, surroundings), ApiError | None):
            return False
        return not bound or any(
            c is None or not isinstance(c.match(attributes, self.project.known, surroundings), ApiError | None) for c in bound
        )

    def applies(self, policy: Policy, kind: GroupVersionKind, value: Json) -> bool:
        """Whether the match conditions hold."""
        conditions = self.compiled(policy).conditions
        return not conditions or evaluate_conditions(conditions, self._bound(policy, kind, value), fail=False).matches

    def once(self, policy: Policy, kind: GroupVersionKind, sample: Sample) -> Json | None:
        """What a policy makes of a sample that it is for; None if it is not, or if it fails."""
        key = (id(policy), kind, id(sample))
        if key not in self._once:
            value = sample.value
            is_for = self.matches(policy, kind, value) and self.applies(policy, kind, value)
            self._once[key] = self.run(policy, kind, value) if is_for else None
        return self._once[key]

    def run(self, policy: Policy, kind: GroupVersionKind, value: Json) -> Json | None:
        """The object with all mutations of a policy applied; None if one of them fails."""
        from kadmit.policy import mutator

        compiled = self.compiled(policy)
        for mutation in compiled.mutations:
            bound = compiled.composition.bind(self._bound(policy, kind, value))
            try:
                result = mutator.mutate(mutation, bound, kind, self.project.known)
            except ApiError:
                return None
            if isinstance(result, mutator.Rejection):
                return None
            value = result
        return value

    def _bound(self, policy: Policy, kind: GroupVersionKind, value: Json) -> dict[str, Value]:
        attributes = self._attributes(policy, kind, value)
        params = self.params(policy)
        namespace = _Surroundings().namespace(_NAMESPACE)
        return variables(attributes, attributes.resource, kind, params=params, namespace=namespace, who=Yes())

    def _attributes(self, policy: Policy, kind: GroupVersionKind, value: Json) -> Attributes:
        resource = self.project.known.kind(kind)
        assert resource is not None
        operation = CREATE if CREATE in policy.operations else UPDATE
        metadata = value.get("metadata") or {}
        return Attributes(
            kind,
            GroupVersionResource(*resource.gvr),
            operation,
            metadata.get("name") or "",
            metadata.get("namespace") or "",
            object=value,
            old_object=None if operation == CREATE else value,
            user=_USER,
        )

    def params(self, policy: Policy) -> Json | None:
        """Params that a binding names, or any of the files; else made up."""
        kind = policy.param_kind
        if kind is None:
            return None
        wanted = {(b.spec.get("paramRef") or {}).get("name") for b in self.project.bindings_of(policy)}
        listed = sorted(self.project.objects(kind), key=lambda m: m.name not in wanted)
        schema = self.project.schema_of(kind)
        for manifest in listed:
            for sample in self._decoded(manifest.kind, manifest.value):
                return sample.value
        if schema is None:
            return {}
        made: Json = samples.named(samples.of(schema, samples.SOME), str(kind.group_version), kind.kind)
        return made


def _named(made: Json, name: str) -> Json:
    return {**made, "metadata": {**(made.get("metadata") or {}), "name": name}}


class _Surroundings(Struct, frozen=True):
    def namespace(self, name: str) -> Json | None:
        return {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
            "spec": {},
            "status": {"phase": "Active"},
        }


# ---------------------------------------------------------------- comparing


def difference(one: Any, other: Any, at: str = "") -> str:
    """The first place at which two objects differ, whatever the order of their lists; "" if they do not."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            found = difference(one.get(key), other.get(key), f"{at}.{key}" if at else key)
            if found:
                return found
        return ""
    if isinstance(one, list) and isinstance(other, list):
        if _sorted(one) == _sorted(other):
            return ""
        pairs = enumerate(zip(one, other, strict=False)) if len(one) == len(other) else ()
        return next((found for i, (a, b) in pairs if (found := difference(a, b, f"{at}[{i}]"))), at)
    return "" if one == other else at


def changes(before: Any, after: Any, at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The places that a change has touched; a list is one place."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in {*before, *after}:
            if before.get(key) is not after.get(key):
                yield from changes(before.get(key), after.get(key), (*at, key))
    elif before != after:
        yield at


def overlap(some: set[tuple[str, ...]], others: set[tuple[str, ...]]) -> bool:
    """Whether one of the places is another, or lies in it."""
    return any(a[: len(b)] == b or b[: len(a)] == a for a in some for b in others)


def _sorted(values: list[Any]) -> list[str]:
    return sorted(marshal(_canonical(value)) for value in values)


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _canonical(value[key]) for key in sorted(value)}
    return _sorted(value) if isinstance(value, list) else value
