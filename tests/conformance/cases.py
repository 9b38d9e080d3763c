"""The recorded cases: where they are, and how one is compared.

Those in cases/ are the specification. Those in own/ were recorded later, of the same server, where Kadmit had been wrong or
nothing was known; their areas are called own/AREA.
"""

import copy
import json
from pathlib import Path
from typing import Any

import yaml
from tests.conformance import replay

CASES = Path(__file__).parent / "cases"
OWN = CASES.with_name("own")
SHOWN = 6  # differences of a case that a failure shows


def areas() -> list[str]:
    return sorted(p.name for p in CASES.iterdir() if p.is_dir())


def own_areas() -> list[str]:
    return sorted(f"{OWN.name}/{p.name}" for p in OWN.iterdir() if p.is_dir())


def of_area(area: str, *, needs: str = "") -> list[Path]:
    """Those for an ordinary server, or those that need a special one."""
    folder = OWN.parent / area if area in own_areas() else CASES / area
    return [p for p in sorted(folder.glob("*.yaml")) if (_needs(p) or "") == needs]


def _needs(path: Path) -> str | None:
    found: Any = yaml.load(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    needs: str | None = found.get("needs")
    return needs


def name(path: Path) -> str:
    return f"{path.parent.relative_to(CASES if CASES in path.parents else OWN.parent)}/{path.stem}"


def compared(path: Path, got: Any, *, without: str = "") -> str | None:
    """What differs from the recording, but for audit annotations that begin with `without`."""
    expected = json.loads(path.with_suffix(".expected.json").read_text())
    if without:
        expected, got = _stripped(expected, without), _stripped(got, without)
    found = list(replay.differences(expected, got))
    return "\n    ".join([f"{len(found)} differences", *found[:SHOWN]]) if found else None


def _stripped(result: Any, prefix: str) -> Any:
    made = copy.deepcopy(result)
    for step in made.get("steps") or ():
        for event in step.get("audit") or ():
            event["annotations"] = {k: v for k, v in (event.get("annotations") or {}).items() if not k.startswith(prefix)}
    return made
