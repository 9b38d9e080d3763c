"""Names inside objects: of ports, keys, variables, hosts and resources; and what is said of those that are none.

Each check takes a value and its place and gives errors, or, where a kind decides about the place, the bare complaints.
"""

import re
from collections.abc import Iterable, Iterator

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.cel.library import names
from kadmit.kinds import metadata

_ENV_NAME_TEXT = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_CONFIG_KEY, _HTTP_HEADER, _HTTP_PATH = "[-._a-zA-Z0-9]+", "[-A-Za-z0-9]+", r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_LOOSE_LABEL = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_LOOSE_SUBDOMAIN = rf"{_LOOSE_LABEL}(\.{_LOOSE_LABEL})*"

# The same languages, written so that nothing is tried twice.
_IS_CONFIG_KEY = re.compile(f"{_CONFIG_KEY}+")
_IS_HTTP_HEADER = re.compile(f"{_HTTP_HEADER}+")
_IS_HTTP_PATH = re.compile(f"{_HTTP_PATH}+")
_IS_ENV_NAME = re.compile("[ -<>-~]++")
_IS_PORT_NAME = re.compile("[-a-z0-9]++")
_IS_LOOSE_SUBDOMAIN = re.compile(r"(?:_?(?![-_])[-_a-z0-9]+(?<![-_]))(?:\._?(?![-_])[-_a-z0-9]+(?<![-_]))*")
_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_IS_REASON = re.compile(_REASON)
_LETTER = re.compile("[a-z]")
_SEGMENT = r"(?![-_])[-_a-z0-9]++(?<![-_])"
_IS_SYSCTL = re.compile(rf"{_SEGMENT}(?:[./]{_SEGMENT})*+")

SYSCTL_LENGTH = 253
_BAD_SYSCTL = (
    f"must have at most {SYSCTL_LENGTH} characters and match regex "
    r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
)


def complaints(found: Iterable[str], value: str, at: Path) -> Iterator[FieldError]:
    return (fields.invalid(at, value, problem) for problem in found)


def mismatch(message: str, pattern: str, *examples: str) -> str:
    """How Kubernetes says that a text does not match a pattern."""
    if not examples:
        return f"{message} (regex used for validation is '{pattern}')"
    listed = " or ".join(f"'{example}', " for example in examples)
    return f"{message} (e.g. {listed}regex used for validation is '{pattern}')"


def too_long(text: str, limit: int) -> list[str]:
    return [f"must be no more than {limit} characters"] if size(text) > limit else []


def size(text: str) -> int:
    """In bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


# ---------------------------------------------------------------- DNS names


def label(value: str, at: Path) -> Iterator[FieldError]:
    return complaints(names.dns1123_label(value), value, at)


def subdomain(value: str, at: Path) -> Iterator[FieldError]:
    return complaints(names.dns1123_subdomain(value), value, at)


def qualified(value: str, at: Path) -> Iterator[FieldError]:
    """A name with an optional prefix, as the keys of labels are."""
    return complaints(names.label_key(value), value, at)


def path_segment(value: str, at: Path) -> Iterator[FieldError]:
    return complaints(metadata.path_segment(value, False), value, at)


def search_domain(value: str, at: Path) -> Iterator[FieldError]:
    """A domain in which a pod looks names up: underscores are fine, and so is the root."""
    if value == ".":
        return
    name = value.removesuffix(".")
    found = too_long(name, names.SUBDOMAIN_LENGTH)
    if _IS_LOOSE_SUBDOMAIN.fullmatch(name) is None:
        text = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must "
        found.append(mismatch(f"{text}start and end with an alphanumeric character", _LOOSE_SUBDOMAIN, "example.com"))
    yield from complaints(found, name, at)


def host(value: str) -> list[str]:
    """A host of an Ingress, which may begin with a wildcard."""
    if "*" not in value:
        return names.dns1123_subdomain(value)
    found = too_long(value, names.SUBDOMAIN_LENGTH)
    if not value.startswith("*.") or names.dns1123_subdomain(value[2:], unit="") == [names.NOT_A_SUBDOMAIN]:
        text = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
        text += "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
        found.append(mismatch(text, rf"\*\.{_SUBDOMAIN}", "*.example.com"))
    return found


def domain_path(value: str, at: Path) -> Iterator[FieldError]:
    """Such as acme.io/foo."""
    if not value:
        yield fields.required(at)
        return
    domain, _, path = value.partition("/")
    if not domain or not path:
        yield fields.invalid(at, value, 'must be a domain-prefixed path (such as "acme.io/foo")')
        return
    yield from subdomain(domain, at)
    if _IS_HTTP_PATH.fullmatch(path) is None:
        yield fields.invalid(at, path, mismatch("Invalid path", _HTTP_PATH))


# ---------------------------------------------------------------- keys, variables, ports, headers


def config_key(value: str) -> list[str]:
    """A key of a ConfigMap or Secret, which becomes the name of a file."""
    found = too_long(value, names.SUBDOMAIN_LENGTH)
    if _IS_CONFIG_KEY.fullmatch(value) is None:
        text = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        found.append(mismatch(text, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name"))
    if value in (".", ".."):
        found.append(f"must not be '{value}'")
    elif value.startswith(".."):
        found.append("must not start with '..'")
    return found


def variable(value: str) -> list[str]:
    """The name of an environment variable."""
    if not value:
        return ["environment variable name must be non-empty"]
    return [] if _IS_ENV_NAME.fullmatch(value) else [_ENV_NAME_TEXT]


def port(value: str) -> list[str]:
    found = too_long(value, 15)
    if _IS_PORT_NAME.fullmatch(value) is None:
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if _LETTER.search(value) is None:
        found.append("must contain at least one letter (a-z)")
    if "--" in value:
        found.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        found.append("must not begin or end with a hyphen")
    return found


def header(value: str) -> list[str]:
    """The name of an HTTP header."""
    if _IS_HTTP_HEADER.fullmatch(value):
        return []
    return [mismatch("a valid HTTP header must consist of alphanumeric characters or '-'", _HTTP_HEADER, "X-Header-Name")]


def reason(value: str) -> list[str]:
    """Of a condition."""
    if _IS_REASON.fullmatch(value) is not None:
        return []
    begins = "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters"
    text = f"{begins} or '_,:', and must end with an alphanumeric character or '_'"
    return [mismatch(text, _REASON, "my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")]


def sysctl(value: str) -> list[str]:
    return [] if size(value) <= SYSCTL_LENGTH and _IS_SYSCTL.fullmatch(value) else [_BAD_SYSCTL]
