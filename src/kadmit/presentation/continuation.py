"""Where a list goes on, and of which moment it tells: continue tokens and resource versions.

A token holds a place and a revision: the key after the last one shown, relative to what is listed, so that no token can reach
anything else. Revision -1 means "as it is now": it is what a client is offered when its own revision is gone.
"""

import base64
import binascii
import json
import posixpath
import re

from msgspec import Struct

from kadmit.api import errors, fields
from kadmit.api.errors import ApiError, Cause, Details, Status
from kadmit.cel import gotext
from kadmit.patch import gojson, goscanner
from kadmit.patch.errors import PatchError

_VERSION = "meta.k8s.io/v1"
_INVALID = "continue key is not valid"
_MAX_UINT, _MAX_INT = 2**64 - 1, 2**63 - 1
_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the"
    " continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with"
    " the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the"
    " first chunk was returned and now may show up in the list."
)
_ALPHABET = re.compile(rb"[A-Za-z0-9_-]*")


class Place(Struct, frozen=True):
    """Where to go on. `start` is the first key that may be shown; `revision` -1: as it is now."""

    start: str
    revision: int


def encode(place: Place) -> str:
    made = {"v": _VERSION, "rv": place.revision, "start": place.start}
    text = json.dumps(made, ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).decode().rstrip("=")


def after(last_key: str, revision: int) -> str:
    """The token of a list that ends with this key, relative to what is listed: `name`, or `namespace/name` for all namespaces."""
    return encode(Place(f"{last_key}\0", revision))


def decode(token: str) -> Place:
    """Raises ApiError (400)."""
    try:
        return _decode(token)
    except ValueError as problem:
        raise errors.bad_request(f"invalid continue token: {problem}") from None


def _decode(token: str) -> Place:
    found = _token(_bytes(token))
    version, revision, start = found
    if version != _VERSION:
        raise ValueError(f"{_INVALID}: server does not recognize this encoded version {version}")
    if revision == 0:
        raise ValueError(f"{_INVALID}: incorrect encoded start resourceVersion (version {_VERSION})")
    if not start:
        raise ValueError(f"{_INVALID}: encoded start key empty (version {_VERSION})")
    rooted = start if start.startswith("/") else f"/{start}"
    if rooted.startswith("//") or posixpath.normpath(rooted) != rooted:
        raise ValueError(f"{_INVALID}: {start}")
    return Place(rooted[1:], revision)


def _bytes(token: str) -> bytes:
    """NB: line breaks are skipped, and loose bits at the end are let pass, as in Go."""
    raw = token.encode("utf-8", "surrogateescape")
    kept = raw.translate(None, b"\r\n")
    good = _ALPHABET.match(kept)
    length = len(good[0]) if good else 0
    if length < len(kept) or length % 4 == 1:
        raise ValueError(f"{_INVALID}: illegal base64 data at input byte {_position(raw, min(length, len(kept) - 1))}")
    try:
        return base64.urlsafe_b64decode(kept + b"=" * (-length % 4))
    except binascii.Error:
        raise ValueError(f"{_INVALID}: illegal base64 data at input byte 0") from None


def _position(raw: bytes, count: int) -> int:
    """Where in the text the character stands that is number `count` without line breaks."""
    kept = [at for at, byte in enumerate(raw) if byte not in b"\r\n"]
    return kept[count] if count < len(kept) else len(raw)


def _token(data: bytes) -> tuple[str, int, str]:
    fault = goscanner.fault(data)
    if fault is not None:
        raise ValueError(f"{_INVALID}: {fault}")
    try:
        value = gojson.loads(data)
    except PatchError as too_deep:
        raise ValueError(f"{_INVALID}: {too_deep}") from None
    if value is None:
        return "", 0, ""
    if not isinstance(value, dict):
        raise ValueError(f"{_INVALID}: {gojson.mismatch_text(value, 'Go value of type storage.continueToken')}")
    return _text(value, "v"), _number(value, "rv"), _text(value, "start")


def _text(value: dict[str, object], key: str) -> str:
    found = value.get(key)
    if found is not None and not isinstance(found, str):
        raise ValueError(f"{_INVALID}: {gojson.mismatch_text(found, f'Go struct field continueToken.{key} of type string')}")
    return found or ""


def _number(value: dict[str, object], key: str) -> int:
    found = value.get(key)
    if found is None:
        return 0
    if isinstance(found, bool) or not isinstance(found, int) or not -_MAX_INT - 1 <= found <= _MAX_INT:
        raise ValueError(f"{_INVALID}: {gojson.mismatch_text(found, f'Go struct field continueToken.{key} of type int64')}")
    return found


# ---------------------------------------------------------------- resource versions


def resource_version(text: str) -> int:
    """That of a get or a watch; 0 if there is none. Raises ApiError: NB: a 500 without a reason."""
    problem = _resource_version_problem(text)
    if problem is not None:
        raise ApiError(Status(500, "", problem))
    return int(text or "0")


def _resource_version_problem(text: str) -> str | None:
    if not text or (text.isascii() and text.isdigit() and int(text[:400]) <= _MAX_UINT and len(text) <= 400):
        return None
    why = "value out of range" if text.isascii() and text.isdigit() else "invalid syntax"
    detail = f"strconv.ParseUint: parsing {gotext.quote(text)}: {why}"
    return str(fields.invalid(fields.path("resourceVersion"), text, detail))


class Moment(Struct, frozen=True):
    """Of which moment a list tells. `exact`: of just that revision; else of now, which must not be older than `not_before`.

    `start`: where it goes on.
    """

    exact: int | None = None
    not_before: int = 0
    start: str = ""


def moment(*, resource_version: str, match: str, limit: int, token: str) -> Moment:
    """What the options of a list ask for. Raises ApiError (400)."""
    if token:
        place = decode(token)
        if resource_version not in ("", "0"):
            raise errors.bad_request("specifying resource version is not allowed when using continue")
        return Moment(exact=place.revision if place.revision > 0 else None, start=place.start)
    problem = _resource_version_problem(resource_version)
    if problem is not None:
        raise errors.bad_request(f"invalid resource version: {problem}")
    revision = int(resource_version or "0")
    if match == "Exact" or (not match and limit > 0 and revision > 0):
        return Moment(exact=revision)
    return Moment(not_before=revision)


def too_large(asked: int, current: int, *, retry: int = 1) -> ApiError:
    """The revision lies in the future. NB: a list of an exact revision is told so without a time to retry (0)."""
    text = f"Timeout: Too large resource version: {asked}, current: {current}"
    cause = Cause("ResourceVersionTooLarge", "Too large resource version")
    return ApiError(Status(504, "Timeout", text, Details(causes=(cause,), retry_after_seconds=retry)))


def list_too_old() -> ApiError:
    return errors.expired("The resourceVersion for the provided list is too old.")


def watch_too_old(asked: int, oldest: int) -> ApiError:
    """`oldest` is the first revision that can still be watched from. It is sent as an ERROR event."""
    return errors.expired(f"too old resource version: {asked} ({oldest})")


def place_too_old(start: str) -> ApiError:
    """A page of a revision that is gone; the answer offers to go on with what is there now."""
    return ApiError(Status(410, "Expired", _TOO_OLD, metadata={"continue": encode(Place(start, -1))}))
