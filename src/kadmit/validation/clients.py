"""Where a webhook is called: a URL, or a service in the cluster."""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.cel import gotext
from kadmit.cel.library import names
from kadmit.cel.library import url as urls

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_SEGMENT_END = re.compile(r"[/?]")
_MALFORMED = re.compile(r"%(?![0-9a-fA-F]{2}).{0,2}", re.DOTALL)
_FORM = "; desired format: https://host[/path]"


def validate_client(raw: Mapping[str, Any], at: Path) -> list[FieldError]:
    """A webhook's clientConfig. NB: its caBundle may be any bytes; calls will fail."""
    url, service = raw.get("url"), raw.get("service")
    if url is not None and service is None:
        return list(_url(url, at.child("url")))
    if service is not None and url is None:
        return list(_service(service, at.child("service")))
    return [fields.required(at, "exactly one of url or service is required")]


def _url(text: str, at: Path) -> Iterator[FieldError]:
    parsed = _reference(text)
    if isinstance(parsed, str):
        yield fields.required(at, f"url must be a valid URL: {parsed}{_FORM}")
        return
    reference, _, fragment = text.partition("#")
    query = reference.partition("?")[2]
    if parsed.scheme != "https":
        yield fields.invalid(at, parsed.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not parsed.host:
        yield fields.invalid(at, "", f"host must be specified{_FORM}")
    if parsed.user is not None:
        yield fields.invalid(at, parsed.user, "user information is not permitted in the URL")
    if fragment:
        yield fields.invalid(at, unquote(fragment), "fragments are not permitted in the URL")
    if query:
        yield fields.invalid(at, query, "query parameters are not permitted in the URL")


def _reference(text: str) -> urls.URL | str:
    """A URL of any sort, relative ones too, or the text of the error. NB: only errors in a fragment show it."""
    reference, _, fragment = text.partition("#")
    parsed = urls.parse(reference) if _SCHEME.match(reference) else _relative(reference)
    malformed = _MALFORMED.search(fragment)
    if isinstance(parsed, str) or malformed is None:
        return parsed
    return f"parse {gotext.quote(text)}: invalid URL escape {gotext.quote(malformed[0])}"


def _relative(reference: str) -> urls.URL | str:
    """A reference without a scheme, read as one of a scheme that has no rules of its own."""
    shown = f"parse {gotext.quote(reference)}: "
    if reference.startswith(":"):
        return f"{shown}missing protocol scheme"
    if ":" in _SEGMENT_END.split(reference, maxsplit=1)[0]:
        return f"{shown}first path segment in URL cannot contain colon"
    absolute = f"none:{reference}" if reference.startswith("/") else f"none:/{reference}"
    parsed = urls.parse(absolute)
    if isinstance(parsed, str):
        return shown + parsed.removeprefix(f"parse {gotext.quote(absolute)}: ")
    parsed.scheme = ""
    return parsed


def _service(raw: Mapping[str, Any], at: Path) -> Iterator[FieldError]:
    """NB: Kubernetes mixes the two names up: a missing name is reported as a missing namespace, and the other way round."""
    if not raw.get("namespace"):
        yield fields.required(at.child("name"))
    if not raw.get("name"):
        yield fields.required(at.child("namespace"))
    port = raw.get("port") or 0
    if not 1 <= port <= 65535:
        yield fields.invalid(at.child("port"), port, "port is not valid: must be between 1 and 65535, inclusive")
    yield from _path(raw.get("path") or "/", at.child("path"))


def _path(path: str, at: Path) -> Iterator[FieldError]:
    if path == "/":
        return
    if path == "//":
        yield fields.invalid(at, path, "segment[0] may not be empty")
        return
    if not path.startswith("/"):
        yield fields.invalid(at, path, "must start with a '/'")
    # NB: the first byte goes, whatever it is.
    rest = path.encode("utf-8", "surrogatepass")[1:].decode("utf-8", "replace")
    for i, segment in enumerate(rest.removesuffix("/").split("/")):
        problems = [f": {problem}" for problem in names.dns1123_subdomain(segment)] if segment else [" may not be empty"]
        yield from (fields.invalid(at, path, f"segment[{i}]{problem}") for problem in problems)
