"""Recorded conversations: a case's steps with what kube-apiserver v1.36.4 answered to each."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kadmit.api import yaml

CASES = Path(__file__).parent.parent / "conformance" / "cases"
_STEP = re.compile(r'\["([^"]+)"\]|\[([^=\]]+)=([^\]]+)\]|\[([0-9]+)\]|([^.\[]+)')


def given(case: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = _case(case).get("given", [])
    return found


def steps(case: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each step that was answered, and the answer. NB: a watch is answered where its events are asked for."""
    answered = [step for step in _case(case)["steps"] if "wait" not in step and "watch" not in step]
    expected = json.loads((CASES / f"{case}.expected.json").read_text())["steps"]
    yield from zip(answered, expected, strict=True)


def _case(case: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.load((CASES / f"{case}.yaml").read_bytes()).value
    return found


def picked(value: Any, path: str) -> Any:
    """The part of a document: names, [0], [name=value] and ["a.name"]."""
    for quoted, key, wanted, index, name in _STEP.findall(path):
        if key:
            value = next((item for item in value if str(picked(item, key)) == wanted), None)
        elif index:
            value = value[int(index)]
        else:
            value = (value or {}).get(quoted or name)
    return value


def without(value: Any, dropped: frozenset[str]) -> Any:
    """The document without fields of these names, at any depth."""
    if isinstance(value, dict):
        return {key: without(item, dropped) for key, item in value.items() if key not in dropped}
    return [without(item, dropped) for item in value] if isinstance(value, list) else value
