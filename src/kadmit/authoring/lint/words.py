"""Names of kinds in sentences."""

from collections.abc import Iterable

from kadmit.api.meta import GroupVersionKind


def kinds_text(kinds: Iterable[GroupVersionKind]) -> str:
    """Deployment, or Deployment and ReplicaSet; with versions where one name stands for several."""
    listed = sorted(set(kinds))
    names = [kind.kind for kind in listed]
    shown = [f"{k.group_version} {k.kind}" if names.count(k.kind) > 1 else k.kind for k in listed]
    return joined(shown)


def joined(names: Iterable[str]) -> str:
    """a, b and c."""
    *first, last = list(names)
    return f"{', '.join(first)} and {last}" if first else last
