"""Seccomp and AppArmor profiles that older clients give as annotations: they must be sound and agree with the fields."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.api.gojson import quoted
from kadmit.kinds.rules import meta, paths, platforms
from kadmit.kinds.rules.meta import Object

Json: TypeAlias = Any

_SECCOMP, _SECCOMP_CONTAINER = "seccomp.security.alpha.kubernetes.io/pod", "container.seccomp.security.alpha.kubernetes.io/"
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_DEFAULTS, _UNCONFINED, _LOCAL = ("runtime/default", "docker/default"), "unconfined", "localhost/"


def annotations(value: Object, at: Path) -> Iterator[FieldError]:
    given = meta.of(value).get("annotations") or {}
    if _SECCOMP in given:
        yield from _seccomp(given[_SECCOMP], at.child(_SECCOMP))
    for key in sorted(given):
        if key.startswith(_SECCOMP_CONTAINER):
            yield from _seccomp(given[key], at.child(key))
    for key in sorted(given):
        if key.startswith(_APP_ARMOR):
            yield from _app_armor(key.removeprefix(_APP_ARMOR), given[key], value.get("spec") or {}, at.key(key))


def _seccomp(profile: str, at: Path) -> Iterator[FieldError]:
    if profile.startswith(_LOCAL):
        yield from paths.descending(profile.removeprefix(_LOCAL), at)
    elif profile not in (*_DEFAULTS, _UNCONFINED):
        yield fields.invalid(at, profile, "must be a valid seccomp profile")


def _app_armor(container: str, profile: str, spec: Object, at: Path) -> Iterator[FieldError]:
    if all(one.get("name") != container for one, _ in platforms.each_container(spec, at)):
        yield fields.invalid(at, container, "container not found")
    if profile not in ("", _DEFAULTS[0], _UNCONFINED) and not profile.startswith(_LOCAL):
        yield fields.invalid(at, profile, f"invalid AppArmor profile name: {quoted(profile)}")


# ---------------------------------------------------------------- annotation and field


def agree(value: Object, at: Path) -> Iterator[FieldError]:
    """Where both are given they say the same."""
    given, spec = meta.of(value).get("annotations") or {}, value.get("spec") or {}
    if not given:
        return
    context = spec.get("securityContext") or {}
    yield from _same(given.get(_SECCOMP), context.get("seccompProfile"), "seccomp", at.child("securityContext", "seccompProfile"))
    for container, place in platforms.each_container(spec, at):
        own = container.get("securityContext") or {}
        annotation = given.get(f"{_SECCOMP_CONTAINER}{container.get('name') or ''}")
        yield from _same(annotation, own.get("seccompProfile"), "seccomp", place.child("securityContext", "seccompProfile"))
    if (spec.get("os") or {}).get("name") == "windows":
        return
    for container, place in platforms.each_container(spec, at):
        own = container.get("securityContext") or {}
        profile = own.get("appArmorProfile") or context.get("appArmorProfile")
        annotation = given.get(f"{_APP_ARMOR}{container.get('name') or ''}")
        yield from _same(annotation, profile, "apparmor", place.child("securityContext", "appArmorProfile"))


def _same(annotation: str | None, profile: Mapping[str, Json] | None, called: str, at: Path) -> Iterator[FieldError]:
    if annotation is None or profile is None:
        return
    wrong_type = fields.forbidden(at.child("type"), f"{called} type in annotation and field must match")
    defaults = _DEFAULTS if called == "seccomp" else _DEFAULTS[:1]
    match profile.get("type"):
        case "Unconfined" if annotation != _UNCONFINED:
            yield wrong_type
        case "RuntimeDefault" if annotation not in defaults:
            yield wrong_type
        case "Localhost" if not annotation.startswith(_LOCAL):
            yield wrong_type
        case "Localhost" if annotation.removeprefix(_LOCAL) != profile.get("localhostProfile"):
            yield fields.forbidden(at.child("localhostProfile"), f"{called} profile in annotation and field must match")
