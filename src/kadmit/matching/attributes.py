"""A request as admission sees it: what is done to which object, and by whom."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from kadmit.api.meta import GroupVersionKind, GroupVersionResource
from kadmit.cel.library.authorizer import User

Json: TypeAlias = dict[str, Any]

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"

NAMESPACES = GroupVersionResource("", "v1", "namespaces")
NAMESPACE = GroupVersionKind("", "v1", "Namespace")


class Attributes(Struct, frozen=True):
    """One request. Objects are plain JSON in the version of `kind`, and are never changed: a mutation makes new Attributes."""

    kind: GroupVersionKind
    resource: GroupVersionResource
    operation: str
    name: str = ""
    namespace: str = ""  # of a Namespace object: its own name
    subresource: str = ""
    object: Json | None = None
    old_object: Json | None = None
    options: Json | None = None
    dry_run: bool = False
    user: User = field(default_factory=User)

    def with_object(self, changed: Json | None) -> "Attributes":
        return replace(self, object=changed)

    @property
    def is_namespace(self) -> bool:
        return self.kind == NAMESPACE

    @property
    def resource_text(self) -> str:
        """pods, or pods/status."""
        return f"{self.resource.resource}/{self.subresource}" if self.subresource else self.resource.resource


def labels_of(value: Mapping[str, Any] | None) -> Mapping[str, str] | None:
    """An object's labels; None where there is no object with metadata."""
    if value is None:
        return None
    metadata = value.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return labels if isinstance(labels, dict) else {}


def user_info(user: User) -> Json:
    """The user as admission reviews and CEL see it: empty parts left out."""
    made: dict[str, Any] = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    made["extra"] = {k: list(v) for k, v in user.extra.items()}
    return {k: v for k, v in made.items() if v}
