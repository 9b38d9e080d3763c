"""url(...): texts that are absolute URIs or absolute paths, split and written as Go's net/url does.

Go works on bytes. So a text with other characters than ASCII is taken apart as Latin-1 letters standing for its bytes,
and put together again at the end; bytes that are no UTF-8 (from %ff) become U+FFFD, one each.

kube-apiserver reads the text twice: as a request target, which settles whether it is acceptable, and as a reference,
which splits off the fragment. So the fragment counts as part of the path or query for the errors.
"""

import re
import string

from kadmit.cel import gotext, types
from kadmit.cel.declarations import Example, Function, function, member, plain
from kadmit.cel.library import traversal
from kadmit.cel.library.ip import parse_addr
from kadmit.cel.types import Type
from kadmit.cel.values import CelError, Strings, Value

MAX_PARAMETERS = 10_000  # a query with more is read as empty


class _Part:
    """A part of a URL: which characters stand for themselves in it, the others being escaped."""

    __slots__ = ("as_written", "escapes", "plain")

    def __init__(self, marks: str) -> None:
        kept = string.ascii_letters + string.digits + "-_.~" + marks
        self.plain = re.compile(f"[{re.escape(kept)}]*")
        self.as_written = re.compile(f"[{re.escape(kept + _MARKS_AS_WRITTEN)}]*")
        self.escapes = {i: f"%{i:02X}" for i in range(256) if chr(i) not in kept}


_MARKS_AS_WRITTEN = "!$&'()*+,;=:@[]%"  # need no escape where somebody wrote them without one
_PATH = _Part("$&+,/:;=@")
_FRAGMENT = _Part("$&+,/:;=?@!()*")
_HOST = _Part("!$&'()*+,;=:[]<>\"")
_USER = _Part("$&+,;=")

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PORT = re.compile(r"(?::[0-9]*)?")
_USERINFO = re.compile(r"[a-zA-Z0-9._:~!$&'()*+,;=%@-]*")
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_BYTES = {a + b: chr(int(a + b, 16)) for a in string.hexdigits for b in string.hexdigits}
_SURROGATE = re.compile("[\udc80-\udcff]")
_QUOTED_SURROGATE = re.compile(r"(?<!\\)((?:\\\\)*)\\udc([89a-f][0-9a-f])")
_NO_OVERLOAD = CelError("no such overload")


class _Malformed(Exception):
    pass


class URL:
    """A URL in Go's parts. `user` is the written-out user information; None if there is none."""

    __slots__ = ("force_query", "fragment", "host", "opaque", "path", "query", "raw_path", "scheme", "user")

    cel_type: Type = types.struct("kubernetes.URL")
    go_name = "cel.URL"
    native_name = "URL"
    go_native = "*url.URL"

    def __init__(self) -> None:
        self.scheme = self.opaque = self.path = self.raw_path = self.query = self.fragment = ""
        self.host: str | None = ""  # None: a scheme, and no // before the path
        self.user: str | None = None
        self.force_query = False

    def __str__(self) -> str:
        return _chars(_written(self))

    def __repr__(self) -> str:
        return f"URL({str(self)!r})"

    def equals(self, other: Value) -> Value:
        return _written(self) == _written(other) if other.__class__ is URL else _NO_OVERLOAD


# ---------------------------------------------------------------- bytes and characters


def _bytes(text: str) -> str:
    """One letter a byte."""
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("latin-1")


def _chars(text: str) -> str:
    return text if text.isascii() else _SURROGATE.sub("\ufffd", _decoded(text))


def _decoded(text: str) -> str:
    return text.encode("latin-1").decode("utf-8", "surrogateescape")


def _quoted(text: str) -> str:
    return _quoted_bytes(gotext.quote(_decoded(text)))


def _quoted_bytes(quoted: str) -> str:
    """Within a quoted text, bytes that are no UTF-8 (of a character that was cut) are written as \\xNN."""
    return _QUOTED_SURROGATE.sub(r"\1\\x\2", quoted) if "\\udc" in quoted else quoted


# ---------------------------------------------------------------- percent encoding


def _unescape(text: str) -> str:
    if "%" not in text:
        return text
    bad = _BAD_ESCAPE.search(text)
    if bad is not None:
        raise _Malformed(f"invalid URL escape {_quoted(text[bad.start() : bad.start() + 3])}")
    first, *rest = text.split("%")
    return first + "".join([_BYTES[part[:2]] + part[2:] for part in rest])


def _unescape_host(text: str, *, zone: bool = False) -> str:
    """NB: in a host only bytes beyond ASCII may be escaped, and %25; in a zone also what a host may not hold anyway."""
    if _HOST.plain.fullmatch(text) is not None:
        return text
    for i, char in enumerate(text):
        if char == "%":
            _check_host_escape(text[i : i + 3], zone=zone)
        elif char < "\x80" and ord(char) in _HOST.escapes:
            raise _Malformed(f"invalid character {gotext.quote(char)} in host name")
    return _unescape(text)


def _check_host_escape(escape: str, *, zone: bool) -> None:
    """Raises for an escape that does not belong there, or is none."""
    char = _unescape(escape)
    allowed = char == "%" or ((char == " " or ord(char) not in _HOST.escapes) if zone else char >= "\x80")
    if not allowed:
        raise _Malformed(f"invalid URL escape {gotext.quote(escape)}")


def _escape(text: str, part: _Part) -> str:
    return text if part.plain.fullmatch(text) is not None else text.translate(part.escapes)


def _escaped_as_written(raw: str, text: str, part: _Part) -> str:
    """As it was written, if that is well-formed; else escaped anew."""
    return raw if part.as_written.fullmatch(raw) is not None else _escape(text, part)


# ---------------------------------------------------------------- reading


def problem(text: str) -> str | None:
    """What keeps it from being an absolute URI or an absolute path; None if it is one."""
    target = _request_target(text)
    return target if isinstance(target, str) else None


def _request_target(text: str) -> URL | str:
    try:
        return _parse(_bytes(text), as_request=True)
    except _Malformed as malformed:
        return f"parse {gotext.quote(text)}: {malformed}"


def parse(text: str) -> URL | str:
    """The URL, or the text of the error."""
    target = _request_target(text)
    if isinstance(target, str) or not ("#" in text or text.startswith("//")):
        return target  # both readings agree on everything else
    return _reference(text)


def _reference(text: str) -> URL | str:
    reference, _, fragment = _bytes(text).partition("#")
    shown = reference
    try:
        url = _parse(reference, as_request=False)
        shown = reference + "#" + fragment
        url.fragment = _escaped_as_written(fragment, _unescape(fragment), _FRAGMENT)
    except _Malformed as malformed:
        return f"parse {_quoted(shown)}: {malformed}"
    return url


def _parse(text: str, *, as_request: bool) -> URL:
    if _CONTROL.search(text) is not None:
        raise _Malformed("net/url: invalid control character in URL")
    if not text and as_request:
        raise _Malformed("empty url")
    url = URL()
    if text == "*":
        url.path = "*"
        return url
    rest = _take_query(url, _take_scheme(url, text))
    if not rest.startswith("/"):
        if url.scheme:
            url.opaque = rest
            return url
        _check_relative(rest, as_request=as_request)
    return _parse_hierarchy(url, rest, as_request=as_request)


def _take_scheme(url: URL, text: str) -> str:
    found = _SCHEME.match(text)
    if found is not None:
        url.scheme = found[1].lower()
        return text[found.end() :]
    if text.startswith(":"):
        raise _Malformed("missing protocol scheme")
    return text


def _take_query(url: URL, rest: str) -> str:
    before, mark, url.query = rest.partition("?")
    url.force_query = bool(mark) and not url.query
    return before


def _check_relative(rest: str, *, as_request: bool) -> None:
    if as_request:
        raise _Malformed("invalid URI for request")
    if ":" in rest.partition("/")[0]:
        raise _Malformed("first path segment in URL cannot contain colon")


def _parse_hierarchy(url: URL, rest: str, *, as_request: bool) -> URL:
    has_authority = url.scheme or not (as_request or rest.startswith("///"))
    if has_authority and rest.startswith("//"):
        authority, slash, after = rest[2:].partition("/")
        rest = slash + after
        url.user, url.host = _authority(url.scheme, authority)
    elif url.scheme:
        url.host = None
    url.path = _unescape(rest)
    if rest != _escape(url.path, _PATH):
        url.raw_path = rest
    return url


def _authority(scheme: str, authority: str) -> tuple[str | None, str]:
    user, at, host = authority.rpartition("@")
    host = _host(scheme, host)
    if not at:
        return None, host
    if _USERINFO.fullmatch(user) is None:
        raise _Malformed("net/url: invalid userinfo")
    name, colon, password = user.partition(":")
    return _escape(_unescape(name), _USER) + colon + _escape(_unescape(password), _USER), host


def _host(scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise _Malformed("invalid IP-literal")
    if bracket == 0:
        return _ip_literal(host)
    colon = host.find(":")
    if colon >= 0:
        # NB: only http and https insist on a single colon.
        _check_port(host[colon if scheme in ("http", "https") else host.rfind(":") :])
    return _unescape_host(host)


def _check_port(port: str) -> None:
    if _PORT.fullmatch(port) is None:
        raise _Malformed(f"invalid port {_quoted(port)} after host")


def _ip_literal(host: str) -> str:
    end = host.rfind("]")
    if end < 0:
        raise _Malformed("missing ']' in host")
    _check_port(host[end + 1 :])
    before, percent, zone = host[1:end].partition("%25")
    name = _unescape_host(before) + _unescape_host(percent + zone, zone=True)
    address, _, wrong = parse_addr(_decoded(name))
    if address is None:
        raise _Malformed(f"invalid host: {_quoted_bytes(wrong)}")
    if address.width == 32:
        raise _Malformed("invalid IP-literal")
    return f"[{name}]{host[end + 1 :]}"


# ---------------------------------------------------------------- parts and writing


def _escaped_path(url: URL) -> str:
    if url.raw_path:
        return _escaped_as_written(url.raw_path, url.path, _PATH)
    return "*" if url.path == "*" else _escape(url.path, _PATH)


def _split_host(url: URL) -> tuple[str, str]:
    host, port = url.host or "", ""
    colon = host.rfind(":")
    if colon >= 0 and _PORT.fullmatch(host, colon) is not None:
        host, port = host[:colon], host[colon + 1 :]
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    return host, port


def _written(url: URL) -> str:
    text = url.scheme + ":" if url.scheme else ""
    text += url.opaque or _hierarchy(url, begins=not text)
    if url.force_query or url.query:
        text += "?" + url.query
    return text + "#" + url.fragment if url.fragment else text


def _hierarchy(url: URL, *, begins: bool) -> str:
    text = ""
    if url.host is not None and (url.host or url.user is not None or (url.scheme and url.path)):
        user = "" if url.user is None else url.user + "@"
        text = "//" + user + _escape(url.host, _HOST)
    path = _escaped_path(url)
    if path and path[0] != "/" and url.host:
        text += "/"
    if begins and not text and ":" in path.partition("/")[0]:
        text = "./"
    return text + path


# ---------------------------------------------------------------- functions


def url(text: str) -> Value:
    parsed = parse(text)
    return CelError(f"URL parse error during conversion from string: {parsed}") if isinstance(parsed, str) else parsed


def is_url(text: str) -> Value:
    return problem(text) is None


def scheme(self: URL) -> Value:
    return self.scheme


def host(self: URL) -> Value:
    return _chars(self.host or "")


def hostname(self: URL) -> Value:
    return _chars(_split_host(self)[0])


def port(self: URL) -> Value:
    return _split_host(self)[1]


def escaped_path(self: URL) -> Value:
    return _chars(_escaped_path(self))


def query(self: URL) -> Value:
    """Every key with its values in order. Parts that are malformed, or hold a semicolon, are left out."""
    values: dict[str, Strings] = {}
    if self.query.count("&") >= MAX_PARAMETERS:
        return values
    for part in self.query.split("&"):
        if not part or ";" in part:
            continue
        name, _, value = part.partition("=")
        try:
            key, decoded = _query_text(name), _query_text(value)
        except _Malformed:
            continue
        values.setdefault(key, Strings()).append(decoded)
    return values


def _query_text(text: str) -> str:
    return _chars(_unescape(text.replace("+", " ")))


STRING_LISTS = types.map_of(types.STRING, types.list_of(types.STRING))

FUNCTIONS: tuple[Function, ...] = (
    function(
        "url",
        plain("string_to_url", (types.STRING,), URL.cel_type, url),
        cost=traversal.reading,
        doc="Reads an absolute URI or an absolute path.",
        examples=(
            Example("url('https://example.com:8080/a?b=c').getPort()", "8080"),
            Example(
                "url('../up')", error='URL parse error during conversion from string: parse "../up": invalid URI for request'
            ),
        ),
    ),
    function(
        "isURL",
        # NB: one step, though it reads as much as url(): the price list forgot it.
        plain("is_url_string", (types.STRING,), types.BOOL, is_url),
        doc="Whether url() can read the text.",
        examples=(Example("isURL('/path')", True), Example("isURL('relative')", False)),
    ),
    function(
        "getScheme",
        member("url_get_scheme", URL.cel_type, (), types.STRING, scheme),
        cost=traversal.one_step,
        doc="The scheme in lower case; empty if there is none.",
        examples=(Example("url('HTTPS://example.com').getScheme()", "https"),),
    ),
    function(
        "getHost",
        member("url_get_host", URL.cel_type, (), types.STRING, host),
        cost=traversal.one_step,
        doc="The host with its port; IPv6 addresses keep their brackets.",
        examples=(Example("url('https://[::1]:80/').getHost()", "[::1]:80"),),
    ),
    function(
        "getHostname",
        member("url_get_hostname", URL.cel_type, (), types.STRING, hostname),
        cost=traversal.one_step,
        doc="The host without port and brackets.",
        examples=(Example("url('https://[::1]:80/').getHostname()", "::1"),),
    ),
    function(
        "getPort",
        member("url_get_port", URL.cel_type, (), types.STRING, port),
        cost=traversal.one_step,
        doc="The port; empty if there is none.",
        examples=(Example("url('https://example.com/').getPort()", ""),),
    ),
    function(
        "getEscapedPath",
        member("url_get_escaped_path", URL.cel_type, (), types.STRING, escaped_path),
        cost=traversal.one_step,
        doc="The path, percent-encoded.",
        examples=(Example("url('https://example.com/a b').getEscapedPath()", "/a%20b"),),
    ),
    function(
        "getQuery",
        member("url_get_query", URL.cel_type, (), STRING_LISTS, query),
        cost=traversal.one_step,
        doc="The decoded query: every key with the list of its values.",
        examples=(Example("url('https://example.com/?a=1&a=2&b').getQuery()", {"a": ["1", "2"], "b": [""]}),),
    ),
)
