"""RequestInfo: what an HTTP request is about, read from method, path and query alone; and how a refusal says so.

A path is about a resource if it has the shape of one, whether or not such a resource exists: authorization comes before routing.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias
from urllib.parse import unquote_to_bytes

from msgspec import Struct
from msgspec.structs import replace

from kadmit.api import errors
from kadmit.api.errors import ApiError
from kadmit.api.gojson import quoted
from kadmit.api.meta import GroupResource
from kadmit.cel import gotext
from kadmit.cel.library import selectors
from kadmit.cel.library.authorizer import Attributes, Authorizer, User

Query: TypeAlias = Mapping[str, Sequence[str]]

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_VERBS_IN_PATHS = frozenset(("proxy", "watch"))
_NAMESPACE_SUBRESOURCES = frozenset(("status", "finalize"))
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")


class UnreadablePath(ValueError):
    """A path with which nothing can be done. The answer is a 500 of plain text."""

    def answer(self, request_uri: str) -> str:
        return internal_error(request_uri, f"failed to create RequestInfo: {self}")


def internal_error(request_uri: str, text: str) -> str:
    """The plain text of a 500 for what went wrong before there was a request to speak of."""
    return f"{_without_markup(f'Internal Server Error: {quoted(request_uri)}: {text}')}\n"


class RequestInfo(Struct, frozen=True):
    path: str
    verb: str
    is_resource_request: bool = False
    api_prefix: str = ""
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    parts: tuple[str, ...] = ()  # from the resource on
    field_selector: str = ""
    label_selector: str = ""


# ---------------------------------------------------------------- reading


def request_info(method: str, path: str, query: Query | str = "") -> RequestInfo:
    """`path` is unescaped; `query` is the text after the question mark, or its values."""
    prefix, *rest = path.strip("/").split("/")
    if prefix == "api" and len(rest) >= 2:
        group, version, parts = "", rest[0], rest[1:]
    elif prefix == "apis" and len(rest) >= 3:
        group, version, parts = rest[0], rest[1], rest[2:]
    else:
        return RequestInfo(path, method.lower(), api_prefix=prefix if prefix == "apis" and len(rest) >= 2 else "")
    verb = _VERBS.get(method, "")
    if parts[0] in _VERBS_IN_PATHS:
        verb, parts = parts[0], parts[1:]
        if not parts:
            shown = f"{path}?{query}" if query and isinstance(query, str) else path
            raise UnreadablePath(f"unable to determine kind and namespace from url, {shown}")
    located = _located(path, verb, (prefix, group, version), parts)
    if located.name or verb not in ("get", "delete"):
        return located
    return _about_many(located, query_values(query) if isinstance(query, str) else query)


def _located(path: str, verb: str, under: tuple[str, str, str], parts: list[str]) -> RequestInfo:
    """`under`: the prefix, the group and the version."""
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
            parts = parts[2:]
    name = parts[1] if len(parts) > 1 else ""
    subresource = parts[2] if len(parts) > 2 and verb != "proxy" else ""
    return RequestInfo(path, verb, True, *under, namespace, parts[0], subresource, name, tuple(parts))


def _about_many(info: RequestInfo, query: Query) -> RequestInfo:
    """Without a name, get is list or watch, and delete is deletecollection; a field selector may name one object after all."""
    if info.verb == "get":
        watch = _first(query, "watch")
        verb = "watch" if watch is not None and watch.lower() not in ("0", "false") else "list"
        info = replace(info, verb=verb, name=_selected_name(query))
    else:
        info = replace(info, verb="deletecollection")
    by_field, by_label = _first(query, "fieldSelector"), _first(query, "labelSelector")
    return replace(info, field_selector=by_field or "", label_selector=by_label or "")


def _selected_name(query: Query) -> str:
    """The one name that the field selector leaves. NB: with any list option that cannot be read there is none."""
    fields = selectors.parse_fields(_first(query, "fieldSelector") or "")
    labels = selectors.parse_labels(_first(query, "labelSelector") or "")
    numbers = [_first(query, key) for key in ("timeoutSeconds", "limit")]
    readable = all(n is None or gotext.parse_int(n) is not None for n in numbers)
    if isinstance(fields, str) or isinstance(labels, str) or not readable:
        return ""
    name = next((r.value for r in fields if r.field == "metadata.name" and r.operator == "="), "")
    return name if _is_path_segment(name) else ""


def _is_path_segment(name: str) -> bool:
    return name not in (".", "..") and "/" not in name and "%" not in name


def _first(query: Query, key: str) -> str | None:
    values = query.get(key)
    return values[0] if values else None


def query_values(text: str) -> dict[str, list[str]]:
    """A query as Go reads it: a pair that cannot be read is left out, and so is one with a semicolon."""
    found: dict[str, list[str]] = {}
    if not text:
        return found
    for pair in text.split("&"):
        if not pair or ";" in pair or has_bad_escape(pair):
            continue
        key, _, value = pair.partition("=")
        found.setdefault(_unescaped(key), []).append(_unescaped(value))
    return found


def has_bad_escape(text: str) -> bool:
    """Whether there is a percent sign without two hexadecimal digits after it."""
    return _BAD_ESCAPE.search(text) is not None


def _unescaped(text: str) -> str:
    if "%" not in text and "+" not in text and text.isascii():
        return text
    return unquote_to_bytes(text.replace("+", " ")).decode(errors="replace")


# ---------------------------------------------------------------- asking and refusing


def attributes_of(info: RequestInfo, user: User) -> Attributes:
    """What an authorizer is asked about a request. Selectors that cannot be read are left out, so it is then about everything."""
    asked = Attributes(
        user,
        info.verb,
        path=info.path,
        resource_request=info.is_resource_request,
        group=info.group,
        version=info.version,
        resource=info.resource,
        subresource=info.subresource,
        namespace=info.namespace,
        name=info.name,
    )
    return with_selectors(asked, info.field_selector, info.label_selector)


def with_selectors(asked: Attributes, by_field: str, by_label: str) -> Attributes:
    if by_field:
        fields = selectors.parse_fields(by_field)
        asked = replace(asked, **({"field_selector_error": fields} if isinstance(fields, str) else {"field_selector": fields}))
    if by_label:
        labels = selectors.parse_labels(by_label)
        asked = replace(asked, **({"label_selector_error": labels} if isinstance(labels, str) else {"label_selector": labels}))
    return asked


def refusal(authorizer: Authorizer, asked: Attributes) -> ApiError | None:
    """NB: who makes an object by apply must be asked again, with the verb create."""
    decision = authorizer.check(asked)
    return None if decision.is_allowed else forbidden(asked, decision.reason)


def forbidden(asked: Attributes, reason: str = "") -> ApiError:
    """The 403 for what an authorizer did not allow."""
    cause = _without_markup(_refusal(asked))
    return errors.forbidden(GroupResource(asked.group, asked.resource), asked.name, f"{cause}: {reason}" if reason else cause)


def _refusal(asked: Attributes) -> str:
    who = f"User {quoted(asked.user.name)} cannot {asked.verb}"
    if not asked.resource_request:
        return f"{who} path {quoted(asked.path)}"
    resource = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
    where = f"in the namespace {quoted(asked.namespace)}" if asked.namespace else "at the cluster scope"
    return f"{who} resource {quoted(resource)} in API group {quoted(asked.group)} {where}"


def _without_markup(text: str) -> str:
    """No refusal may look like HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
