"""Comparing with a recording as far as the webhook protocol lets a thing through.

A refusal has a frame around its text, audit annotations have other names, calls are noted in the audit log, and metrics of
policies are the webhook's own. All else must be as it was recorded.
"""

import copy
import json
import re
from pathlib import Path
from typing import Any

from tests.conformance import cases, replay

from kadmit.webhook.configuration import DOMAIN
from kadmit.webhook.policies import annotation_name

_FRAME = re.compile(r'admission webhook "[a-z.-]+\.' + re.escape(DOMAIN) + '" denied the request: ')
_OURS = re.compile(r"[a-z-]+\.(?:mutate|validate)\." + re.escape(DOMAIN) + "/(.*)")
_CALLED = re.compile(r"(?:failed-open\.)?(?:mutation|patch|validating)\.webhook\.admission\.k8s\.io/round_\d_index_\d+")


def compared(path: Path, got: Any) -> str | None:
    expected = json.loads(path.with_suffix(".expected.json").read_text())
    found = list(replay.differences(_let_through(expected, recorded=True), _let_through(got, recorded=False)))
    return "\n    ".join([f"{len(found)} differences", *found[: cases.SHOWN]]) if found else None


def _let_through(result: Any, *, recorded: bool) -> Any:
    made = copy.deepcopy(result)
    made["steps"] = [_step(step, recorded=recorded) for step in made.get("steps") or () if "metrics" not in step]
    return made


def _step(step: Any, *, recorded: bool) -> Any:
    for event in step.get("audit") or ():
        event["annotations"] = _annotations(event.get("annotations") or {}, recorded=recorded)
    return step if recorded else _unframed(step)


def _annotations(found: dict[str, str], *, recorded: bool) -> Any:
    """By the names that ours get; where other webhooks are called, only which, and what they did."""
    made: dict[str, str] = {}
    calls = []
    for key, value in found.items():
        ours = _OURS.fullmatch(key)
        if _CALLED.fullmatch(key):
            if DOMAIN not in value:
                calls.append([key.partition("/")[0], value])
        elif ours is not None:
            made[ours[1]] = value
        elif recorded and not key.startswith("authorization.k8s.io/") and not key.startswith("pod-security."):
            made[annotation_name(key)] = value
        else:
            made[key] = value
    return {**made, "calls": sorted(calls)}


def _unframed(value: Any) -> Any:
    if isinstance(value, str):
        return _FRAME.sub("", value)
    if isinstance(value, list):
        return [_unframed(item) for item in value]
    if isinstance(value, dict):
        return {key: _unframed(item) for key, item in value.items()}
    return value
