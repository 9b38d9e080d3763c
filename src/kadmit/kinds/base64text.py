"""Bytes in objects: base64 as Go's standard encoding reads it, and where it says that a text is wrong."""

import base64
import binascii

_ALPHABET = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_BREAKS = b"\r\n"
_PAD = ord("=")


class Base64Error(ValueError):
    """Not base64; the message is Go's."""


def canonical(text: str) -> str:
    """The same bytes as Kubernetes writes them. Line breaks within the text are skipped. Raises Base64Error."""
    raw = text.encode("utf-8", "replace")
    fault = _fault(raw)
    if fault is not None:
        raise Base64Error(f"illegal base64 data at input byte {fault}")
    return base64.b64encode(binascii.a2b_base64(raw)).decode()


def is_canonical(text: str) -> bool:
    """Whether the text is base64 and just what would be written for it."""
    try:
        return base64.b64encode(binascii.a2b_base64(text, strict_mode=True)).decode() == text
    except (binascii.Error, ValueError):
        return False


def _fault(raw: bytes) -> int | None:
    """The position that Go gives for the first fault."""
    at, end = 0, len(raw)
    filled = 0  # letters of the current group of four
    while at < end:
        byte = raw[at]
        if byte in _ALPHABET:
            filled = (filled + 1) % 4
        elif byte == _PAD:
            return _padding_fault(raw, at, filled)
        elif byte not in _BREAKS:
            return at
        at += 1
    return end - filled if filled else None


def _padding_fault(raw: bytes, at: int, filled: int) -> int | None:
    if filled < 2:
        return at
    after = _skip_breaks(raw, at + 1)
    if filled == 2:
        if after == len(raw):
            return after
        if raw[after] != _PAD:
            return after - 1
        after = _skip_breaks(raw, after + 1)
    return after if after < len(raw) else None


def _skip_breaks(raw: bytes, at: int) -> int:
    while at < len(raw) and raw[at] in _BREAKS:
        at += 1
    return at
