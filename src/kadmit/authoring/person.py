"""Who makes a request, by name: somebody who has never logged in, with the groups that the server would add."""

from collections.abc import Mapping

from kadmit.access import impersonation
from kadmit.access.rbac import Rbac
from kadmit.authoring.cluster import ADMIN
from kadmit.cel.library.authorizer import Attributes, User


def person(name: str, groups: tuple[str, ...] = (), *, uid: str = "", extra: Mapping[str, tuple[str, ...]] | None = None) -> User:
    """A user as if an administrator impersonated them. Raises ValueError."""
    wanted = User(name, uid, groups, extra or {})
    found = impersonation.impersonate(Rbac.build(()), Attributes(ADMIN, "create"), wanted)
    if not isinstance(found, impersonation.Impersonated):
        raise ValueError(f"user {name!r}: {found}")
    return found.user
