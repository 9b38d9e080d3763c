"""Requests as tests make them: the same verbs for a cluster in the process and for a server, each answered by a Result."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeVar

from msgspec import Struct

from kadmit.testing.result import Denied, Json, Result
from kadmit.testing.sources import Source

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
TYPES = {"json": JSON_PATCH, "merge": MERGE_PATCH, "strategic": STRATEGIC_PATCH, "apply": APPLY_PATCH}

_T = TypeVar("_T")


class Asked(Struct, frozen=True):
    """How a request is made. Without a user it is an administrator's."""

    user: str | None = None
    groups: Sequence[str] = ()
    dry_run: bool = False
    subresource: str = ""
    manager: str = "kadmit"
    force: bool = False


class Client(ABC):
    """Who asks stays the same; `as_user` gives another one, `raising` one that takes no refusal."""

    def __init__(self) -> None:
        self._user: str | None = None
        self._groups: Sequence[str] = ()
        self._raises = False

    def as_user(self, name: str, groups: Sequence[str] = ()) -> Self:
        """The same cluster, asked by somebody else. A service account is system:serviceaccount:NAMESPACE:NAME."""
        made = copy.copy(self)
        made._user, made._groups = name, tuple(groups)
        return made

    @property
    def raising(self) -> Self:
        """The same cluster; a request that is refused raises Denied."""
        made = copy.copy(self)
        made._raises = True
        return made

    # ------------------------------------------------------------ verbs

    def create(
        self,
        obj: Source,
        *,
        user: str | None = None,
        groups: Sequence[str] = (),
        dry_run: bool = False,
        subresource: str = "",
        manager: str = "kadmit",
    ) -> Result:
        """POST."""
        return self._judged(self._create(obj, self._asked(user, groups, dry_run, subresource, manager)))

    def update(
        self,
        obj: Source,
        *,
        user: str | None = None,
        groups: Sequence[str] = (),
        dry_run: bool = False,
        subresource: str = "",
        manager: str = "kadmit",
    ) -> Result:
        """PUT. Without a resourceVersion, over whatever is there."""
        return self._judged(self._update(obj, self._asked(user, groups, dry_run, subresource, manager)))

    def apply(
        self,
        obj: Source,
        *,
        user: str | None = None,
        groups: Sequence[str] = (),
        dry_run: bool = False,
        subresource: str = "",
        manager: str = "kadmit",
        force: bool = True,
    ) -> Result:
        """Server-side apply: made where it is missing, else changed."""
        return self._judged(self._apply(obj, self._asked(user, groups, dry_run, subresource, manager, force)))

    def patch(
        self,
        obj: Source,
        patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        type: str | None = None,  # noqa: A002  # kubectl's word
        user: str | None = None,
        groups: Sequence[str] = (),
        dry_run: bool = False,
        subresource: str = "",
        manager: str = "kadmit",
    ) -> Result:
        """PATCH of the object of that kind and name. Without a type, a list is a JSON patch and a dict a merge patch."""
        chosen = type or ("merge" if isinstance(patch, Mapping) else "json")
        if chosen not in TYPES:
            raise ValueError(f"type of patch {chosen!r}: must be one of {', '.join(TYPES)}")
        return self._judged(self._patch(obj, patch, TYPES[chosen], self._asked(user, groups, dry_run, subresource, manager)))

    def delete(self, obj: Source, *, user: str | None = None, groups: Sequence[str] = (), dry_run: bool = False) -> Result:
        """DELETE of the object of that kind and name."""
        return self._judged(self._delete(obj, self._asked(user, groups, dry_run)))

    @abstractmethod
    def get(self, obj: Source) -> Json | None:
        """The object of that kind and name as it is stored, or None."""

    @abstractmethod
    def load(self, *sources: Source) -> Self:
        """Objects that are to be there: dicts, YAML, files, folders."""

    # ------------------------------------------------------------ how they are done

    @abstractmethod
    def _create(self, obj: Source, asked: Asked) -> Result: ...

    @abstractmethod
    def _update(self, obj: Source, asked: Asked) -> Result: ...

    @abstractmethod
    def _apply(self, obj: Source, asked: Asked) -> Result: ...

    @abstractmethod
    def _patch(self, obj: Source, patch: Any, patch_type: str, asked: Asked) -> Result: ...

    @abstractmethod
    def _delete(self, obj: Source, asked: Asked) -> Result: ...

    def _asked(
        self,
        user: str | None,
        groups: Sequence[str],
        dry_run: bool,
        subresource: str = "",
        manager: str = "kadmit",
        force: bool = False,
    ) -> Asked:
        if user is None:
            user, groups = self._user, (*self._groups, *groups)
        if user is None and groups:
            raise ValueError("groups need a user")
        return Asked(user, tuple(groups), dry_run, subresource, manager, force)

    def _judged(self, result: Result) -> Result:
        __tracebackhide__ = True
        if self._raises and not result.allowed:
            raise Denied(result)
        return result
