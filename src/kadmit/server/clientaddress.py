"""Where a request came from, as the audit trail tells it: what proxies say, and then who connected.

Only the last address can be trusted; the others are what the client sent.
"""

import ipaddress
import re
from collections.abc import Mapping

_LEADING_ZEROS = re.compile(r"(?<![0-9a-fA-F:])0+(?=[0-9])")
MAX_FORWARDED = 64  # addresses of X-Forwarded-For that are read


def source_ips(headers: Mapping[str, str], remote: str | None) -> tuple[str, ...]:
    """X-Forwarded-For, X-Real-Ip unless it is among them, and the peer unless it is the last of them."""
    forwarded = (headers.get("X-Forwarded-For") or "").split(",", MAX_FORWARDED)[:MAX_FORWARDED]
    found = [ip for ip in map(_parsed, forwarded) if ip]
    real = _parsed(headers.get("X-Real-Ip") or "")
    if real and real not in found:
        found.append(real)
    peer = _parsed(remote or "")
    if peer and found[-1:] != [peer]:
        found.append(peer)
    return tuple(found)


def _parsed(text: str) -> str:
    """The address as Go prints it, or nothing. Zeros in front of decimal numbers do not matter."""
    address = text.strip()
    if "%" in address:
        return ""
    try:
        ip = ipaddress.ip_address(_LEADING_ZEROS.sub("", address) if ":" not in address else address)
    except ValueError:
        return ""
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return str(mapped or ip)
