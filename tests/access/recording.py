"""What kube-apiserver v1.36.4 answered to questions about access: recorded/NAME.json holds objects and rows."""

import json
from pathlib import Path
from typing import Any

from kadmit.access import bootstrap
from kadmit.access.rbac import Rbac
from kadmit.cel.library.authorizer import User

ADMIN = User("admin", "admin-uid", ("system:masters", "system:authenticated"))
ALICE = User("alice", "alice-uid", ("developers", "system:authenticated"))
BOB = User("bob", "bob-uid", ("operators", "auditors", "system:authenticated"))


def rows(name: str) -> list[Any]:
    return list(_recorded(name)["rows"])


def cluster(name: str) -> Rbac:
    """NB: no controller ran beside the recorded server, so aggregated roles were empty."""
    return Rbac.build([*bootstrap.objects(), *_recorded(name)["objects"]], aggregates=False)


def _recorded(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(__file__).parent / "recorded" / f"{name}.json").read_text())
    return found
