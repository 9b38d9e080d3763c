"""Values in a query, as Kubernetes' conversion of URL parameters reads them: of a repeated one the first counts."""

from collections.abc import Mapping, Sequence

from kadmit.api import errors
from kadmit.cel import gotext

Query = Mapping[str, Sequence[str]]


def text(query: Query, key: str) -> str:
    values = query.get(key)
    return values[0] if values else ""


def flag(query: Query, key: str) -> bool | None:
    """None where there is none. NB: whatever is not false is true."""
    values = query.get(key)
    return is_on(values[0]) if values else None


def is_on(value: str) -> bool:
    return value != "0" and value.lower() != "false"


def integer(query: Query, key: str) -> int | None:
    """Raises ApiError (400)."""
    values = query.get(key)
    if not values:
        return None
    found = gotext.parse_int(values[0])
    if found is None:
        why = "value out of range" if values[0].removeprefix("-").removeprefix("+").isdigit() else "invalid syntax"
        raise errors.bad_request(f"strconv.ParseInt: parsing {gotext.quote(values[0])}: {why}")
    return found
