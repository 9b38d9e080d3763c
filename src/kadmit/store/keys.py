"""Ranges of keys: everything under a prefix, in the order of UTF-8 bytes, which is also the order of code points."""

_LAST_BEFORE_SURROGATES = "\ud7ff"
_FIRST_AFTER_SURROGATES = "\ue000"
_LAST = "\U0010ffff"


def checked(key: str) -> str:
    """The key, or ValueError: NUL and lone surrogates have no place in text that engines compare as bytes.

    All keys start with a slash, so that an engine can put a prefix of its own before them.
    """
    if not key.startswith("/") or "\0" in key:
        raise ValueError(f"key {key!r} does not start with a slash or holds NUL")
    key.encode()  # refuses lone surrogates; UnicodeEncodeError is a ValueError
    return key


def end_of(prefix: str) -> str | None:
    """The least text greater than all that starts with the prefix; None where there is no end."""
    if prefix and not prefix.startswith("/"):
        raise ValueError(f"prefix {prefix!r} does not start with a slash")
    kept = prefix.rstrip(_LAST)
    if not kept:
        return None
    return kept[:-1] + _following(kept[-1])


def _following(character: str) -> str:
    if character == _LAST_BEFORE_SURROGATES:
        return _FIRST_AFTER_SURROGATES
    return chr(ord(character) + 1)
