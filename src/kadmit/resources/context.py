"""What a verb needs beside the request: what is known of kinds, what is configured, and what only the outside can know."""

from typing import Any, Protocol

from msgspec import Struct, field
from msgspec.structs import force_setattr

from kadmit.admission.outcome import Record
from kadmit.admission.snapshot import Snapshot
from kadmit.api.meta import GroupKind, GroupResource, GroupVersionKind, GroupVersionResource
from kadmit.cel.library.authorizer import User
from kadmit.kinds.allocation import Pool
from kadmit.kinds.catalog import Resource
from kadmit.kinds.known import Known
from kadmit.matching.attributes import Json
from kadmit.policy.world import World
from kadmit.validation.authorization import Registry

STRICT, WARN, IGNORE = "Strict", "Warn", "Ignore"
_TO_BE_FOUND = GroupVersionKind("", "", "")


class Given(Struct, frozen=True):
    """Time and chance, made up by the caller: now as RFC 3339, a fresh uid, and letters for a generated name."""

    now: str
    uid: str
    suffix: str


class Options(Struct, frozen=True):
    """CreateOptions, UpdateOptions, PatchOptions or DeleteOptions. `raw` is what admission is shown."""

    dry_run: bool = False
    manager: str = "unknown"  # fieldManager, or the first part of the user agent
    field_validation: str = WARN
    force: bool = False
    raw: Json = field(default_factory=dict)


class Target(Struct, frozen=True):
    """What a request is about: a resource in the version of the URL, an object of it, perhaps only a part of that."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    kind: GroupVersionKind = _TO_BE_FOUND  # what is sent to it; asked for a dozen times a request

    def __post_init__(self) -> None:
        found = self.resource.kind_of(self.subresource) if self.subresource else None
        force_setattr(self, "kind", GroupVersionKind(*(found if found is not None else self.resource.gvk)))

    @property
    def api_version(self) -> str:
        """The version of what is sent to it."""
        return f"{self.kind.group}/{self.kind.version}" if self.kind.group else self.kind.version

    @property
    def gvr(self) -> GroupVersionResource:
        return GroupVersionResource(*self.resource.gvr)

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.resource.group, self.resource.plural)

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.resource.group, self.resource.kind)

    @property
    def admission_namespace(self) -> str:
        """NB: to admission, a Namespace lies in itself."""
        return self.name if self.resource.gvr == ("", "v1", "namespaces") and not self.namespace else self.namespace


class Surroundings(World, Registry, Protocol):
    """What policies ask, and what registration asks besides."""


class Context(Struct, frozen=True):
    """One request's surroundings."""

    known: Known
    world: Surroundings
    snapshot: Snapshot
    user: User
    options: Options
    given: Given
    record: Record
    pool: Pool | None = None  # addresses for Services
    mutating: bool = True  # whether the mutating and validating plugins are on
    validating: bool = True
    allow_privileged: bool = False  # whether containers may be privileged at all


class Written(Struct, frozen=True):
    """What is to be stored and answered."""

    object: Json
    created: bool = False


def metadata_of(value: Json) -> dict[str, Any]:
    found = value.get("metadata")
    return found if isinstance(found, dict) else {}


def with_metadata(value: Json, **changes: Any) -> Json:
    """The object with these metadata fields; None removes one."""
    made = {**metadata_of(value), **changes}
    return {**value, "metadata": {k: v for k, v in made.items() if v is not None}}
