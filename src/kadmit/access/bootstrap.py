"""The roles and bindings that are there from the start: cluster-admin, admin, edit, view, discovery, and those of controllers.

The table in data/ says what each holds, a line a rule; this module makes API objects of it.
"""

import importlib.resources
from functools import cache
from typing import Any, TypeAlias

from kadmit.access.rbac import CLUSTER_ROLE, GROUP, ROLE, ROLE_BINDING, Rbac

Json: TypeAlias = dict[str, Any]

_FILE = "bootstrap-1.36.txt"
_LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_ANNOTATIONS = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
_AGGREGATE_TO = "rbac.authorization.k8s.io/aggregate-to-"


def objects() -> list[Json]:
    """New objects, as a client would create them. Roles are in kube-system and kube-public."""
    made: list[Json] = []
    for line in _table().splitlines():
        if line.startswith("#"):
            continue
        if line.startswith(" "):
            made[-1]["rules"] = [*(made[-1]["rules"] or ()), _rule(line.split())]
        else:
            made.append(_object(line.split()))
    return made


@cache
def rbac() -> Rbac:
    """What a cluster allows before anybody adds to it."""
    return Rbac.build(objects())


def _table() -> str:
    return importlib.resources.files("kadmit.access").joinpath("data", _FILE).read_text()


def _object(words: list[str]) -> Json:
    kind, *rest = words
    metadata: Json = {"labels": dict(_LABELS), "annotations": dict(_ANNOTATIONS)}
    if kind in (ROLE, ROLE_BINDING):
        metadata["namespace"], *rest = rest
    metadata["name"], *rest = rest
    made: Json = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata}
    return _role(made, rest) if kind in (ROLE, CLUSTER_ROLE) else _binding(made, rest)


def _role(made: Json, words: list[str]) -> Json:
    """NB: an aggregated role has no rules of its own, which is not the same as an empty list of them."""
    made["rules"] = None
    for word in words:
        direction, _, role = word.partition("=")
        label = {f"{_AGGREGATE_TO}{role}": "true"}
        if direction == "to":
            made["metadata"]["labels"] |= label
        else:
            made["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": label}]}
    return made


def _rule(words: list[str]) -> Json:
    verbs, group, *rest = words
    if group == "url":
        return {"verbs": verbs.split(","), "nonResourceURLs": rest[0].split(",")}
    groups = ["" if g == "core" else g for g in group.split(",")]
    made: Json = {"verbs": verbs.split(","), "apiGroups": groups, "resources": rest[0].split(",")}
    return made | {"resourceNames": rest[1].split(",")} if len(rest) > 1 else made


def _binding(made: Json, words: list[str]) -> Json:
    role, *subjects = words
    kind, _, name = role.partition("=")
    if subjects:
        made["subjects"] = [_subject(s) for s in subjects]
    made["roleRef"] = {"apiGroup": GROUP, "kind": kind, "name": name}
    return made


def _subject(word: str) -> Json:
    kind, _, name = word.partition("=")
    if kind != "ServiceAccount":
        return {"kind": kind, "apiGroup": GROUP, "name": name}
    namespace, _, account = name.partition("/")
    return {"kind": kind, "name": account, "namespace": namespace}
