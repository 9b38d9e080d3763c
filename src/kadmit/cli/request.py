"""The request that would bring the objects of files, for commands without a cluster: who asks, for what, and who may."""

from collections.abc import Mapping
from typing import Any

from kadmit.api.meta import GroupVersionKind, GroupVersionResource
from kadmit.cel.library import authorizer
from kadmit.cel.library.authorizer import Decision, User
from kadmit.cel.values import Value
from kadmit.kinds import catalog
from kadmit.matching.attributes import CREATE, DELETE, UPDATE, Attributes, Json
from kadmit.policy import bindings

NOBODY = User("system:anonymous", groups=("system:unauthenticated",))


class NobodyMay:
    """The authorizer where there are no roles: it denies, and says why."""

    def check(self, attributes: authorizer.Attributes) -> Decision:
        return Decision(is_allowed=False, reason="there is no cluster to ask")


def variables(objects: Mapping[str, Json | None]) -> dict[str, Value]:
    """All variables of an expression, made from `object`, `oldObject`, `params` and `namespaceObject` as they were read."""
    asked = _attributes(objects)
    namespace = bindings.namespace_variable(objects["namespaceObject"])
    return bindings.variables(asked, asked.resource, asked.kind, params=objects["params"], namespace=namespace, who=NobodyMay())


def _attributes(objects: Mapping[str, Json | None]) -> Attributes:
    """Without an old object it is a CREATE, without a new one a DELETE, else an UPDATE."""
    new, old = objects["object"], objects["oldObject"]
    brought = new or old or {}
    kind = _kind(brought)
    operation = CREATE if old is None else DELETE if new is None else UPDATE
    namespace = _metadata(brought).get("namespace") or _metadata(objects["namespaceObject"] or {}).get("name")
    return Attributes(
        kind=kind,
        resource=_resource(kind),
        operation=operation,
        name=str(_metadata(brought).get("name") or ""),
        namespace=str(namespace or ""),
        object=new,
        old_object=old,
        options={"kind": f"{operation.capitalize()}Options", "apiVersion": "meta.k8s.io/v1"},
        user=NOBODY,
    )


def _kind(brought: Json) -> GroupVersionKind:
    group, _, version = str(brought.get("apiVersion") or "").rpartition("/")
    return GroupVersionKind(group, version, str(brought.get("kind") or ""))


def _metadata(brought: Json) -> Mapping[str, Any]:
    metadata = brought.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _resource(kind: GroupVersionKind) -> GroupVersionResource:
    """The resource of a built-in kind; that of any other kind is guessed from its name."""
    known = catalog.builtin().kind(*kind)
    return GroupVersionResource(kind.group, kind.version, known.plural if known else _plural(kind.kind.lower()))


def _plural(word: str) -> str:
    """As Kubernetes guesses where no definition tells it."""
    if word.endswith("y"):
        return word[:-1] + "ies"
    return word + "es" if word.endswith("s") else word + "s" if word else ""
