"""The audit log: a file of one JSON event a line, or standard output.

An event is in the file before its request goes on. Each line is one write to a file opened for appending, so workers can share
it. A file that would grow past its size is renamed after the moment (audit-2026-11-15T15-06-25.325.log), and old ones are
removed by age and number. A worker notices that another has renamed the file, and goes on with the new one.
"""

import fcntl
import os
import re
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

MEGABYTE = 1024 * 1024
STDOUT = "-"

_MOMENT = "%Y-%m-%dT%H-%M-%S"
_DAY_SECONDS = 86_400


class Rotation(Struct, frozen=True):
    """0 is no limit."""

    max_age_days: int = 0
    max_backups: int = 0
    max_size_megabytes: int = 0


class Stdout:
    """A sink for those who collect what programs print."""

    def __init__(self, stream: BinaryIO | None = None) -> None:
        self._stream = stream or sys.stdout.buffer

    def write(self, line: bytes) -> None:
        self._stream.write(line)
        self._stream.flush()

    def close(self) -> None:
        self._stream.flush()


class File:
    """A sink on disk. Raises OSError if the file cannot be opened."""

    def __init__(self, path: Path, rotation: Rotation | None = None, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._rotation = rotation or Rotation()
        self._limit = self._rotation.max_size_megabytes * MEGABYTE
        self._clock = clock
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._descriptor = self._opened()

    def write(self, line: bytes) -> None:
        if self._limit:
            self._follow()
            if os.fstat(self._descriptor).st_size + len(line) > self._limit:
                self._rotate()
        written = os.write(self._descriptor, line)
        while written < len(line):  # a disk that is nearly full
            written += os.write(self._descriptor, line[written:])

    def close(self) -> None:
        os.close(self._descriptor)

    def _opened(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def _reopen(self) -> None:
        os.close(self._descriptor)
        self._descriptor = self._opened()

    def _follow(self) -> None:
        if not self._is_current():
            self._reopen()

    def _is_current(self) -> bool:
        """Whether the path still leads to the file that is open."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._path.stat())
        except FileNotFoundError:
            return False

    def _rotate(self) -> None:
        """NB: of several workers, the one that gets the lock renames the file; the others find it done."""
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        if self._is_current() and os.fstat(self._descriptor).st_size:
            self._path.rename(self._backup_name())
        self._reopen()
        self._remove_old()

    def _backup_name(self) -> Path:
        moment = self._clock()
        while True:
            shown = f"{datetime.fromtimestamp(moment, UTC).strftime(_MOMENT)}.{int(moment % 1 * 1000):03}"
            name = self._path.with_name(f"{self._path.stem}-{shown}{self._path.suffix}")
            if not name.exists():
                return name
            moment += 0.001

    def _remove_old(self) -> None:
        backups = self._backups()
        kept = self._rotation.max_backups or len(backups)
        oldest = self._clock() - self._rotation.max_age_days * _DAY_SECONDS if self._rotation.max_age_days else 0.0
        for position, (moment, path) in enumerate(backups):
            if position >= kept or moment < oldest:
                path.unlink(missing_ok=True)

    def _backups(self) -> list[tuple[float, Path]]:
        """The newest first. Only files whose name we could have given."""
        moment = r"(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)\.(\d{3})"
        pattern = re.compile(f"{re.escape(self._path.stem)}-{moment}{re.escape(self._path.suffix)}")
        found = ((_moment(pattern.fullmatch(path.name)), path) for path in self._path.parent.iterdir())
        return sorted(((moment, path) for moment, path in found if moment is not None), reverse=True)


def _moment(match: re.Match[str] | None) -> float | None:
    try:
        return match and datetime.strptime(match[1], _MOMENT).replace(tzinfo=UTC).timestamp() + int(match[2]) / 1000
    except ValueError:
        return None  # no date


def opened(path: str, rotation: Rotation | None = None) -> File | Stdout:
    """The sink of --audit-log-path. Raises OSError."""
    return Stdout() if path == STDOUT else File(Path(path), rotation)
