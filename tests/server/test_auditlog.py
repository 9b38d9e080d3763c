"""The file of audit events, and how it is put aside when it has grown."""

import io
import multiprocessing
import os
import stat
from pathlib import Path

import pytest

from kadmit.server import auditlog
from kadmit.server.auditlog import File, Rotation, Stdout

NOW = 1_794_755_185.325  # 2026-11-15T15:06:25.325Z
DAY = 86_400
HALF = b"x" * (auditlog.MEGABYTE // 2 - 1) + b"\n"


class Clock:
    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_lines_are_added_to_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "audit.log"
    for line in (b"one\n", b"two\n"):
        file = File(path)
        file.write(line)
        file.close()
    assert path.read_bytes() == b"one\ntwo\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_line_is_in_the_file_before_anything_else_happens(tmp_path: Path) -> None:
    file = File(tmp_path / "audit.log")
    file.write(b"one\n")
    assert (tmp_path / "audit.log").read_bytes() == b"one\n"
    file.close()


def test_a_dash_is_standard_output() -> None:
    stream = io.BytesIO()
    Stdout(stream).write(b"one\n")
    assert stream.getvalue() == b"one\n"
    assert isinstance(auditlog.opened("-"), Stdout)


def test_a_file_that_would_grow_too_large_is_put_aside(tmp_path: Path) -> None:
    file = File(tmp_path / "audit.log", Rotation(max_size_megabytes=1), Clock())
    for _ in range(3):
        file.write(HALF)
    file.close()
    assert _names(tmp_path) == ["audit-2026-11-15T15-06-25.325.log", "audit.log"]
    assert (tmp_path / "audit.log").read_bytes() == HALF
    assert (tmp_path / "audit-2026-11-15T15-06-25.325.log").read_bytes() == HALF * 2


def test_without_a_size_a_file_grows(tmp_path: Path) -> None:
    file = File(tmp_path / "audit.log")
    for _ in range(3):
        file.write(HALF)
    file.close()
    assert _names(tmp_path) == ["audit.log"]


def test_no_file_put_aside_is_overwritten(tmp_path: Path) -> None:
    file = File(tmp_path / "audit.log", Rotation(max_size_megabytes=1), Clock())
    for _ in range(5):
        file.write(HALF)
    file.close()
    assert _names(tmp_path) == ["audit-2026-11-15T15-06-25.325.log", "audit-2026-11-15T15-06-25.326.log", "audit.log"]


def test_a_line_larger_than_the_limit_is_written_all_the_same(tmp_path: Path) -> None:
    file = File(tmp_path / "audit.log", Rotation(max_size_megabytes=1), Clock())
    file.write(HALF * 3)
    file.write(b"next\n")
    file.close()
    assert (tmp_path / "audit.log").read_bytes() == b"next\n"
    assert len(_names(tmp_path)) == 2


KEPT: list[tuple[Rotation, list[str]]] = [
    (Rotation(max_size_megabytes=1), ["01", "05", "10", "15"]),
    (Rotation(max_size_megabytes=1, max_backups=2), ["10", "15"]),
    (Rotation(max_size_megabytes=1, max_age_days=7), ["10", "15"]),
    (Rotation(max_size_megabytes=1, max_age_days=30, max_backups=3), ["05", "10", "15"]),
]


@pytest.mark.parametrize(("rotation", "days"), KEPT)
def test_old_files_are_removed_by_number_and_age(tmp_path: Path, rotation: Rotation, days: list[str]) -> None:
    for day in ("01", "05", "10"):
        (tmp_path / f"audit-2026-11-{day}T00-00-00.000.log").write_text("old")
    others = ["audit-notes.log", "audit-2026-99-99T00-00-00.000.log", "other-2026-11-01T00-00-00.000.log"]
    for name in others:
        (tmp_path / name).write_text("not ours to remove")
    file = File(tmp_path / "audit.log", rotation, Clock())
    for _ in range(3):
        file.write(HALF)
    file.close()
    assert [name[14:16] for name in _names(tmp_path) if name.startswith("audit-2026-11-")] == days
    assert set(others) <= set(_names(tmp_path))


def test_a_worker_goes_on_with_the_file_that_another_began(tmp_path: Path) -> None:
    path, rotation = tmp_path / "audit.log", Rotation(max_size_megabytes=1)
    one, other = File(path, rotation, Clock()), File(path, rotation, Clock())
    for _ in range(3):
        one.write(HALF)
    other.write(b"other\n")
    assert path.read_bytes() == HALF + b"other\n"
    one.close()
    other.close()


def test_a_file_that_somebody_removed_is_made_again(tmp_path: Path) -> None:
    file = File(tmp_path / "audit.log", Rotation(max_size_megabytes=1))
    (tmp_path / "audit.log").unlink()
    file.write(b"one\n")
    file.close()
    assert (tmp_path / "audit.log").read_bytes() == b"one\n"


def _write_many(path: Path, letter: str) -> None:
    file = File(path, Rotation(max_size_megabytes=1))
    for number in range(200):
        file.write(f"{letter}{number:03}".encode() + letter.encode() * 20_000 + b"\n")
    file.close()


def test_workers_that_share_a_file_lose_no_line(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_write_many, args=(tmp_path / "audit.log", letter)) for letter in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    lines = [line for path in tmp_path.iterdir() for line in path.read_text().splitlines()]
    assert sorted(line[:4] for line in lines) == [f"{letter}{number:03}" for letter in "ab" for number in range(200)]
    assert {len(line) for line in lines} == {20_004}


def test_a_write_that_the_disk_takes_in_parts_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, write = File(tmp_path / "audit.log"), os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:3]))
    file.write(b"a long line\n")
    monkeypatch.undo()
    file.close()
    assert (tmp_path / "audit.log").read_bytes() == b"a long line\n"


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Is a directory"):
        auditlog.opened(str(tmp_path))
