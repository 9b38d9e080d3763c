"""What keeps a server from starting, in words that say what to change: the flag, the file or address, and the reason.

Whoever starts a server shows these texts as they are; anything else that is raised is a defect of ours.
"""

import contextlib
import errno
import os
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

MAX_FILE = 16 * 1024 * 1024
"""Bytes of any file that a flag names. More is not what the flag is for."""


class StartupError(Exception):
    """The server cannot start."""


@contextlib.contextmanager
def without_system_roots() -> Iterator[None]:
    """Meanwhile, TLS contexts find no authorities of the system: for imports in a process of ours alone.

    aiohttp makes two contexts for its clients when it is imported, and reads all roots into each, which takes a fifth of a start.
    Nobody here uses them: calls of webhooks bring contexts of their own. Left to themselves, those two trust nobody.
    """
    ssl.SSLContext.set_default_verify_paths = _no_paths  # type: ignore[method-assign]
    try:
        yield
    finally:
        del ssl.SSLContext.set_default_verify_paths


def _no_paths(self: ssl.SSLContext) -> None:
    """In place of the inherited method, which is found again as soon as this is gone."""


def because(error: OSError) -> str:
    """Why the operating system refused, without its number and without the path."""
    return (os.strerror(error.errno) if error.errno else str(error)).lower()


def file_of(flag: str, path: Path) -> bytes:
    """The file that a flag names. Raises StartupError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        raise StartupError(f"--{flag}: cannot read {str(path)!r}: {because(error)}") from None
    if len(data) > MAX_FILE:
        raise StartupError(f"--{flag}: {str(path)!r} is larger than {MAX_FILE} bytes")
    return data


def text_of(flag: str, path: Path) -> str:
    try:
        return file_of(flag, path).decode()
    except UnicodeDecodeError:
        raise StartupError(f"--{flag}: {str(path)!r} is not UTF-8 text") from None


def listener(address: str, port: int, *, shared: bool = False) -> socket.socket:
    """A socket that listens on the address; port 0 is any free one. `shared` lets several workers listen. Raises StartupError."""
    made = _bound(address, port, shared=shared)
    made.listen(socket.SOMAXCONN)
    made.setblocking(False)
    return made


def reserved(address: str, port: int) -> socket.socket:
    """A socket that keeps the port for workers, each of which listens for itself. Raises StartupError."""
    return _bound(address, port, shared=True)


def _bound(address: str, port: int, *, shared: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family is socket.AF_INET6 and address == "::":
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        made.bind((address, port))
    except OSError as error:
        made.close()
        raise StartupError(_cannot_listen(address, port, error)) from None
    return made


def _cannot_listen(address: str, port: int, error: OSError) -> str:
    shown = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    hint = {
        errno.EADDRINUSE: "; stop what listens there, or choose another --secure-port",
        errno.EACCES: "; choose a --secure-port above 1023",
        errno.EADDRNOTAVAIL: "; --bind-address must be an address of this machine",
    }.get(error.errno or 0, "")
    return f"cannot listen on {shown}: {because(error)}{hint}"
