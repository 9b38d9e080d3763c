"""format.NAME() and validate: well-known forms of text, and Kubernetes' own words about texts that do not have them."""

import re
from collections.abc import Callable, Sequence
from math import ceil

from kadmit.cel import types
from kadmit.cel.declarations import Example, Function, function, member, plain
from kadmit.cel.library import names, traversal
from kadmit.cel.library import url as urls
from kadmit.cel.library.lists import size_of
from kadmit.cel.types import Type
from kadmit.cel.values import NONE, CelError, Optional, Strings, Value

SINCE = 31

_REGEX_FACTOR = 0.25
_UUID = re.compile(r"[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:[zZ]|[+-][0-9]{2}:[0-9]{2})")  # NB: any character, not a dot
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_NO_OVERLOAD = CelError("no such overload")


class NamedFormat:
    """A format: its name, its check, and the length of a pattern that would be as much work (for the price)."""

    __slots__ = ("check", "name", "pattern_size")

    cel_type: Type = types.struct("kubernetes.NamedFormat")
    go_name = "cel.Format"
    native_name = "Format"
    go_hashable = False

    def __init__(self, name: str, check: Callable[[str], list[str]], pattern_size: int) -> None:
        self.name = name
        self.check = check
        self.pattern_size = pattern_size

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"NamedFormat({self.name!r})"

    def equals(self, other: Value) -> Value:
        return self.name == other.name if other.__class__ is NamedFormat else _NO_OVERLOAD


# ---------------------------------------------------------------- checks


def _as_prefix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    return lambda text: check(names.as_prefix(text))


def _saying(message: str, is_valid: Callable[[str], bool]) -> Callable[[str], list[str]]:
    return lambda text: [] if is_valid(text) else [message]


def _uri(text: str) -> list[str]:
    problem = urls.problem(text)
    return [] if problem is None else [problem]


def _is_uuid(text: str) -> bool:
    return _UUID.fullmatch(text) is not None


def _is_base64(text: str) -> bool:
    return _BASE64.fullmatch(text) is not None


def _is_date(text: str) -> bool:
    found = _DATE.fullmatch(text)
    if found is None:
        return False
    year, month, day = map(int, found.groups())
    if not 1 <= month <= 12:
        return False
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= day <= _DAYS[month - 1] + leap


def _is_datetime(text: str) -> bool:
    """A date, a T, and a time with its zone. NB: whatever follows a second T is not looked at."""
    parts = re.split("[tT]", text, maxsplit=2)
    if len(parts) < 2 or not _is_date(parts[0]):
        return False
    found = _TIME.fullmatch(parts[1])
    return found is not None and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


_DATETIME_SIZE = len("^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$")
_UUID_SIZE = len("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$")

FORMATS: dict[str, NamedFormat] = {
    "dns1123Label": NamedFormat("DNS1123Label", names.dns1123_label, 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", names.dns1123_subdomain, 60),
    "dns1035Label": NamedFormat("DNS1035Label", names.dns1035_label, 30),
    "qualifiedName": NamedFormat("QualifiedName", names.label_key, 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", _as_prefix(names.dns1123_label), 30),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", _as_prefix(names.dns1123_subdomain), 60),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", _as_prefix(names.dns1035_label), 30),
    "labelValue": NamedFormat("LabelValue", names.label_value, 40),
    "uri": NamedFormat("URI", _uri, 1103),
    "uuid": NamedFormat("uuid", _saying("does not match the UUID format", _is_uuid), _UUID_SIZE),
    "byte": NamedFormat("byte", _saying("invalid base64", _is_base64), 84),
    "date": NamedFormat("date", _saying("invalid date", _is_date), _DATETIME_SIZE),
    "datetime": NamedFormat("datetime", _saying("invalid datetime", _is_datetime), _DATETIME_SIZE),
}


# ---------------------------------------------------------------- functions


def validate(self: NamedFormat, text: str) -> Value:
    problems = self.check(text)
    return Optional(Strings(problems)) if problems else NONE


def named(name: str) -> Value:
    found = FORMATS.get(name)
    return NONE if found is None else Optional(found)


def validate_cost(_overload: str, args: Sequence[Value], _result: Value) -> int | None:
    """As matching a regular expression."""
    form = args[0]
    if form.__class__ is not NamedFormat:
        return None
    return traversal.of_size(1 + size_of(args[1])) * ceil(form.pattern_size * _REGEX_FACTOR)


_EXAMPLES: dict[str, Example] = {
    "dns1123Label": Example("format.dns1123Label().validate('a.b').value()", ["must not contain dots"]),
    "dns1123Subdomain": Example("format.dns1123Subdomain().validate('a.b-c.d').hasValue()", False),
    "dns1035Label": Example("format.dns1035Label().validate('1a').hasValue()", True),
    "qualifiedName": Example("format.qualifiedName().validate('/x').value()", ["prefix part must be non-empty"]),
    "dns1123LabelPrefix": Example("format.dns1123LabelPrefix().validate('web-').hasValue()", False),
    "dns1123SubdomainPrefix": Example("format.dns1123SubdomainPrefix().validate('a.b-').hasValue()", False),
    "dns1035LabelPrefix": Example("format.dns1035LabelPrefix().validate('web-').hasValue()", False),
    "labelValue": Example("format.labelValue().validate('').hasValue()", False),
    "uri": Example("format.uri().validate('nope').value()", ['parse "nope": invalid URI for request']),
    "uuid": Example("format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()", False),
    "byte": Example("format.byte().validate('aGVsbG8').value()", ["invalid base64"]),
    "date": Example("format.date().validate('2023-02-29').value()", ["invalid date"]),
    "datetime": Example("format.datetime().validate('2024-01-01T00:00:00Z').hasValue()", False),
}
_DOCS: dict[str, str] = {
    "dns1123Label": "Names of many objects: lower case letters, digits and dashes, up to 63.",
    "dns1123Subdomain": "Names of most objects: labels joined by dots, up to 253 characters.",
    "dns1035Label": "Names of services: as a label, beginning with a letter.",
    "qualifiedName": "Keys of labels and annotations: a name with an optional DNS prefix.",
    "dns1123LabelPrefix": "As dns1123Label, for generateName: a dash may end it.",
    "dns1123SubdomainPrefix": "As dns1123Subdomain, for generateName: a dash may end it.",
    "dns1035LabelPrefix": "As dns1035Label, for generateName: a dash may end it.",
    "labelValue": "Values of labels: empty, or letters, digits, '-', '_' and '.', up to 63.",
    "uri": "An absolute URI or absolute path, as isURL.",
    "uuid": "A UUID, with or without dashes.",
    "byte": "Base64 with padding, not empty.",
    "date": "A date such as 2024-02-29.",
    "datetime": "A date and time with zone such as 2024-02-29T12:00:00Z.",
}


def _constant(name: str) -> Function:
    form = FORMATS[name]
    function_name = f"format.{name}"
    return function(
        function_name,
        plain(function_name, (), NamedFormat.cel_type, lambda: form, since=SINCE),
        doc=_DOCS[name],
        examples=(_EXAMPLES[name],),
    )


FUNCTIONS: tuple[Function, ...] = (
    *map(_constant, FORMATS),
    function(
        "format.named",
        plain("format-named", (types.STRING,), types.optional_of(NamedFormat.cel_type), named, since=SINCE),
        cost=traversal.one_step,
        doc="The format of that name; none if there is no such format.",
        examples=(Example("format.named('dns1123Label').value().validate('X').hasValue()", True),),
    ),
    function(
        "validate",
        member(
            "format-validate",
            NamedFormat.cel_type,
            (types.STRING,),
            types.optional_of(types.list_of(types.STRING)),
            validate,
            since=SINCE,
        ),
        cost=validate_cost,
        doc="What is wrong with the text; none if it has the format.",
        examples=(
            Example("format.labelValue().validate('ok').hasValue()", False),
            Example("format.date().validate('2024-1-1').value()", ["invalid date"]),
        ),
    ),
)
