"""Policies as people write them: flawed ones give exactly the findings that their comments expect, sound ones give none."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kadmit.authoring import checking, manifests
from kadmit.authoring.lint import catalogue
from kadmit.authoring.manifests import File

CORPUS = Path(__file__).parent / "corpus"
FLAWED = sorted((CORPUS / "flawed").glob("*.yaml"))
SOUND = sorted((CORPUS / "sound").glob("*.yaml"))
NOW = datetime(2026, 11, 15, tzinfo=UTC)
_EXPECTED = re.compile(r"^# expect: (KA[0-9]{3}) ([0-9]+)$", re.MULTILINE)


def found(path: Path) -> list[tuple[str, int]]:
    read = manifests.read(File(path.name, path.read_bytes()))
    return [(f.code, f.place.line) for f in checking.check(read, now=NOW).findings]


def expected(path: Path) -> list[tuple[str, int]]:
    return [(code, int(line)) for code, line in _EXPECTED.findall(path.read_text())]


@pytest.mark.parametrize("path", FLAWED, ids=lambda path: path.stem)
def test_what_is_wrong_is_found_where_it_stands(path: Path) -> None:
    assert expected(path)
    assert sorted(found(path)) == sorted(expected(path))


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_what_is_sound_gives_no_finding(path: Path) -> None:
    assert found(path) == []


def test_the_corpus_knows_every_rule() -> None:
    given = {code for path in FLAWED for code, _ in expected(path)}
    assert [rule.code for rule in catalogue.RULES if rule.code not in given] == []
    assert len(FLAWED) >= 40
    assert len(SOUND) >= 40
