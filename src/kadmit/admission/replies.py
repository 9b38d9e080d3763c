"""From an HTTP reply to an Answer, as Kubernetes' own REST client reads it: status codes, content types, AdmissionReview bodies.

Every reply that cannot be read becomes the text that follows `failed calling webhook "x": failed to call webhook: `.
"""

from collections.abc import Mapping
from typing import Any

from kadmit.admission.answers import Answer
from kadmit.admission.webhooks import Call
from kadmit.api import yaml
from kadmit.api.gojson import quoted
from kadmit.kinds import decoding, fulltext, schema
from kadmit.kinds.decoding import DecodeError
from kadmit.kinds.fulltext import SyntaxFault

SCHEME = "k8s.io/apiserver/pkg/util/webhook/client.go:71"
_GROUP = "admission.k8s.io"
_SHOWN = 2048  # bytes of an error page that reach the user
_SERVER_ERRORS = {
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    400: "the server rejected our request for an unknown reason",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}


def failed(reason: str, code: int = 503) -> Answer:
    """No reply that could be read."""
    return Answer(failure=f"failed to call webhook: {reason}", code=code)


def read(call: Call, uid: str, *, status: int, content_type: str, body: bytes) -> Answer:
    """The answer that a reply holds."""
    if not 200 <= status <= 206:
        return _error(status, content_type, body)
    broken = _content_type_error(content_type)
    if broken is not None:
        return failed(f"Internal error occurred: {broken}", 500)
    if not body:
        return failed(f"0-length response with status code: {status} and content type: {content_type}")
    try:
        review = _review(call, body)
    except (DecodeError, SyntaxFault) as e:
        return failed(str(e))
    return Answer(uid=uid, review=review)


def _error(status: int, content_type: str, body: bytes) -> Answer:
    told = _status_object(body)
    if told is not None:
        return failed(str(told.get("message") or "unknown"), int(told.get("code") or status))
    is_text = content_type.startswith("text/")
    text = body[:_SHOWN].decode("utf-8", "replace").strip() if is_text and body.strip() else "unknown"
    if status in _SERVER_ERRORS:
        return failed(_SERVER_ERRORS[status], status)
    if status == 403:
        return failed(text, status)
    if status >= 500:
        return failed(f"an error on the server ({quoted(text)}) has prevented the request from succeeding", status)
    return failed(f"the server responded with the status code {status} but did not return more information", status)


def _status_object(body: bytes) -> Mapping[str, Any] | None:
    """A failure that comes as a Status of the API."""
    try:
        value = fulltext.loads(body)
    except SyntaxFault:
        return None
    if not isinstance(value, dict) or value.get("kind") != "Status" or value.get("apiVersion") != "v1":
        return None
    return value if value.get("status") != "Success" else None


def _content_type_error(content_type: str) -> str | None:
    """What Go has against a media type; nothing against one that is missing or unknown."""
    media = content_type.split(";")[0].strip()
    if not media:
        return None
    major, slash, minor = media.partition("/")
    if any(c in ' \t,"()<>@:\\[]?={}' for c in major):
        return "mime: expected slash after first token"
    if slash and (not minor or any(c in ' \t,"()<>@:\\[]?={}/' for c in minor)):
        token = minor.split()[0] if minor.split() else ""
        return "mime: unexpected content after media subtype" if token else "mime: expected token after slash"
    return None


def _review(call: Call, body: bytes) -> dict[str, Any]:
    """An AdmissionReview of the version that was asked for. Raises DecodeError and SyntaxFault."""
    value = _parsed(body)
    value = {} if value is None else value
    group, version, kind = decoding.kind_of(value)
    wanted = (_GROUP, call.version, "AdmissionReview")
    named = (group, version or call.version, kind or "AdmissionReview") if version else (_GROUP, call.version, kind or wanted[2])
    if named != wanted:
        raise DecodeError(_another(named, wanted))
    node = schema.for_kind(wanted)
    assert node is not None
    decoded = decoding.normalise(node, value).object
    return {**decoded, "apiVersion": value.get("apiVersion") or "", "kind": value.get("kind") or ""}


def _parsed(body: bytes) -> Any:
    try:
        return fulltext.loads(body)
    except SyntaxFault as e:
        if body.lstrip()[:1] in (b"{", b"["):
            raise DecodeError(f"couldn't get version/kind; json parse error: {e}") from None
    try:
        return yaml.load(body).value
    except yaml.YamlError as e:
        raise DecodeError(f"couldn't get version/kind; json parse error: {e}") from None


def _another(named: tuple[str, str, str], wanted: tuple[str, str, str]) -> str:
    group, version, kind = named
    known = (group == _GROUP and version in ("v1", "v1beta1") and kind == "AdmissionReview") or (named == ("", "v1", "Status"))
    if known:
        return f"converting ({version}.{kind}) to ({wanted[1]}.{wanted[2]}): unknown conversion"
    shown = f"{group}/{version}" if group else version
    return f"no kind {quoted(kind)} is registered for version {quoted(shown)} in scheme {quoted(SCHEME)}"
