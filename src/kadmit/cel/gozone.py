"""Time zones as the accessors of timestamps take them: an IANA name or an offset such as `-08:30`.

Zones come from the tzdata package alone, never from the machine, so that one policy has one answer everywhere (as in
kube-apiserver, which carries its zones inside). Names are looked up in a fixed list: no name becomes a path.
"""

from datetime import datetime
from functools import cache, lru_cache
from importlib import resources
from zoneinfo import ZoneInfo

from kadmit.cel import gotext
from kadmit.cel.gotime import MAX_SECONDS, MIN_SECONDS, SECOND
from kadmit.cel.values import INT_MAX, CelError

_MINUTE = 60 * SECOND
_MARGIN = 3 * 86_400  # keeps datetime inside its years when an offset is added
_UTC_NAMES = ("", "UTC", "Local")  # a server's local zone is taken to be UTC


def offset_at(zone: str, nanos: int) -> int | CelError:
    """Seconds east of UTC in this zone at this moment."""
    if ":" in zone:
        return _fixed_offset(zone)
    if zone in _UTC_NAMES:
        return 0
    found = _load(zone)
    return found if found.__class__ is CelError else _zone_offset(found, nanos // SECOND)  # type: ignore[arg-type]


@lru_cache(maxsize=256)
def _fixed_offset(zone: str) -> int | CelError:
    """Hours and minutes as Go's Atoi reads them, without a range: `+5:7` and `99:00` are fine."""
    hour_text, _, minute_text = zone.partition(":")
    hours = gotext.atoi(hour_text)
    minutes = gotext.atoi(minute_text)
    for number in (hours, minutes):
        if isinstance(number, str):
            return CelError(number)
    assert isinstance(hours, int)
    assert isinstance(minutes, int)
    offset = hours * 60 - minutes if zone[0] == "-" else hours * 60 + minutes
    nanos = _wrapped(_wrapped(offset) * _MINUTE)
    whole, rest = divmod(abs(nanos), SECOND)
    return int(float(whole) + float(rest) / 1e9) * (-1 if nanos < 0 else 1)


def _wrapped(number: int) -> int:
    """As a 64-bit number of Go, which wraps around silently."""
    return (number + INT_MAX + 1) % (1 << 64) - INT_MAX - 1


@cache
def _names() -> frozenset[str]:
    return frozenset(resources.files("tzdata").joinpath("zones").read_text("utf-8").split())


@lru_cache(maxsize=1024)
def _load(name: str) -> ZoneInfo | CelError:
    if ".." in name or name[0] in "/\\":
        return CelError("time: invalid location name")
    if name not in _names():
        return CelError(f"unknown time zone {name}")
    with resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def _zone_offset(zone: ZoneInfo, moment: int) -> int:
    clamped = min(max(moment, MIN_SECONDS + _MARGIN), MAX_SECONDS - _MARGIN)
    offset = datetime.fromtimestamp(clamped, zone).utcoffset()
    assert offset is not None
    return offset.days * 86_400 + offset.seconds
