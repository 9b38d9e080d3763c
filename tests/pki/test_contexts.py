"""Certificates on their way into a TLS context."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kadmit.pki import contexts, issuing
from kadmit.pki.pem import Pair

DAY = timedelta(days=1)


@pytest.fixture(params=["memory", "file"])
def where(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Systems have files in memory, or have not."""
    found = str(request.param)
    if found == "file":
        monkeypatch.delattr(os, "memfd_create", raising=False)
    elif not hasattr(os, "memfd_create"):
        pytest.skip("this system has no files in memory")
    return found


def test_a_text_is_a_file_for_a_moment(where: str) -> None:
    with contexts.as_file(b"content") as path:
        assert path.startswith("/proc/self/fd/") == (where == "memory")
        assert Path(path).read_bytes() == b"content"
    assert not Path(path).exists()


def test_a_pair_is_loaded(where: str) -> None:
    context = contexts.serving()
    contexts.load(context, issuing.authority(issuing.unheard_of(where), datetime.now(UTC), DAY).pair)


def test_a_key_is_never_shown() -> None:
    assert repr(Pair(b"certificate", b"secret")) == "Pair(certificate=b'certificate')"
