"""From an HTTP reply to an Answer, as Kubernetes' own REST client reads it: status codes, content types, AdmissionReview bodies.

Every reply that cannot be read becomes the text that follows `failed calling webhook "x": failed to call webhook: `.
"""

from kadmit.admission import reviewbodies
from kadmit.admission.answers import Answer
from kadmit.admission.webhooks import Call
from kadmit.api import mediatype
from kadmit.api.gojson import quoted
from kadmit.kinds.decoding import DecodeError

_ASSUMED = "application/json"  # of a reply that does not say what it is
_SHOWN = 2048  # bytes of an error page that reach the user
_UNACCEPTABLE = "the server was unable to respond with a content type that the client supports"
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
    try:
        media = mediatype.media_type(content_type or _ASSUMED)
    except mediatype.MediaTypeError as e:
        return failed(f"Internal error occurred: {e}", 500)
    if not 200 <= status <= 206:
        return _error(status, body, is_text=not content_type or media.startswith("text/"))
    if not body:
        return failed(f"0-length response with status code: {status} and content type: {content_type or _ASSUMED}")
    try:
        return Answer(uid=uid, review=reviewbodies.review(body, call.version))
    except DecodeError as e:
        return failed(str(e))


def _error(status: int, body: bytes, *, is_text: bool) -> Answer:
    """NB: a Status in the body counts whatever it says, even if it says nothing."""
    told = reviewbodies.failure(body)
    if told is not None:
        return failed(told.get("message") or "", told.get("code") or 0)
    text = body[:_SHOWN].decode("utf-8", "replace").strip() if is_text else "unknown"
    return failed(_words(status, text), status)


def _words(status: int, text: str) -> str:
    """What is said of an HTTP status, given the text that came with it."""
    if status in _SERVER_ERRORS:
        return _SERVER_ERRORS[status]
    if status in (403, 415):
        return text
    if status == 406:
        return text if text not in ("", "unknown") else _UNACCEPTABLE
    if status >= 500:
        return f"an error on the server ({quoted(text)}) has prevented the request from succeeding"
    return f"the server responded with the status code {status} but did not return more information"
