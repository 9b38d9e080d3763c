"""What failed last time, kept where caches are kept: one file for each folder that suites are run in."""

import json
import os
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def _file() -> Path:
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(caches).expanduser() / "kadmit" / "last-failed" / f"{zlib.crc32(os.fsencode(Path.cwd())):08x}.json"


def failed() -> list[str]:
    """Ids of cases; none where nothing failed or nothing is remembered of this folder."""
    try:
        found = json.loads(_file().read_bytes())
        return [str(name) for name in found["failed"]] if found["folder"] == str(Path.cwd()) else []
    except (OSError, ValueError, RuntimeError, LookupError, TypeError):
        return []


def remember(bad: Iterable[str], run: Iterable[str]) -> None:
    """Those that failed now, and those that failed before and were not run now. NB: without a cache nothing is remembered."""
    seen = set(run)
    listed = [*(name for name in failed() if name not in seen), *bad]
    with suppress(OSError, RuntimeError):
        file = _file()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"folder": str(Path.cwd()), "failed": listed}))
