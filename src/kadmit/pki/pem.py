"""PEM: the blocks of such a text, and a certificate with its key in it."""

import binascii
import contextlib
import re
from dataclasses import dataclass, field

CERTIFICATE = "CERTIFICATE"

_BLOCK = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----\r?\n((?:[^-\n]*\n)*)-----END \1-----")


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate, perhaps with those that signed it, and its key. NB: a key is never shown."""

    certificate: bytes
    key: bytes = field(repr=False)


def blocks(text: bytes) -> list[tuple[str, bytes]]:
    """What each block says it is, and its content. What is no block, or is no base64, is passed over."""
    found: list[tuple[str, bytes]] = []
    for match in _BLOCK.finditer(text.replace(b"\r\n", b"\n") + b"\n"):
        with contextlib.suppress(binascii.Error):
            found.append((match[1].decode(), binascii.a2b_base64(b"".join(match[2].split()), strict_mode=True)))
    return found
