"""How the text of a flag becomes a value. A reader takes all texts that were given for a flag (of most, the last counts) and
raises ValueError with the reason, which follows the flag's name in the error."""

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from msgspec import Struct, field

from kadmit.cel import gotext, gotime
from kadmit.cel.values import Duration

Texts = Sequence[str]
Value = TypeVar("Value")
Reader = Callable[[Texts], Value]

_GATE = re.compile(r"(?:kube:)?([A-Za-z][A-Za-z0-9]*)\Z")
_SERVICE = re.compile(r"[a-z0-9-]+/[a-z0-9-]+(:[0-9]{1,5})?\Z")
_HOST_PORT = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+):([0-9]{1,5})\Z")

CLUSTER_IP, ENDPOINTS, NONE = "cluster-ip", "endpoints", "none"


class ServiceRouting(Struct, frozen=True):
    """How webhooks that name a service are reached. `addresses` go first: host and port of namespace/name, or of
    namespace/name:port."""

    mode: str = CLUSTER_IP
    addresses: Mapping[str, tuple[str, int]] = field(default_factory=dict)


def text(texts: Texts) -> str:
    return texts[-1]


def path(texts: Texts) -> Path | None:
    """NB: an empty path is none, as for kube-apiserver."""
    return Path(texts[-1]).expanduser() if texts[-1] else None


def folder(texts: Texts) -> Path:
    if not texts[-1]:
        raise ValueError("must not be empty")
    return Path(texts[-1]).expanduser()


def boolean(texts: Texts) -> bool:
    found = gotext.parse_bool(texts[-1])
    if found is None:
        raise ValueError("must be true or false")
    return found


def number(least: int, most: int = 2**31 - 1) -> Reader[int]:
    def read(texts: Texts) -> int:
        found = gotext.parse_int(texts[-1])
        if found is None:
            raise ValueError("must be a whole number")
        if not least <= found <= most:
            raise ValueError(f"must be from {least} to {most}")
        return found

    return read


def not_negative(texts: Texts) -> int:
    found = gotext.parse_int(texts[-1])
    if found is None:
        raise ValueError("must be a whole number")
    if found < 0:
        raise ValueError("can't be a negative number")
    return found


def seconds(texts: Texts) -> float:
    """A duration such as 1m30s."""
    found = gotime.parse_duration(texts[-1])
    if not isinstance(found, Duration):
        raise ValueError("must be a duration such as 30s or 1m30s")
    if found.nanos < 0:
        raise ValueError("can not be negative value")
    return gotime.seconds(found)


def address(texts: Texts) -> str:
    try:
        return str(ipaddress.ip_address(texts[-1]))
    except ValueError:
        raise ValueError("must be an IP address") from None


def optional_address(texts: Texts) -> str:
    return address(texts) if texts[-1] else ""


def one_of(*choices: str) -> Reader[str]:
    def read(texts: Texts) -> str:
        if texts[-1] not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return texts[-1]

    return read


def items(texts: Texts) -> tuple[str, ...]:
    """Comma-separated; a flag given again adds to the list."""
    return tuple(part.strip() for given in texts for part in given.split(",") if part.strip())


def joined(texts: Texts) -> str:
    return ",".join(items(texts))


def ranges(texts: Texts) -> str:
    """One network, or one of each family."""
    found = [_network(part) for part in items(texts)]
    if not 1 <= len(found) <= 2:
        raise ValueError("must be one network, or two")
    if len({network.version for network in found}) != len(found):
        raise ValueError("two networks must be of different families")
    if any(network.num_addresses < 8 for network in found):
        raise ValueError("must have room for at least 8 addresses")
    return ",".join(str(network) for network in found)


def _network(part: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(part, strict=False) if "/" in part else _refuse_network(part)
    except ValueError:
        return _refuse_network(part)


def _refuse_network(part: str) -> ipaddress.IPv4Network:
    raise ValueError(f"{part!r} is not a network such as 10.0.0.0/24") from None


def servers(texts: Texts) -> tuple[str, ...]:
    """URLs of etcd servers."""
    found = items(texts)
    for url in found:
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
            raise ValueError(f"{url!r} is not a URL such as https://127.0.0.1:2379")
    return found


def gates(texts: Texts) -> Mapping[str, bool]:
    found: dict[str, bool] = {}
    for part in items(texts):
        name, equals, value = part.partition("=")
        known, on = _GATE.match(name.strip()), gotext.parse_bool(value.strip())
        if not equals or known is None:
            raise ValueError(f"missing bool value for {part}" if known else f"{part!r} is not of the form Name=true")
        if on is None:
            raise ValueError(f"invalid value of {name}={value}, must be true or false")
        found[known[1]] = on
    return found


def services(texts: Texts) -> ServiceRouting:
    mode, addresses = CLUSTER_IP, dict[str, tuple[str, int]]()
    for part in items(texts):
        service, equals, target = part.partition("=")
        if not equals and part in (CLUSTER_IP, ENDPOINTS, NONE):
            mode = part
        elif equals and _SERVICE.match(service):
            addresses[service] = _host_port(target)
        else:
            raise ValueError(
                f"{part!r} is neither {CLUSTER_IP}, {ENDPOINTS} nor {NONE}, nor of the form namespace/name=host:port"
            )
    return ServiceRouting(mode, addresses)


def _host_port(target: str) -> tuple[str, int]:
    found = _HOST_PORT.match(target)
    if found is None or not 0 < int(found[2]) < 65536:
        raise ValueError(f"{target!r} is not of the form host:port")
    return found[1].strip("[]"), int(found[2])
