"""How long ago something was, in few characters: 5s, 3m20s, 2d4h, 3y12d. Now is always an argument."""

from datetime import UTC, datetime

UNKNOWN = "<unknown>"
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


def seconds(timestamp: str) -> float | None:
    """Seconds since 1970 of a time as objects have it; None if it is not a time."""
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def since(timestamp: str | None, now: float) -> str:
    """The time that passed since then; <unknown> if nothing is known."""
    moment = seconds(timestamp) if timestamp else None
    return UNKNOWN if moment is None else human(now - moment)


def human(duration: float) -> str:
    """Two or three digits of it. A future of less than two seconds is now: clocks differ."""
    whole = int(duration)
    if whole < 0:
        return "0s" if whole == -1 else "<invalid>"
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 10 * _MINUTE:
        return _two(whole, _MINUTE, "m", 1, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _two(whole, _HOUR, "h", _MINUTE, "m")
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _two(whole, _DAY, "d", _HOUR, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    return _two(whole, _YEAR, "y", _DAY, "d") if whole < 8 * _YEAR else f"{whole // _YEAR}y"


def _two(whole: int, large: int, large_name: str, small: int, small_name: str) -> str:
    rest = whole % large // small
    return f"{whole // large}{large_name}" + (f"{rest}{small_name}" if rest else "")
