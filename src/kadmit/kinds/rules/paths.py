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
