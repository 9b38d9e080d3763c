"""What the operations of JSON patches need to be there, and what of it may be missing.

An operation counts on what is known when it is made, on what operations add before it, and on what the kind always has.
"""

from collections.abc import Iterator

from msgspec import Struct

from kadmit.api.meta import GroupVersionKind
from kadmit.authoring.lint import paths, pointers
from kadmit.authoring.lint.paths import Path
from kadmit.authoring.lint.pointers import HOLE, Pointer
from kadmit.authoring.lint.project import Policy
from kadmit.authoring.lint.reading import Patch
from kadmit.cel.ast import Expr

_MAKING = ("add", "replace", "copy", "move")


class Target(Struct, frozen=True):
    """A path of an operation. `missing_parent`: the first thing on the way that may be missing; `missing`: it or the last one."""

    patch: Patch
    op: str
    node: Expr  # the text of the path
    is_source: bool  # `from`
    kinds: tuple[GroupVersionKind, ...]  # in which something may be missing
    missing_parent: Path | None
    missing: Path | None


def targets(policy: Policy) -> Iterator[Target]:
    """The paths of all operations on which something may be missing."""
    added = set(_added(policy))
    for patch in policy.reading.patches:
        op = patch.value("op")
        name = (pointers.constant(op, patch.frame) if op is not None else None) or ""
        for part in ("path", "from"):
            node = patch.value(part)
            pointer = pointers.of(node, patch.frame) if node is not None else None
            if node is not None and pointer is not None:
                yield from _target(policy, patch, name, node, pointer, added, is_source=part == "from")


def _added(policy: Policy) -> Iterator[tuple[str, ...]]:
    """What operations of the policy make."""
    for patch in policy.reading.patches:
        op, path = patch.value("op"), patch.value("path")
        if op is not None and path is not None and pointers.constant(op, patch.frame) in _MAKING:
            pointer = pointers.of(path, patch.frame)
            if pointer is not None and not pointer.open:
                yield pointer.parts


def _target(
    policy: Policy, patch: Patch, op: str, node: Expr, pointer: Pointer, added: set[tuple[str, ...]], *, is_source: bool
) -> Iterator[Target]:
    by_kind: dict[GroupVersionKind, tuple[Path | None, Path | None]] = {}
    for kind in policy.kinds:
        schema = policy.project.schema_of(kind)
        if schema is None or pointers.wrong(pointer, schema, op) is not None:
            continue
        path = pointer.path(schema)
        first = _first_missing(policy, kind, path[:-1], pointer, patch, added)
        last = first or _first_missing(policy, kind, path, pointer, patch, added)
        if first or last:
            by_kind[kind] = (first, last)
    if by_kind:
        parent = next((first for first, _ in by_kind.values() if first), None)
        whole = next((last for _, last in by_kind.values() if last), None)
        kinds = tuple(kind for kind, (first, _) in by_kind.items() if first or parent is None)
        yield Target(patch, op, node, is_source, kinds, parent, whole)


def _first_missing(
    policy: Policy, kind: GroupVersionKind, path: Path, pointer: Pointer, patch: Patch, added: set[tuple[str, ...]]
) -> Path | None:
    presence = policy.project.presence(kind)
    for length in range(2, len(path) + 1):
        part = path[:length]
        if HOLE in part:
            return None
        made = pointer.parts[: length - 1]
        if made in added and made != pointer.parts:
            return None  # whoever made it knows what is in it
        if presence.may_be_missing(part[1:]) and not paths.is_known(part, patch.known):
            return part
    return None
