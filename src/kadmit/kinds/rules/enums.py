"""Fields that take one of a few values."""

from collections.abc import Iterable, Iterator

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.api.gojson import Named


def one_of(value: str | None, supported: Iterable[str], at: Path) -> Iterator[FieldError]:
    """NB: the order of `supported` is the order in which they are listed."""
    listed = tuple(supported)
    if value is not None and value not in listed:
        yield fields.not_supported(at, Named(value), listed)


def required_one_of(value: str | None, supported: Iterable[str], at: Path) -> Iterator[FieldError]:
    """Where nothing is as good as empty."""
    if value:
        yield from one_of(value, supported, at)
    else:
        yield fields.required(at)
