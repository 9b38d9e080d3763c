"""CertificateSigningRequests: what is to be signed, by whom and for what, and who may say yes or no to it.

The request is asked for its form alone (a PEM block of its type): what stands in it is the signer's to look at.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.api.gojson import Named, quoted
from kadmit.cel.library import names
from kadmit.kinds.rules import enums, meta, naming
from kadmit.kinds.rules.meta import Object
from kadmit.patch import equality

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]

LEGACY_SIGNER = "kubernetes.io/legacy-unknown"
USAGES = (
    *("any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment"),
    *("decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel"),
    *("ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime"),
    *("server auth", "signing", "timestamping"),
)
_AT, _CONDITIONS, _CERTIFICATE = fields.path("spec"), fields.path("status", "conditions"), fields.path("status", "certificate")
_BLOCK = re.compile(rb"-----BEGIN ([^\n]*?)-----[ \t]*\r?\n(.*?)-----END \1-----", re.DOTALL)
_SHORTEST = 600
_MAX_DOMAIN, _MAX_NAME = 253, 253 + 253 + 63 + 2
_DECIDED, _FINAL = ("Approved", "Denied"), ("Approved", "Denied", "Failed")


def _any_name(name: str, prefix: bool) -> list[str]:
    return []


def create(value: Object) -> Iterator[FieldError]:
    return _request(value, {})


def _request(value: Object, old: Object) -> Iterator[FieldError]:
    """NB: what was wrong before is let through."""
    yield from meta.created(value, _any_name, namespaced=False)
    spec, was = value.get("spec") or {}, old.get("spec") or {}
    if _block_type(spec.get("request") or "") != b"CERTIFICATE REQUEST":
        yield fields.invalid(_AT.child("request"), spec.get("request"), "PEM block type must be CERTIFICATE REQUEST")
    yield from _usages(spec.get("usages") or [], was.get("usages") or [])
    signer, at = spec.get("signerName") or "", _AT.child("signerName")
    if signer == LEGACY_SIGNER and was.get("signerName") != LEGACY_SIGNER:
        yield fields.invalid(at, signer, "the legacy signerName is not allowed via this API version")
    else:
        yield from signer_name(signer, at)
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _SHORTEST:
        text = "may not specify a duration less than 600 seconds (10 minutes)"
        yield fields.invalid(_AT.child("expirationSeconds"), seconds, text)
    yield from _conditions(_conditions_of(value), _conditions_of(old))
    yield from _certificate(value, old)


def _block_type(encoded: str) -> bytes:
    """The type of the first PEM block, if there is one."""
    try:
        found = _BLOCK.search(base64.b64decode(encoded))
    except (binascii.Error, ValueError):
        return b""
    return found[1] if found else b""


def _usages(usages: Sequence[str], old: Sequence[str]) -> Iterator[FieldError]:
    at = _AT.child("usages")
    if not usages:
        yield fields.required(at)
    if set(old) <= set(USAGES):
        for index, usage in enumerate(usages):
            yield from enums.one_of(usage, USAGES, at.index(index))
    if len(set(old)) == len(old):
        for index, usage in enumerate(usages):
            if usage in usages[:index]:
                yield fields.duplicate(at.index(index), Named(usage))


def signer_name(name: str, at: Path) -> Iterator[FieldError]:
    if not name:
        yield fields.required(at)
        return
    domain, slash, path = name.partition("/")
    if not slash or "/" in path:
        yield fields.invalid(at, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
        return
    if naming.size(domain) > _MAX_DOMAIN:
        yield fields.too_long(at, _MAX_DOMAIN)
    yield from _first_bad(domain, names.dns1123_label, at)
    if "." not in domain:
        yield fields.invalid(at, domain, "should be a domain with at least two segments separated by dots")
    yield from _first_bad(path, names.dns1123_subdomain, at)
    if naming.size(name) > _MAX_NAME:
        yield fields.too_long(at, _MAX_NAME)


def _first_bad(text: str, problems: Any, at: Path) -> Iterator[FieldError]:
    """Of names between dots, the first one that is none."""
    bad = next((part for part in text.split(".") if problems(part)), None)
    if bad is not None:
        yield from (fields.invalid(at, text, f"validating label {quoted(bad)}: {problem}") for problem in problems(bad))


# ---------------------------------------------------------------- conditions


def _conditions_of(value: Object) -> list[Part]:
    return (value.get("status") or {}).get("conditions") or []


def _conditions(conditions: Sequence[Part], old: Sequence[Part]) -> Iterator[FieldError]:
    before = [one.get("type") or "" for one in old]
    decided: set[str] = set()
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        kind, status, at = condition.get("type") or "", condition.get("status") or "", _CONDITIONS.index(index)
        if not kind and "" not in before:
            yield fields.required(at.child("type"))
        allowed = ("True",) if kind in _FINAL else ("False", "True", "Unknown")
        yield from enums.required_one_of(status, allowed, at.child("status"))
        if kind in _DECIDED and not set(_DECIDED) <= set(before):
            if decided - {kind}:
                yield fields.invalid(_CONDITIONS, Named(kind), "Approved and Denied conditions are mutually exclusive")
            decided.add(kind)
        if kind in seen and len(set(before)) == len(before):
            yield fields.duplicate(at.child("type"), Named(kind))
        seen.add(kind)


def _certificate(value: Object, old: Object) -> Iterator[FieldError]:
    now, was = ((one.get("status") or {}).get("certificate") or "" for one in (value, old))
    if not now or now == was:
        return
    kind = _block_type(now)
    if not kind:
        yield fields.invalid(_CERTIFICATE, "<certificate data>", "must contain at least one CERTIFICATE PEM block")
    elif kind != b"CERTIFICATE":
        text = f"only CERTIFICATE PEM blocks are allowed, found {quoted(kind.decode(errors='replace'))}"
        yield fields.invalid(_CERTIFICATE, "<certificate data>", text)


# ---------------------------------------------------------------- changes


def update(new: Object, old: Object) -> Iterator[FieldError]:
    return _changed(new, old)


def status(new: Object, old: Object) -> Iterator[FieldError]:
    return _changed(new, old, certificate=True)


def approval(new: Object, old: Object) -> Iterator[FieldError]:
    return _changed(new, old, approval=True)


def _changed(new: Object, old: Object, *, certificate: bool = False, approval: bool = False) -> Iterator[FieldError]:
    yield from _request(new, old)
    now, was = _conditions_of(new), _conditions_of(old)
    for kind in _FINAL:
        if _count(now, kind) < _count(was, kind):
            yield fields.forbidden(_CONDITIONS, f"updates may not remove a condition of type {quoted(kind)}")
    for kind in () if approval else _DECIDED:
        if _count(now, kind) > _count(was, kind):
            yield fields.forbidden(_CONDITIONS, f"updates may not add a condition of type {quoted(kind)}")
    yield from _changed_certificate(new, old, allowed=certificate)
    yield from meta.updated(new, old)


def _count(conditions: Sequence[Part], kind: str) -> int:
    return sum(one.get("type") == kind for one in conditions)


def _changed_certificate(new: Object, old: Object, *, allowed: bool) -> Iterator[FieldError]:
    now, was = ((one.get("status") or {}).get("certificate") or "" for one in (new, old))
    if equality.same(now, was):
        return
    if not allowed:
        yield fields.forbidden(_CERTIFICATE, "updates may not set certificate content")
    elif was:
        yield fields.forbidden(_CERTIFICATE, "updates may not modify existing certificate content")
