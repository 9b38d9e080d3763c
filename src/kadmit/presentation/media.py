"""Media types: what a client may ask an answer to be (Accept), and what a body or a patch may be (Content-Type).

Kubernetes asks twice. The router of the built-in kinds compares names only: it knows no parameters and no `application/*`.
Whoever passes it meets the negotiation proper, with qualities, wildcards and conversions (`as=Table`). Custom kinds and /apis
have no such router. Answers are never protobuf: a clause that asks for it is passed over, as Kubernetes does for custom kinds.
Bodies may be, since Go's typed clients send it without asking.

NB: an error is negotiated too. Where that fails, it is JSON for people to read.
"""

import enum
import functools
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from kadmit.api import errors
from kadmit.api.errors import ApiError, Details, Status

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
SUPPORTED = (JSON, YAML, PROTOBUF)
STREAMED = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
PATCHES = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)
CUSTOM_PATCHES = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)

OPENAPI_V2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_SWAGGERS = (
    (JSON, JSON),
    ("application/com.github.proto-openapi.spec.v2@v1.0+protobuf", OPENAPI_V2),
    (OPENAPI_V2, OPENAPI_V2),
)

_META_VERSIONS = ("v1", "v1beta1")
_META_KINDS = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
_BROWSERS = ("curl", "Wget", "Mozilla/5.0")
_USUAL_LENGTH = 512
_ANYTHING = ("", "*/*", JSON)
_FEW = 12  # so many clauses Go sorts by insertion, which shows in the result


class Target(Struct, frozen=True):
    """The kind that a client wants an object shown as."""

    group: str = ""
    version: str = ""
    kind: str = ""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def parameters(self) -> str:
        """As the content type of aggregated discovery names it."""
        named = (("g", self.group), ("v", self.version), ("as", self.kind))
        return "".join(f";{key}={value}" for key, value in named if value)


AGGREGATED_DISCOVERY = Target("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList")


class Representation(Struct, frozen=True):
    """How an answer is written."""

    media_type: str = JSON
    pretty: bool = False
    target: Target | None = None


_PLAIN, _PRETTY = Representation(), Representation(pretty=True)


class Endpoint(enum.Enum):
    """What conversions a place allows."""

    OBJECTS = "objects"  # Tables and partial metadata
    PLAIN = "plain"  # none: discovery documents, errors
    DISCOVERY = "discovery"  # nothing but aggregated discovery

    def allows(self, target: Target | None) -> bool:
        if self is Endpoint.DISCOVERY:
            return target == AGGREGATED_DISCOVERY
        if target is None:
            return True
        known = target.group == "meta.k8s.io" and target.version in _META_VERSIONS and target.kind in _META_KINDS
        return known and self is Endpoint.OBJECTS


# ---------------------------------------------------------------- the Accept header


class _Clause(Struct, frozen=True):
    type: str
    subtype: str
    quality: float
    parameters: Mapping[str, str]

    def matches(self, media_type: str) -> bool:
        kind, _, subtype = media_type.partition("/")
        return (self.type, self.subtype) in ((kind, subtype), (kind, "*"), ("*", "*"))

    def precedes(self, other: "_Clause") -> bool:
        """NB: not an order: of two clauses each may precede the other."""
        return (
            self.quality > other.quality
            or (self.type != "*" and other.type == "*")
            or (self.subtype != "*" and other.subtype == "*")
        )


def _clauses(header: str) -> list[_Clause]:
    found = [clause for part in header.split(",") if (clause := _clause(part.strip(" "))) is not None]
    if len(found) > _FEW:
        return sorted(found, key=lambda clause: (-clause.quality, clause.type == "*", clause.subtype == "*"))
    for end in range(1, len(found)):
        at = end
        while at > 0 and found[at].precedes(found[at - 1]):
            found[at], found[at - 1] = found[at - 1], found[at]
            at -= 1
    return found


def _clause(text: str) -> _Clause | None:
    name, *rest = text.split(";")
    kind, slash, subtype = name.partition("/")
    if "/" in subtype or (not subtype and kind.strip(" ") != "*"):
        return None
    parameters = dict(_parameters(rest))
    quality = _quality(parameters.pop("q")) if "q" in parameters else 1.0
    return _Clause(kind.strip(" "), subtype.strip(" ") if slash and subtype else "*", quality, parameters)


def _parameters(parts: Sequence[str]) -> list[tuple[str, str]]:
    """Those of the form key=value; NB: the quality is read with its blanks."""
    found = []
    for part in parts:
        key, _, value = part.partition("=")
        if value and ("=" not in value or (value.count("=") == 1 and value.endswith("="))):
            key, value = key.strip(" "), value.removesuffix("=")
            found.append((key, value if key == "q" else value.strip(" ")))
    return found


_FLOAT = re.compile(r"[-+]?(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})(?:[eE][-+]?[0-9]{1,3})?\Z")


def _quality(text: str) -> float:
    return float(text) if _FLOAT.match(text) else 0.0


# ---------------------------------------------------------------- answers


def route(accept: str, *, lists: bool = False) -> None:
    """The router's question for built-in kinds. Raises ApiError (406). `lists`: a list, which can be watched."""
    if accept in _ANYTHING:
        return
    names = [part.partition(";")[0].strip(" ") for part in (accept or "*/*").split(",")]
    available = (*SUPPORTED, *STREAMED) if lists else SUPPORTED
    if not any(name == "*/*" or name in available for name in names):
        text = f"406: Not Acceptable\n\nAvailable representations: {', '.join(available)}"
        raise ApiError(Status(406, "NotAcceptable", text, Details()))


def negotiate(accept: str, *, endpoint: Endpoint = Endpoint.OBJECTS, pretty: bool = False) -> Representation:
    """How the answer is to be written. Raises ApiError (406)."""
    found = _negotiated(accept, endpoint, pretty=pretty)
    if found is None:
        raise errors.not_acceptable(SUPPORTED)
    return found


def negotiate_stream(accept: str, *, pretty: bool = False) -> Representation:
    """How the events of a watch are to be written: as JSON, or not at all. Raises ApiError (406)."""
    found = negotiate(accept, pretty=pretty)
    if found.media_type != JSON:
        raise errors.not_acceptable(STREAMED)
    return found


def negotiate_error(accept: str, *, pretty: bool = False) -> Representation:
    """How a Status is written that tells of a failure."""
    return _negotiated(accept, Endpoint.PLAIN, pretty=pretty) or Representation(JSON, pretty=True)


def swagger_type(accept: str) -> str | None:
    """JSON or OPENAPI_V2, whichever a client of /openapi/v2 likes better. NB: a refusal (406) has no body there."""
    if not accept:
        return JSON
    for clause in _clauses(accept):
        for offered, answered in _SWAGGERS:
            if clause.matches(offered):
                return answered
    return None


def wants_aggregated_discovery(accept: str) -> bool:
    return bool(accept) and _negotiated(accept, Endpoint.DISCOVERY, pretty=False) is not None


def _negotiated(accept: str, endpoint: Endpoint, *, pretty: bool) -> Representation | None:
    """Clients send the same few headers over and over: those of usual length are remembered."""
    if not accept:
        return _PRETTY if pretty else _PLAIN
    return (_remembered if len(accept) <= _USUAL_LENGTH else _best)(accept, endpoint, pretty=pretty)


def _best(accept: str, endpoint: Endpoint, *, pretty: bool) -> Representation | None:
    for clause in _clauses(accept):
        for media_type in (JSON, YAML):
            if clause.matches(media_type) and _allowed(clause, media_type, endpoint):
                asked = pretty or clause.parameters.get("pretty") == "1"
                return Representation(media_type, pretty=asked and media_type == JSON, target=_target(clause))
    return None


_remembered = functools.lru_cache(maxsize=512)(_best)


def _allowed(clause: _Clause, media_type: str, endpoint: Endpoint) -> bool:
    stream = clause.parameters.get("stream", "")
    if stream and (stream != "watch" or media_type != JSON):
        return False
    version = clause.parameters.get("sv", "")
    if version and (version != "v1" or endpoint is not Endpoint.OBJECTS):
        return False
    return endpoint.allows(_target(clause))


def _target(clause: _Clause) -> Target | None:
    named = clause.parameters
    if not any(key in named for key in ("as", "g", "v")):
        return None
    return Target(named.get("g", ""), named.get("v", ""), named.get("as", ""))


def wants_pretty(query: str | None, user_agent: str) -> bool:
    """Whether people read the answer: `?pretty=` says so, else the program that asks."""
    if query:
        return query in ("1", "t", "T", "true", "TRUE", "True")
    return user_agent.startswith(_BROWSERS)


# ---------------------------------------------------------------- bodies


_WORD = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_MEDIA_TYPE = re.compile(rf"\s*({_WORD}(?:/{_WORD})?)\s*(?:;|\Z)")
_PARAMETER = re.compile(rf"\s*({_WORD})\s*=\s*(?:{_WORD}|\"(?:[^\"\\]|\\.)*\")\s*(?:;|\Z)")


def body_type(content_type: str, *, custom: bool = False) -> str:
    """JSON, YAML or, but for custom kinds, protobuf; nothing means JSON. Raises ApiError (415)."""
    if not content_type or content_type == JSON:
        return JSON
    found = _media_type(content_type)
    if found is None or found not in ((JSON, YAML) if custom else SUPPORTED):
        raise errors.unsupported_media_type(SUPPORTED)
    return found


def _media_type(content_type: str) -> str | None:
    """The type without its parameters, or None if the header is not well-formed."""
    found = _MEDIA_TYPE.match(content_type)
    if found is None:
        return None
    at, seen = found.end(), set()
    while content_type[at:].strip():
        parameter = _PARAMETER.match(content_type, at)
        if parameter is None or parameter[1].lower() in seen:
            return None
        seen.add(parameter[1].lower())
        at = parameter.end()
    return found[1].lower()


def patch_type(content_type: str, *, custom: bool = False) -> str:
    """Which of PATCHES a patch is. Raises ApiError (415). NB: the router of the built-in kinds is asked first."""
    if not custom:
        _route_patch(content_type)
    supported = CUSTOM_PATCHES if custom else PATCHES
    before, semicolon, _ = content_type.partition(";")
    found = before if semicolon and before else content_type
    if found not in supported:
        raise errors.unsupported_media_type(supported)
    return found


def _route_patch(content_type: str) -> None:
    names = [part.partition(";")[0].strip(" ") for part in content_type.split(",")]
    if not any(name in PATCHES for name in names):
        raise ApiError(Status(415, "UnsupportedMediaType", "415: Unsupported Media Type", Details()))
