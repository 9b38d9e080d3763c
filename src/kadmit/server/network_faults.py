"""Why a call failed on its way, in the words of Go's net, crypto/tls and net/http."""

import errno
import re
import ssl

import aiohttp

from kadmit.api.gojson import quoted
from kadmit.server.dialing import LookupFailed, Trip, is_address, shown
from kadmit.server.service_resolver import Address, ServiceError
from kadmit.server.tls import handshake_text

DEADLINE = "context deadline exceeded"
_BROKEN = "net/http: HTTP/1.x transport connection broken: "
_GIVEN = re.compile(r"b(['\"])(.*?)\1")
_CODE = re.compile(r"[0-9]{3}\Z")
_MAX_PORT = 65535
_ERRNO_WORDS = {
    errno.ECONNREFUSED: "connection refused",
    errno.ECONNRESET: "connection reset by peer",
    errno.ECONNABORTED: "software caused connection abort",
    errno.EHOSTUNREACH: "no route to host",
    errno.ENETUNREACH: "network is unreachable",
    errno.ETIMEDOUT: "connection timed out",
    errno.EPIPE: "broken pipe",
    errno.EACCES: "permission denied",
    errno.EPERM: "operation not permitted",
    errno.EINVAL: "invalid argument",
    errno.EADDRNOTAVAIL: "cannot assign requested address",
    errno.EMFILE: "too many open files",
    errno.ENFILE: "too many open files in system",
}
_WHILE_TALKING = (errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED)


def sending(error: Exception, trip: Trip, address: Address) -> str:
    """Why no answer came; `address` is what the URL names, for errors that come before anything was resolved."""
    if isinstance(error, ServiceError | LookupFailed):
        return str(error)
    if isinstance(error, ssl.SSLError) or "[SSL" in str(error):
        return handshake_text(str(error))
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return error.message
    if isinstance(error, aiohttp.ClientConnectorError):
        return _connecting(error.os_error, trip, address, proxy=isinstance(error, aiohttp.ClientProxyConnectionError))
    if isinstance(error, OSError):
        return _talking(error.errno, trip, trip.dialled or address)
    if isinstance(error, aiohttp.ClientResponseError):
        return _BROKEN + _malformed(error.message)
    if isinstance(error, ValueError):
        return "net/http: invalid header field value"
    partly = isinstance(error, aiohttp.ServerDisconnectedError) and not isinstance(error.message, str)
    return "unexpected EOF" if partly else "EOF"


def unreachable(host: str, port: str) -> str | None:
    """Why nobody could even try to dial this, if so. NB: what is made of numbers alone is no name to look up."""
    if int(port or 0) > _MAX_PORT:
        return f"dial tcp: address {port}: invalid port"
    if not is_address(host) and not any(c.isalpha() or c == "_" for c in host):
        return f"dial tcp: lookup {host}: no such host"
    return None


def _connecting(error: OSError, trip: Trip, address: Address, *, proxy: bool) -> str:
    if error.errno is None or error.errno in _WHILE_TALKING:
        return _talking(error.errno, trip, trip.dialled or address)
    stage = "proxyconnect tcp: dial" if proxy else "dial"
    return f"{stage} tcp {shown(trip.dialled or address)}: connect: {_words(error.errno)}"


def _talking(code: int | None, trip: Trip, address: Address) -> str:
    """NB: without a number it is Python's own word for a peer that went away."""
    if code is None:
        return "EOF"
    verb = "write" if code == errno.EPIPE else "read"
    return f"{verb} tcp {shown(trip.local)}->{shown(trip.remote or address)}: {verb}: {_words(code)}"


def _words(code: int) -> str:
    return _ERRNO_WORDS.get(code) or f"errno {code}"


def _malformed(message: str) -> str:
    """The parser's complaint shows the line; Go shows the part of it that it minds."""
    found = _GIVEN.search(message)
    line = found[2] if found else ""
    words = line.split(maxsplit=2)
    if "status code" in message or (len(words) > 1 and words[0].startswith("HTTP/") and not _CODE.match(words[1])):
        return f"malformed HTTP status code {quoted(words[1])}"
    if "header token" in message:
        return f"malformed MIME header: missing colon: {quoted(line)}"
    if "Content-Length" in message:
        return f"bad Content-Length {quoted(line.partition(':')[2].strip())}"
    return f"malformed HTTP response {quoted(line)}"


def breaks_body(error: Exception) -> bool:
    """Whether it is the body that cannot be read, though it came together with the head."""
    return isinstance(error, aiohttp.ClientResponseError) and "chunk size" in error.message


def reading(error: Exception) -> str:
    """Why an answer broke off."""
    if isinstance(error, OSError) and error.errno in _ERRNO_WORDS:
        return f"read: {_words(error.errno)}"
    return "invalid byte in chunk length" if "chunk size" in str(error).lower() else "unexpected EOF"
