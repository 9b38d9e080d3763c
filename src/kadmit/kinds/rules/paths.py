"""Paths of files inside volumes and containers: they do not climb out."""

from collections.abc import Iterator

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path


def no_backsteps(value: str, at: Path) -> Iterator[FieldError]:
    if ".." in value.split("/"):
        yield fields.invalid(at, value, "must not contain '..'")


def descending(value: str, at: Path) -> Iterator[FieldError]:
    """A path below the place where it is used."""
    if value.startswith("/"):
        yield fields.invalid(at, value, "must be a relative path")
    yield from no_backsteps(value, at)


def unreserved(value: str, at: Path) -> Iterator[FieldError]:
    """A path that the kubelet may make: names that begin with two dots are its own."""
    yield from descending(value, at)
    if value.startswith("..") and not value.startswith("../"):
        yield fields.invalid(at, value, "must not start with '..'")


def mode(value: int | None, at: Path) -> Iterator[FieldError]:
    """Permissions of a file."""
    if value is not None and not 0 <= value <= 0o777:
        yield fields.invalid(at, value, "must be a number between 0 and 0777 (octal), both inclusive")
