"""Whether an image is pulled each time: yes if its tag is `latest`, or if it has neither tag nor digest.

An image whose name does not parse has no tag, so it is pulled if it is not there. The grammar is that of container registries;
names are read by RE2, since they come from users and may be of any length.
"""

import functools

import re2

ALWAYS = "Always"
IF_NOT_PRESENT = "IfNotPresent"

_CACHED_LENGTH = 512
_MAX_PATH = 255
_DOCKER_HUB = "docker.io"
_OLD_DOCKER_HUB = "index.docker.io"

_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_TAG = r"\w[\w.-]{0,127}"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9A-Fa-f]{32,}"
_REFERENCE = re2.compile(rf"(?:{_HOST}/)?({_COMPONENT}(?:/{_COMPONENT})*)(?::({_TAG}))?(?:@({_DIGEST}))?")
_BARE_DIGEST = re2.compile(r"[a-f0-9]{64}")
_KNOWN_DIGEST = re2.compile(r"sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}")


def pull_policy(image: str) -> str:
    return _cached(image) if len(image) <= _CACHED_LENGTH else _pull_policy(image)


@functools.lru_cache(maxsize=4096)
def _cached(image: str) -> str:
    return _pull_policy(image)


def _pull_policy(image: str) -> str:
    found = _parse(image)
    if found is None:
        return IF_NOT_PRESENT
    tag, digest = found
    return ALWAYS if tag == "latest" or (not tag and not digest) else IF_NOT_PRESENT


def _parse(image: str) -> tuple[str, str] | None:
    """Tag and digest; None if it is no image name."""
    if _BARE_DIGEST.fullmatch(image):
        return None
    domain, rest = _split(image)
    if rest.partition(":")[0] != rest.partition(":")[0].lower():
        return None
    match = _REFERENCE.fullmatch(f"{domain}/{rest}")
    if match is None:
        return None
    path, tag, digest = match.group(1), match.group(2) or "", match.group(3) or ""
    if len(path) > _MAX_PATH or (digest and not _KNOWN_DIGEST.fullmatch(digest)):
        return None
    return tag, digest


def _split(image: str) -> tuple[str, str]:
    """Registry and the rest; names without a registry are those of Docker Hub."""
    domain, slash, rest = image.partition("/")
    if not slash or not _is_registry(domain):
        domain, rest = _DOCKER_HUB, image
    if domain == _OLD_DOCKER_HUB:
        domain = _DOCKER_HUB
    if domain == _DOCKER_HUB and "/" not in rest:
        rest = f"library/{rest}"
    return domain, rest


def _is_registry(domain: str) -> bool:
    return domain == "localhost" or any(mark in domain for mark in ".:") or domain.lower() != domain
