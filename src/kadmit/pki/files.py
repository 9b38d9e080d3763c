"""Files of certificates and keys: written whole or not at all, keys readable by their owner only, changes noticed cheaply."""

import contextlib
import os
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from kadmit.pki.pem import Pair

Stamp: TypeAlias = tuple[int, int, int]

_PUBLIC, _PRIVATE = 0o644, 0o600


class Files(Struct, frozen=True):
    """Where a certificate and its key are."""

    certificate: Path
    key: Path

    @classmethod
    def named(cls, folder: Path, name: str) -> "Files":
        return cls(folder / f"{name}.crt", folder / f"{name}.key")

    def write(self, pair: Pair) -> None:
        """The key first: whoever finds the two apart goes on with what it has, and looks again. Raises OSError."""
        write(self.key, pair.key, private=True)
        write(self.certificate, pair.certificate, private=False)


def write(path: Path, data: bytes, *, private: bool) -> None:
    """All of it or nothing, and never readable by more people than it should be. Raises OSError."""
    unfinished = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE if private else _PUBLIC)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise


def stamp(path: str | Path) -> Stamp | None:
    """Another one as soon as the file is another; None while there is no such file."""
    try:
        found = os.stat(path)  # noqa: PTH116 - links are followed: mounted secrets change by their links
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
