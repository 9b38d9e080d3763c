"""Impersonation: a request made as somebody else, by one who may.

There are two ways to be allowed it. The old one: the verb `impersonate` on users, groups, uids, userextras and serviceaccounts.
The constrained ones, each for one kind of user: the verb `impersonate:MODE` on who they are, and `impersonate-on:MODE:VERB`
on what is then done. All are tried; a denial tells of the one that worked for this requester last, else of the first that fits.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias
from urllib.parse import unquote

from msgspec import Struct, field
from msgspec.structs import replace

from kadmit.access import attributes
from kadmit.access.identity import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED
from kadmit.access.policyrules import ALL
from kadmit.access.rbac import MASTERS
from kadmit.api import errors, fields
from kadmit.api.errors import ApiError
from kadmit.api.gojson import quoted
from kadmit.cel.library import names
from kadmit.cel.library.authorizer import Attributes, Authorizer, User, service_account
from kadmit.kinds.rules import naming

_Headers: TypeAlias = Iterable[tuple[str, str]]

PREFIX = "impersonate-"
_EXTRA = "impersonate-extra-"
_AUTHENTICATION = "authentication.k8s.io"
_NODE_NAME = "authentication.kubernetes.io/node-name"
_NODE_KEYS = "authentication.kubernetes.io/associated-node-keys"
_MANY = 4  # so many groups or extras: ask for all at once first


# ---------------------------------------------------------------- who is wanted


def wanted_user(headers: _Headers) -> User | None:
    """Whom the headers ask to be; None if nobody. Raises ApiError for headers that name no user.

    NB: a request that was impersonated must not show these headers to anyone any more.
    """
    found: dict[str, list[str]] = {}
    for name, value in headers:
        if name.lower().startswith(PREFIX):
            found.setdefault(name.lower(), []).append(value)
    extra: dict[str, tuple[str, ...]] = {}
    for name in sorted(n for n in found if n.startswith(_EXTRA)):
        key = _extra_key(name.removeprefix(_EXTRA))
        extra[key] = (*extra.get(key, ()), *found[name])
    first = {name: values[0] for name, values in found.items()}
    groups = tuple(found.get("impersonate-group", ()))
    wanted = User(first.get("impersonate-user", ""), first.get("impersonate-uid", ""), groups, extra)
    if wanted.name:
        return wanted
    if wanted.uid or groups or extra:
        raise errors.bad_request(f"requested {_shown(wanted)} without impersonating a user name")
    return None


def _extra_key(text: str) -> str:
    """Keys may be percent-encoded; one that is so wrongly stays as it is."""
    return text if attributes.has_bad_escape(text) else unquote(text)


def _shown(user: User) -> str:
    """As Go prints the struct."""
    extra = ", ".join(f"{quoted(key)}:{_shown_list(user.extra[key])}" for key in sorted(user.extra))
    extras = f"map[string][]string{{{extra}}}" if user.extra else "map[string][]string(nil)"
    name, uid = quoted(user.name), quoted(user.uid)
    return f"&user.DefaultInfo{{Name:{name}, UID:{uid}, Groups:{_shown_list(user.groups)}, Extra:{extras}}}"


def _shown_list(items: Sequence[str]) -> str:
    return f"[]string{{{', '.join(map(quoted, items))}}}" if items else "[]string(nil)"


def _service_account(username: str) -> tuple[str, str] | None:
    """Namespace and name."""
    parts = username.split(":")
    if len(parts) != 4 or parts[:2] != ["system", "serviceaccount"]:
        return None
    namespace, name = parts[2:]
    return None if names.dns1123_label(namespace) or names.dns1123_subdomain(name) else (namespace, name)


def _node(username: str) -> str | None:
    prefix, _, name = username.rpartition(":")
    return name if prefix == "system:node" and not names.dns1123_subdomain(name) else None


def _only_named(user: User) -> bool:
    return not user.uid and not user.groups and not user.extra


# ---------------------------------------------------------------- modes


class Mode(Struct, frozen=True):
    """One way to be allowed. `fits` says whether it is about this wanted user and this requester."""

    name: str
    fits: Callable[[User, User], bool]

    @property
    def constrained(self) -> bool:
        return self.name != LEGACY

    @property
    def verb(self) -> str:
        return f"impersonate:{self.name}" if self.constrained else "impersonate"

    @property
    def constraint(self) -> str:
        """What the audit log says of it."""
        return self.verb if self.constrained else ""

    @property
    def group(self) -> str:
        """Users and groups belong to no API group in the old way."""
        return _AUTHENTICATION if self.constrained else ""


def _is_own_node(wanted: User, requester: User) -> bool:
    """A service account, on the node that it runs on."""
    where = requester.extra.get(_NODE_NAME, ())
    node = _node(wanted.name)
    return _only_named(wanted) and node is not None and _service_account(requester.name) is not None and tuple(where) == (node,)


LEGACY, ASSOCIATED_NODE = "legacy", "associated-node"
MODES = (
    Mode(ASSOCIATED_NODE, _is_own_node),
    Mode("arbitrary-node", lambda wanted, _: _only_named(wanted) and _node(wanted.name) is not None),
    Mode("serviceaccount", lambda wanted, _: _only_named(wanted) and _service_account(wanted.name) is not None),
    Mode("user-info", lambda wanted, _: _node(wanted.name) is None and _service_account(wanted.name) is None),
    Mode(LEGACY, lambda _wanted, _requester: True),
)


class Impersonated(Struct, frozen=True):
    """Who the request is from now on, and by which mode: the one to try first when the same requester comes again."""

    user: User
    mode: str
    constraint: str = field(default="")


def impersonate(authorizer: Authorizer, request: Attributes, wanted: User, *, last_mode: str = "") -> Impersonated | ApiError:
    """`request` is what the requester does; `last_mode` the mode by which they were allowed to impersonate anybody last."""
    first_denial: ApiError | None = None
    for mode in sorted(MODES, key=lambda m: m.name != last_mode):
        if not mode.fits(wanted, request.user):
            continue
        denial = next(_denials(mode, authorizer, request, wanted), None)
        if denial is None:
            return Impersonated(_actual(mode, wanted), mode.name, mode.constraint)
        first_denial = first_denial or denial
    assert first_denial is not None, "the old way fits everybody"
    return first_denial


def _actual(mode: Mode, wanted: User) -> User:
    """Whom the request is then from: the kinds of user that Kubernetes knows have groups that it knows."""
    account = _service_account(wanted.name)
    groups = wanted.groups
    if mode.constrained and _node(wanted.name) is not None:
        groups = ("system:nodes",)
    elif account is not None and not groups:
        groups = service_account(*account).groups
    added = UNAUTHENTICATED if wanted.name == ANONYMOUS.name else AUTHENTICATED
    if added not in groups and UNAUTHENTICATED not in groups:
        groups = (*groups, added)
    return replace(wanted, groups=groups)


# ---------------------------------------------------------------- what must be allowed


def _denials(mode: Mode, authorizer: Authorizer, request: Attributes, wanted: User) -> Iterator[ApiError]:
    """All checks of a mode, in order, as far as anybody asks for them."""

    def denied(asked: Attributes) -> Iterator[ApiError]:
        asked = _as_on_any_node(asked) if mode.name == ASSOCIATED_NODE else asked
        decision = authorizer.check(asked)
        if not decision.is_allowed:
            yield attributes.forbidden(asked, _reason(decision.reason, decision.error))

    if mode.constrained:
        yield from denied(replace(request, verb=f"impersonate-on:{mode.name}:{request.verb}"))
    asked = Attributes(request.user, mode.verb, resource_request=True, version="v1")
    yield from denied(_about_name(mode, asked, wanted.name))
    asked = replace(asked, group=_AUTHENTICATION)
    if wanted.uid:
        yield from denied(replace(asked, resource="uids", name=wanted.uid))
    yield from _group_denials(mode, replace(asked, group=mode.group, resource="groups"), wanted.groups, denied)
    yield from _extra_denials(mode, replace(asked, resource="userextras"), wanted.extra, denied)


_Denied: TypeAlias = Callable[[Attributes], Iterator[ApiError]]


def _about_name(mode: Mode, asked: Attributes, username: str) -> Attributes:
    asked = replace(asked, group=mode.group, resource="users", name=username)
    node, account = _node(username), _service_account(username)
    if mode.constrained and node is not None:
        return replace(asked, resource="nodes", name=node)
    return asked if account is None else replace(asked, resource="serviceaccounts", namespace=account[0], name=account[1])


def _group_denials(mode: Mode, asked: Attributes, groups: Sequence[str], denied: _Denied) -> Iterator[ApiError]:
    if mode.constrained and "" in groups:
        yield attributes.forbidden(asked, "impersonating the empty string group is not allowed")
    if mode.constrained and MASTERS in groups:
        yield attributes.forbidden(replace(asked, name=MASTERS), "impersonating the system:masters group is not allowed")
    if mode.constrained and len(groups) >= _MANY and not any(denied(replace(asked, name=ALL))):
        return
    for group in groups:
        yield from denied(replace(asked, name=group))


def _extra_denials(mode: Mode, asked: Attributes, extra: Mapping[str, Sequence[str]], denied: _Denied) -> Iterator[ApiError]:
    wrong = _wrong_extra(extra) if mode.constrained else None
    if wrong is not None:
        yield attributes.forbidden(asked, wrong)
    many = len(extra) >= _MANY or sum(map(len, extra.values())) >= _MANY
    if mode.constrained and many and not any(denied(replace(asked, subresource=ALL, name=ALL))):
        return
    for key, values in extra.items():
        for value in values:
            yield from denied(replace(asked, subresource=key, name=value))


def _wrong_extra(extra: Mapping[str, Sequence[str]]) -> str | None:
    for key, values in extra.items():
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        found = [str(e) for e in naming.domain_path(key, fields.path("extra", "key"))]
        if found:
            return f"impersonating an invalid key in extra is not allowed: {fields.aggregate(found)}"
        if key != key.lower():
            return f"impersonating a non-lowercase key in extra is not allowed: {quoted(key)}"
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return None


def _as_on_any_node(asked: Attributes) -> Attributes:
    """The right to be one's own node does not depend on which node that is."""
    requester = replace(asked.user, extra={_NODE_KEYS: tuple(sorted(asked.user.extra))})
    return replace(asked, user=requester, name=ALL if asked.verb == f"impersonate:{ASSOCIATED_NODE}" else asked.name)


def _reason(reason: str, error: str | None) -> str:
    return ": ".join(text for text in (error, reason) if text)
