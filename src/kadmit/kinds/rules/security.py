"""Security contexts of pods and containers."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.kinds import internals
from kadmit.kinds.rules import enums, naming, numbers, paths

Json: TypeAlias = Any

_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_LONGEST_PROFILE = 4095
_MOST_CREDENTIALS = 64  # KiB
_LONGEST_DOMAIN, _LONGEST_USER = 256, 104
_CONTROL = re.compile("[\\x00-\\x1f\\x7f]")
_NET_BIOS = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")
_NOT_IN_USER = re.compile(r'["/\\:;|=,+*?<>@\[\]]')
_IPC_SYSCTLS = frozenset(
    f"kernel.{name}"
    for name in ("sem", "shm", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "msg", "msgmax", "msgmnb", "msgmni")
)


def of_container(value: Mapping[str, Json] | None, at: Path, *, host_users: bool, allow_privileged: bool) -> Iterator[FieldError]:
    if value is None:
        return
    if value.get("privileged") and not allow_privileged:
        yield fields.forbidden(at.child("privileged"), "disallowed by cluster policy")
    yield from numbers.identity(value.get("runAsUser"), at.child("runAsUser"))
    yield from numbers.identity(value.get("runAsGroup"), at.child("runAsGroup"))
    yield from enums.one_of(value.get("procMount"), ("Default", "Unmasked"), at.child("procMount"))
    if host_users and value.get("procMount") == "Unmasked":
        yield fields.invalid(at.child("procMount"), "Unmasked", "`hostUsers` must be false to use `Unmasked`")
    yield from _seccomp(value.get("seccompProfile"), at.child("seccompProfile"))
    yield from _escalation(value, at)
    yield from _windows(value.get("windowsOptions"), at.child("windowsOptions"))
    yield from _app_armor(value.get("appArmorProfile"), at.child("appArmorProfile"))


def _escalation(value: Mapping[str, Json], at: Path) -> Iterator[FieldError]:
    """What lets a process gain privileges contradicts that it must not."""
    if value.get("allowPrivilegeEscalation") is not False:
        return
    reasons = ["`privileged` to true"] if value.get("privileged") else []
    added = (value.get("capabilities") or {}).get("add") or ()
    reasons += ["`capabilities.Add` CAP_SYS_ADMIN" for capability in added if capability == "CAP_SYS_ADMIN"]
    for reason in reasons:
        shown = internals.shown("SecurityContext", value)
        yield fields.invalid(at, shown, f"cannot set `allowPrivilegeEscalation` to false and {reason}")


def of_pod(spec: Mapping[str, Json], at: Path) -> Iterator[FieldError]:
    value = spec.get("securityContext") or {}
    for field in ("fsGroup", "runAsUser", "runAsGroup"):
        yield from numbers.identity(value.get(field), at.child(field))
    for index, group in enumerate(value.get("supplementalGroups") or ()):
        yield from numbers.identity(group, at.child("supplementalGroups").index(index))
    if spec.get("hostPID") and spec.get("shareProcessNamespace"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield fields.invalid(at.child("shareProcessNamespace"), True, text)
    yield from _sysctls(spec, at.child("sysctls"))
    yield from enums.one_of(value.get("fsGroupChangePolicy"), ("Always", "OnRootMismatch"), at.child("fsGroupChangePolicy"))
    yield from _seccomp(value.get("seccompProfile"), at.child("seccompProfile"))
    yield from _windows(value.get("windowsOptions"), at.child("windowsOptions"))
    yield from _app_armor(value.get("appArmorProfile"), at.child("appArmorProfile"))
    yield from enums.one_of(value.get("supplementalGroupsPolicy"), ("Merge", "Strict"), at.child("supplementalGroupsPolicy"))
    yield from enums.one_of(value.get("seLinuxChangePolicy"), ("Recursive",), at.child("seLinuxChangePolicy"))


def _sysctls(spec: Mapping[str, Json], at: Path) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, sysctl in enumerate((spec.get("securityContext") or {}).get("sysctls") or ()):
        name, place = sysctl.get("name") or "", at.index(index).child("name")
        if not name:
            yield fields.required(place)
        elif naming.sysctl(name):
            yield from naming.complaints(naming.sysctl(name), name, place)
        elif name in seen:
            yield fields.duplicate(place, name)
        yield from _of_host(name, spec, place)
        seen.add(name)


def _of_host(sysctl: str, spec: Mapping[str, Json], at: Path) -> Iterator[FieldError]:
    """Settings of a namespace that the pod shares with its host."""
    name = sysctl.replace("/", ".")
    if spec.get("hostNetwork") and name.startswith("net."):
        yield fields.invalid(at, sysctl, "may not be specified when 'hostNetwork' is true")
    elif spec.get("hostIPC") and (name.startswith("fs.mqueue.") or name in _IPC_SYSCTLS):
        yield fields.invalid(at, sysctl, "may not be specified when 'hostIPC' is true")


# ---------------------------------------------------------------- profiles


def _seccomp(profile: Mapping[str, Json] | None, at: Path) -> Iterator[FieldError]:
    if profile is None:
        return
    of_type, local = profile.get("type") or "", profile.get("localhostProfile")
    if not of_type:
        yield fields.required(at.child("type"), "type is required when seccompProfile is set")
    yield from enums.one_of(of_type or None, _PROFILES, at.child("type"))
    if of_type == "Localhost":
        if local is None:
            yield fields.required(at.child("localhostProfile"), "must be set when seccomp type is Localhost")
        else:
            yield from paths.descending(local, at.child("localhostProfile"))
    elif local is not None:
        shown = internals.shown("SeccompProfile", profile)
        yield fields.invalid(at.child("localhostProfile"), shown, "can only be set when seccomp type is Localhost")


def _app_armor(profile: Mapping[str, Json] | None, at: Path) -> Iterator[FieldError]:
    if profile is None:
        return
    of_type, local = profile.get("type") or "", profile.get("localhostProfile")
    if of_type == "Localhost":
        yield from _local_app_armor(local, at.child("localhostProfile"))
    elif of_type in _PROFILES:
        if local is not None:
            yield fields.invalid(at.child("localhostProfile"), local, "can only be set when AppArmor type is Localhost")
    elif not of_type:
        yield fields.required(at.child("type"), "type is required when appArmorProfile is set")
    else:
        yield from enums.one_of(of_type, _PROFILES, at.child("type"))


def _local_app_armor(local: str | None, at: Path) -> Iterator[FieldError]:
    if not local:
        yield fields.required(at, "must be set when AppArmor type is Localhost")
        return
    if local.strip() != local:
        yield fields.invalid(at, local, "must not be padded with whitespace")
    if naming.size(local) > _LONGEST_PROFILE:
        yield fields.too_long(at, _LONGEST_PROFILE)


def _windows(options: Mapping[str, Json] | None, at: Path) -> Iterator[FieldError]:
    given = options or {}
    if given.get("gmsaCredentialSpecName") is not None:
        yield from naming.subdomain(given["gmsaCredentialSpecName"], at.child("gmsaCredentialSpecName"))
    credentials = given.get("gmsaCredentialSpec")
    if credentials is not None:
        place = at.child("gmsaCredentialSpec")
        if not credentials:
            yield fields.invalid(place, credentials, "gmsaCredentialSpec cannot be an empty string")
        elif naming.size(credentials) > _MOST_CREDENTIALS * 1024:
            yield fields.invalid(place, credentials, f"gmsaCredentialSpec size must be under {_MOST_CREDENTIALS} KiB")
    user = given.get("runAsUserName")
    if user is not None:
        for problem in _user_problems(user):
            yield fields.invalid(at.child("runAsUserName"), user, f"runAsUserName{problem}")


def _user_problems(name: str) -> Iterator[str]:
    """What is wrong with USER or DOMAIN\\USER."""
    if not name:
        yield " cannot be an empty string"
    elif _CONTROL.search(name):
        yield " cannot contain control characters"
    elif name.count("\\") > 1:
        yield " cannot contain more than one backslash"
    else:
        domain, separator, user = name.rpartition("\\")
        if separator:
            yield from _domain_problems(domain)
        if not user:
            yield "'s User cannot be empty"
        elif naming.size(user) > _LONGEST_USER:
            yield f"'s User length must not be longer than {_LONGEST_USER} characters"
        if user and not user.strip(". "):
            yield "'s User cannot contain only periods or spaces"
        if _NOT_IN_USER.search(user):
            yield "'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"


def _domain_problems(domain: str) -> Iterator[str]:
    if naming.size(domain) >= _LONGEST_DOMAIN:
        yield f"'s Domain length must be under {_LONGEST_DOMAIN} characters"
    if _NET_BIOS.fullmatch(domain) is None and _DNS.fullmatch(domain) is None:
        yield "'s Domain doesn't match the NetBios nor the DNS format"
