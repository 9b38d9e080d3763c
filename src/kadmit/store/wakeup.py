"""Waking other processes after a commit: a small file that a writer touches and that all others have inotify watch.

The file holds the latest revision, so a process that is woken by its own write need not ask the database.
NB: SQLite's own -wal file would not do. With synchronous=FULL it is last written *before* the sync that makes a commit
visible, so whoever wakes by it looks too early. And a writer that is killed between its commit and its announcement
wakes nobody: listeners also look by themselves now and then.
"""

import asyncio
import ctypes
import os
import sys
from collections.abc import Callable
from pathlib import Path

_IN_MODIFY = 0x2
_SIZE = 8


class Announcements:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._inotify = -1

    def announce(self, revision: int) -> None:
        """NB: only while nobody else can commit, so that the number in the file never falls."""
        os.pwrite(self._file, revision.to_bytes(_SIZE, "little"), 0)

    def latest(self) -> int:
        return int.from_bytes(os.pread(self._file, _SIZE, 0), "little")

    def listen(self, callback: Callable[[], None]) -> bool:
        """Calls back in the running loop whenever somebody announces; False where the system cannot do that."""
        self._inotify = _watching(self._path)
        if self._inotify < 0:
            return False
        asyncio.get_running_loop().add_reader(self._inotify, self._heard, callback)
        return True

    def close(self) -> None:
        if self._inotify >= 0:
            asyncio.get_running_loop().remove_reader(self._inotify)
            os.close(self._inotify)
        os.close(self._file)

    def _heard(self, callback: Callable[[], None]) -> None:
        os.read(self._inotify, 4096)
        callback()


def _watching(path: Path) -> int:
    """A descriptor that becomes readable when the file is written; -1 where there is no inotify, or none left."""
    if not sys.platform.startswith("linux"):
        return -1
    libc = ctypes.CDLL(None)
    descriptor = int(libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
    if descriptor >= 0 and libc.inotify_add_watch(descriptor, os.fsencode(path), _IN_MODIFY) < 0:
        os.close(descriptor)
        return -1
    return descriptor
