"""Which texts are names, labels and label values to Kubernetes, and what it says of those that are not.

Each check gives the list of its complaints, empty for a good name. Lengths count bytes. NB: DNS names speak of
"characters" and labels of "bytes", both meaning bytes.
"""

import re

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_DNS1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_QUALIFIED})?"

# The same languages, written so that nothing is tried twice.
_IS_LABEL = re.compile(r"(?!-)[-a-z0-9]++(?<!-)")
_IS_SUBDOMAIN = re.compile(r"(?!-)[-a-z0-9]++(?<!-)(?:\.(?!-)[-a-z0-9]++(?<!-))*+")
_IS_DNS1035 = re.compile(r"(?=[a-z])[-a-z0-9]++(?<!-)")
_IS_QUALIFIED = re.compile(r"(?=[A-Za-z0-9])[-A-Za-z0-9_.]++(?<=[A-Za-z0-9])")

LABEL_LENGTH, SUBDOMAIN_LENGTH = 63, 253


def _regex_error(message: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{message} (e.g. {shown}regex used for validation is '{pattern}')"


NOT_A_LABEL = _regex_error(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    "alphanumeric character", _LABEL, "my-name", "123-abc",
)  # fmt: skip
NOT_A_SUBDOMAIN = _regex_error(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end "
    "with an alphanumeric character", _SUBDOMAIN, "example.com",
)  # fmt: skip
NOT_DNS1035 = _regex_error(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end "
    "with an alphanumeric character", _DNS1035, "my-name", "abc-123",
)  # fmt: skip
NOT_QUALIFIED = _regex_error(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    _QUALIFIED, "MyName", "my.name", "123-abc",
)  # fmt: skip
NOT_A_VALUE = _regex_error(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
    "an alphanumeric character", _VALUE, "MyValue", "my_value", "12345",
)  # fmt: skip


def _length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _too_long(text: str, limit: int, unit: str) -> list[str]:
    return [f"must be no more than {limit} {unit}"] if _length(text) > limit else []


def dns1123_label(text: str) -> list[str]:
    problems = _too_long(text, LABEL_LENGTH, "characters")
    if _IS_LABEL.fullmatch(text) is None:
        problems.append(NOT_A_LABEL if _IS_SUBDOMAIN.fullmatch(text) is None else "must not contain dots")
    return problems


def dns1123_subdomain(text: str, *, unit: str = "characters") -> list[str]:
    problems = _too_long(text, SUBDOMAIN_LENGTH, unit)
    if _IS_SUBDOMAIN.fullmatch(text) is None:
        problems.append(NOT_A_SUBDOMAIN)
    return problems


def dns1035_label(text: str) -> list[str]:
    problems = _too_long(text, LABEL_LENGTH, "characters")
    if _IS_DNS1035.fullmatch(text) is None:
        problems.append(NOT_DNS1035)
    return problems


def label_value(text: str) -> list[str]:
    problems = _too_long(text, LABEL_LENGTH, "bytes")
    if text and _IS_QUALIFIED.fullmatch(text) is None:
        problems.append(NOT_A_VALUE)
    return problems


def label_key(text: str) -> list[str]:
    """An optional prefix that is a subdomain, a slash, and a name."""
    parts = text.split("/")
    if len(parts) > 2:
        example = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {NOT_QUALIFIED} {example}"]
    return (_prefix_problems(parts[0]) if len(parts) == 2 else []) + _name_problems(parts[-1])


def _prefix_problems(prefix: str) -> list[str]:
    problems = dns1123_subdomain(prefix, unit="bytes") if prefix else ["must be non-empty"]
    return [f"prefix part {problem}" for problem in problems]


def _name_problems(name: str) -> list[str]:
    problems = _too_long(name, LABEL_LENGTH, "bytes") if name else ["must be non-empty"]
    if _IS_QUALIFIED.fullmatch(name) is None:
        problems.append(NOT_QUALIFIED)
    return [f"name part {problem}" for problem in problems]


def as_prefix(text: str) -> str:
    """What to check of a text that a generated ending will follow: a trailing dash counts as a letter.

    NB: it takes the place of the dash and of the byte before it, so that even `1-` and `.-` pass.
    """
    if len(text) < 2 or text[-1] != "-":
        return text
    return text[:-2] + ("a" if text[-2].isascii() else text[-2])
