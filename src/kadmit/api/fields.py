"""What is wrong with a field: a path, a kind of error, the bad value, and Kubernetes' text for it.

Errors are values, collected in lists, in the order in which Kubernetes finds them.
"""

import enum
from collections.abc import Iterable, Sequence

from msgspec import Struct

from kadmit.api import gojson


class Path(Struct, frozen=True):
    """A place in an object, as errors name it: spec.rules[0].operations, metadata.labels[a]."""

    text: str = ""

    def child(self, *names: str) -> "Path":
        text = self.text
        for name in names:
            text = f"{text}.{name}" if text else name
        return Path(text)

    def index(self, index: int) -> "Path":
        return Path(f"{self.text}[{index}]")

    def key(self, key: str) -> "Path":
        return Path(f"{self.text}[{key}]")

    def __str__(self) -> str:
        return self.text or "<nil>"


def path(*names: str) -> Path:
    return Path().child(*names)


class ErrorType(enum.Enum):
    """The reason of a Status cause, and the words that a message starts with."""

    NOT_FOUND = ("FieldValueNotFound", "Not found")
    REQUIRED = ("FieldValueRequired", "Required value")
    DUPLICATE = ("FieldValueDuplicate", "Duplicate value")
    INVALID = ("FieldValueInvalid", "Invalid value")
    NOT_SUPPORTED = ("FieldValueNotSupported", "Unsupported value")
    FORBIDDEN = ("FieldValueForbidden", "Forbidden")
    TOO_LONG = ("FieldValueTooLong", "Too long")
    TOO_MANY = ("FieldValueTooMany", "Too many")
    TOO_FEW = ("FieldValueTooFew", "Too few")
    INTERNAL = ("InternalError", "Internal error")
    TYPE_INVALID = ("FieldValueTypeInvalid", "Invalid value")
    TOO_SHORT = ("FieldValueTooShort", "Too short")

    def __init__(self, reason: str, words: str) -> None:
        self.reason = reason
        self.words = words


_WITHOUT_VALUE = frozenset({ErrorType.REQUIRED, ErrorType.FORBIDDEN, ErrorType.TOO_LONG, ErrorType.TOO_SHORT, ErrorType.INTERNAL})


class _Omitted:
    __slots__ = ()


OMITTED = _Omitted()  # a bad value that the text must not show


class FieldError(Struct, frozen=True):
    """One error of one field. `value` is plain JSON, or OMITTED."""

    type: ErrorType
    field: str
    value: object = OMITTED
    detail: str = ""

    @property
    def body(self) -> str:
        """The text without the field."""
        shown = self.type.words
        if self.type not in _WITHOUT_VALUE and self.value is not OMITTED:
            shown = f"{shown}: {gojson.display(self.value)}"
        return f"{shown}: {self.detail}" if self.detail else shown

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


def required(at: Path, detail: str = "") -> FieldError:
    return FieldError(ErrorType.REQUIRED, str(at), "", detail)


def invalid(at: Path, value: object, detail: str = "") -> FieldError:
    return FieldError(ErrorType.INVALID, str(at), value, detail)


def type_invalid(at: Path, value: object, detail: str = "") -> FieldError:
    return FieldError(ErrorType.TYPE_INVALID, str(at), value, detail)


def not_found(at: Path, value: object) -> FieldError:
    return FieldError(ErrorType.NOT_FOUND, str(at), value)


def duplicate(at: Path, value: object) -> FieldError:
    return FieldError(ErrorType.DUPLICATE, str(at), value)


def forbidden(at: Path, detail: str = "") -> FieldError:
    return FieldError(ErrorType.FORBIDDEN, str(at), "", detail)


def internal(at: Path, detail: str) -> FieldError:
    return FieldError(ErrorType.INTERNAL, str(at), None, detail)


def not_supported(at: Path, value: object, supported: Iterable[str]) -> FieldError:
    """`supported` in the order in which they are to be listed (Kubernetes mostly sorts them)."""
    listed = ", ".join(gojson.quoted(s) for s in supported)
    return FieldError(ErrorType.NOT_SUPPORTED, str(at), value, f"supported values: {listed}" if listed else "")


def too_long(at: Path, limit: int) -> FieldError:
    unit = "byte" if limit == 1 else "bytes"
    return FieldError(
        ErrorType.TOO_LONG, str(at), OMITTED, f"may not be more than {limit} {unit}" if limit >= 0 else "value is too long"
    )


def too_many(at: Path, count: int, limit: int) -> FieldError:
    unit = "item" if limit == 1 else "items"
    return FieldError(
        ErrorType.TOO_MANY, str(at), count, f"must have at most {limit} {unit}" if limit >= 0 else "has too many items"
    )


def aggregate(texts: Sequence[str]) -> str:
    """Several errors as one text: each once; more than one in brackets."""
    unique = list(dict.fromkeys(texts))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
