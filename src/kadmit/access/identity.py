"""Who sends a request: by client certificate, by bearer token, or nobody.

Checking a certificate's signature is for the edge, which has the connection; here its subject becomes a user.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from kadmit.api import errors
from kadmit.api.errors import ApiError
from kadmit.cel.library.authorizer import User

AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"
ANONYMOUS = User("system:anonymous", groups=(UNAUTHENTICATED,))
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
API_AUDIENCES = ("https://kubernetes.default.svc",)

_UID = "1.3.6.1.4.1.57683.2"
_SPACE_WARNING = "the provided Authorization header contains extra space before the bearer token, and is ignored"

# As Python's ssl has it: ((("organizationName", "developers"),), (("commonName", "alice"),)).
Subject: TypeAlias = Iterable[Iterable[tuple[str, str]]]


class Identified(Struct, frozen=True):
    """A user, or None: then `error` says what is wrong with what was shown, and is empty if nothing was."""

    user: User | None = None
    error: str = ""
    warning: str = ""

    def refusal(self) -> ApiError | None:
        """The 401. NB: it never says why."""
        return None if self.user is not None else errors.unauthorized()


class Identities(Struct, frozen=True):
    """Who is known. Static tokens are good for the audiences of this API, and for no other."""

    tokens: Mapping[str, User] = field(default_factory=dict)
    anonymous: bool = True
    audiences: Sequence[str] = API_AUDIENCES

    def identify(self, authorization: str = "", *, certificate: User | None = None, for_this_api: bool = True) -> Identified:
        """By the Authorization header, or a certificate's user. A wrong token is refused even where nobody needs one."""
        if certificate is not None:
            return Identified(authenticated(certificate))
        token, warning = bearer_token(authorization)
        if token:
            user = self.tokens.get(token) if for_this_api else None
            return Identified(error="invalid bearer token") if user is None else Identified(authenticated(user))
        return Identified(ANONYMOUS if self.anonymous else None, warning=warning)


def bearer_token(authorization: str) -> tuple[str, str]:
    """The token in an Authorization header, if any, and a warning, if any."""
    scheme, *rest = authorization.strip().split(" ", 2)
    if scheme.lower() != "bearer" or not rest:
        return "", ""
    return rest[0], _SPACE_WARNING if len(rest) == 2 and not rest[0] else ""


def authenticated(user: User) -> User:
    """The user as a member of system:authenticated, unless already said to be a member or not."""
    if user.name == ANONYMOUS.name or AUTHENTICATED in user.groups or UNAUTHENTICATED in user.groups:
        return user
    return replace(user, groups=(*user.groups, AUTHENTICATED))


def certificate_user(subject: Subject, der: bytes) -> User | None:
    """The user whom a verified certificate names: CN is the name, each O a group. None if it names none, or is unclear."""
    found = [pair for part in subject for pair in part]
    name = next((value for key, value in reversed(found) if key == "commonName"), "")
    uids = [value for key, value in found if key == _UID]
    if not name or len(uids) > 1 or uids == [""]:
        return None
    groups = tuple(value for key, value in found if key == "organizationName")
    return User(name, "".join(uids), groups, {CREDENTIAL_ID: (f"X509SHA256={hashlib.sha256(der).hexdigest()}",)})
