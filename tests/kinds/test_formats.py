"""String formats of custom resources: texts that Kubernetes accepts and refuses."""

import json
from pathlib import Path

import pytest

from kadmit.kinds import formats

RECORDED = json.loads(Path(__file__).with_name("formats.json").read_text())
ROWS = [
    (name, text, verdict == "valid")
    for name, verdicts in RECORDED.items()
    for verdict, found in verdicts.items()
    for text in found
]
LONG = [unit * 200_000 for unit in ("1", "a", "-", " ", "a.", '"', "(")]


@pytest.mark.parametrize(("name", "text", "valid"), ROWS)
def test_kubernetes_agrees(name: str, text: str, valid: bool) -> None:
    known = formats.normalised(name)
    assert known is not None
    assert formats.is_valid(known, text) is valid


def test_every_format_is_recorded() -> None:
    assert {formats.normalised(name) for name in RECORDED} == set(formats.NAMES)


def test_an_unknown_format_is_no_check() -> None:
    assert formats.normalised("int32") is None


@pytest.mark.parametrize("name", sorted(formats.NAMES))
@pytest.mark.parametrize("text", LONG, ids=lambda text: text[:2])
def test_long_texts_are_read_once(name: str, text: str) -> None:
    assert formats.is_valid(name, text) in (True, False)
