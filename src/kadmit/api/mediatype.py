"""Content types as Go's mime package reads them: which media type a header names, and what is wrong with one that names none.

Parameters are read for their mistakes only; nobody asks for their values.
"""

import re

_LETTER = r"[!#$%&'*+\-.^_`{|}~0-9A-Za-z]"
_MEDIA = re.compile(f"({_LETTER}*)(/?)({_LETTER}*)")
_PARAMETER = re.compile(rf'\s*;\s*({_LETTER}+)\s*=\s*(?:({_LETTER}+)|"((?:[^"\\\r\n]|\\[^\r\n])*)")')
_LAST_SEMICOLON = re.compile(r"\s*;?\s*\Z")


class MediaTypeError(ValueError):
    """The message is Go's."""


def media_type(header: str) -> str:
    """The media type in small letters, without its parameters. Raises MediaTypeError."""
    named = header.partition(";")[0]
    media = named.strip().lower()
    _check_media(media)
    _check_parameters(header[len(named) :])
    return media


def _check_media(media: str) -> None:
    """One token alone is a media type too."""
    found = _MEDIA.match(media)
    assert found is not None
    kind, slash, subtype = found.groups()
    if not kind:
        raise MediaTypeError("mime: no media type")
    if kind == media:
        return
    if not slash:
        raise MediaTypeError("mime: expected slash after first token")
    if not subtype:
        raise MediaTypeError("mime: expected token after slash")
    if found.end() < len(media):
        raise MediaTypeError("mime: unexpected content after media subtype")


def _check_parameters(text: str) -> None:
    """A parameter may come twice if it says the same; a semicolon may end the list."""
    values: dict[str, str] = {}
    position = 0
    while not _LAST_SEMICOLON.match(text, position):
        found = _PARAMETER.match(text, position)
        if found is None:
            raise MediaTypeError("mime: invalid media parameter")
        name, plain, in_quotes = found.groups()
        value = in_quotes if plain is None else plain
        if values.setdefault(name.lower(), value) != value:
            raise MediaTypeError("mime: duplicate parameter name")
        position = found.end()
