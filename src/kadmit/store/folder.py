"""The data folder of a server, and who may use it.

A lock on a file in the folder tells servers apart, and goes with its process however that ends. Alone, a process holds the
lock exclusively. The workers of one server share it: they name the same group, which the first of them writes into
the file, and the lock they share keeps it there. Whoever finds the folder unused prepares what is in it, before anybody else
may look.
"""

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

from kadmit.store.base import Unusable

_PATIENCE_SECONDS = 2.0
_PAUSE_SECONDS = 0.01


class Folder:
    """A folder in use."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    def release(self) -> None:
        os.close(self._lock)


def occupy(path: Path, group: str, prepare: Callable[[], None]) -> Folder:
    """Takes the folder, made where it is missing, alone or together with the group. Raises Unusable, and what `prepare` does."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _take(path, lock, group, prepare)
        return Folder(path, lock)
    except BaseException:
        os.close(lock)
        raise


def _take(path: Path, lock: int, group: str, prepare: Callable[[], None]) -> None:
    """NB: while the first worker prepares, and between its exclusive lock and its shared one, others get neither; they wait."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        if _try(lock, fcntl.LOCK_EX):
            _sign(lock, group)
            prepare()
            if not group or _try(lock, fcntl.LOCK_SH):
                return
        elif group and _try(lock, fcntl.LOCK_SH):
            if _signature(lock)[1] == group:
                return
            raise _in_use(path, lock)
        elif not group or (time.monotonic() > deadline and _signature(lock)[1] != group):
            raise _in_use(path, lock)
        time.sleep(_PAUSE_SECONDS)


def _try(lock: int, how: int) -> bool:
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sign(lock: int, group: str) -> None:
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n{group}".encode(), 0)


def _signature(lock: int) -> tuple[str, str]:
    process, _, group = os.pread(lock, 4096, 0).decode().partition("\n")
    return process, group


def _in_use(path: Path, lock: int) -> Unusable:
    process = _signature(lock)[0]
    return Unusable(
        f"data folder {str(path)!r} is in use by process {process}" if process else f"data folder {str(path)!r} is in use"
    )
