"""A function that answers reviews, with what its webhook is registered as: rules, selectors, timeout, failure policy.

What is given to a decorator is checked when the function is decorated, except for the names of resources: these need the table of
kinds, which a process that only answers has no use for.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from msgspec import Struct

from kadmit.webhook.sdk.request import Object, Request

Function: TypeAlias = Callable[[Request, Any], Any]
Operation: TypeAlias = Literal["CREATE", "UPDATE", "DELETE", "CONNECT", "*"]

_OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT", "*")
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_PATH = re.compile(r"(?:/[A-Za-z0-9._~-]+)+")
_OURS = ("/healthz", "/livez", "/readyz", "/metrics")


class Options(TypedDict, total=False):
    """What both decorators take besides resources."""

    operations: Operation | Sequence[Operation]
    groups: str | Sequence[str]
    versions: str | Sequence[str]
    scope: Literal["*", "Cluster", "Namespaced"]
    match_policy: Literal["Equivalent", "Exact"]
    match_conditions: Mapping[str, str]
    namespace_selector: Mapping[str, Any]
    object_selector: Mapping[str, Any]
    failure_policy: Literal["Fail", "Ignore"]
    timeout: int
    side_effects: Literal["None", "NoneOnDryRun"]
    name: str
    path: str
    inline: bool


class MutatingOptions(Options, total=False):
    """What only mutating webhooks have."""

    reinvocation: Literal["Never", "IfNeeded"]


class Handler(Struct, frozen=True):
    """One webhook. Fields are those of Options; `inline` is a plain function that never waits, and needs no thread."""

    function: Function
    mutating: bool
    name: str
    path: str
    resources: tuple[str, ...]
    operations: tuple[str, ...]
    groups: tuple[str, ...]
    versions: tuple[str, ...]
    scope: str
    match_policy: str
    match_conditions: Mapping[str, str]
    namespace_selector: Object | None
    object_selector: Object | None
    failure_policy: str
    timeout: int
    side_effects: str
    reinvocation: str
    inline: bool
    is_async: bool


def handler(
    function: Function,
    resources: str | Sequence[str],
    *,
    mutating: bool,
    operations: str | Sequence[str] = ("CREATE", "UPDATE"),
    groups: str | Sequence[str] = (),
    versions: str | Sequence[str] = (),
    scope: str = "*",
    match_policy: str = "Equivalent",
    match_conditions: Mapping[str, str] | None = None,
    namespace_selector: Mapping[str, Any] | None = None,
    object_selector: Mapping[str, Any] | None = None,
    failure_policy: str = "Fail",
    timeout: int = 10,
    side_effects: str = "None",
    reinvocation: str = "Never",
    name: str = "",
    path: str = "",
    inline: bool = False,
) -> Handler:
    """Raises ValueError."""
    slug = _slug(function, name)
    if not mutating and reinvocation != "Never":
        raise ValueError("reinvocation is for mutating webhooks")
    return Handler(
        function=function,
        mutating=mutating,
        name=slug,
        path=_path(slug, path),
        resources=_some("resources", _texts(resources)),
        operations=_operations(_some("operations", _texts(operations))),
        groups=_texts(groups),
        versions=_texts(versions),
        scope=_one_of("scope", scope, ("*", "Cluster", "Namespaced")),
        match_policy=_one_of("match_policy", match_policy, ("Equivalent", "Exact")),
        match_conditions=dict(match_conditions or {}),
        namespace_selector=_selector(namespace_selector),
        object_selector=_selector(object_selector),
        failure_policy=_one_of("failure_policy", failure_policy, ("Fail", "Ignore")),
        timeout=_seconds(timeout),
        side_effects=_one_of("side_effects", side_effects, ("None", "NoneOnDryRun")),
        reinvocation=_one_of("reinvocation", reinvocation, ("Never", "IfNeeded")),
        inline=inline,
        is_async=_is_async(function),
    )


def _slug(function: Function, name: str) -> str:
    made = name or getattr(function, "__name__", "").replace("_", "-").strip("-").lower()
    if not _SLUG.fullmatch(made):
        raise ValueError(f"name {made!r} of a webhook must be lower case letters, digits and dashes, at most 63")
    return made


def _path(slug: str, path: str) -> str:
    made = path or f"/{slug}"
    if not _PATH.fullmatch(made) or made in _OURS:
        raise ValueError(f"path {made!r} cannot be a webhook's")
    return made


def _is_async(function: Function) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _texts(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _some(field: str, given: tuple[str, ...]) -> tuple[str, ...]:
    if not given:
        raise ValueError(f"{field}: at least one is needed")
    return given


def _operations(given: tuple[str, ...]) -> tuple[str, ...]:
    for each in given:
        _one_of("operations", each, _OPERATIONS)
    return given


def _selector(given: Mapping[str, Any] | None) -> Object | None:
    """A label selector; plain labels are what must match."""
    if given is None or not given.keys() - {"matchLabels", "matchExpressions"}:
        return None if given is None else dict(given)
    return {"matchLabels": dict(given)}


def _one_of(field: str, given: str, allowed: Sequence[str]) -> str:
    if given not in allowed:
        raise ValueError(f"{field} must be {' or '.join(allowed)}, not {given!r}")
    return given


def _seconds(given: int) -> int:
    if not 1 <= given <= 30:
        raise ValueError(f"timeout must be from 1 to 30 seconds, not {given}")
    return given
