"""Files of certificates: written whole, and changes noticed through links."""

import os
from pathlib import Path

import pytest

from kadmit.pki import files


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a"
    target.write_text("old")

    def _full(_: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", _full)
    with pytest.raises(OSError, match="no space left"):
        files.write(target, b"new", private=True)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_a_file_that_is_replaced_under_its_link_has_another_stamp(tmp_path: Path) -> None:
    link, old, new = tmp_path / "link", tmp_path / "old", tmp_path / "new"
    old.write_text("a")
    new.write_text("b")
    link.symlink_to(old)
    before = files.stamp(link)
    assert before == files.stamp(link) == files.stamp(str(old))
    link.unlink()
    link.symlink_to(new)
    assert files.stamp(link) not in (before, None)


def test_what_is_not_there_has_no_stamp(tmp_path: Path) -> None:
    assert files.stamp(tmp_path / "none") is None
    assert files.stamp("") is None
