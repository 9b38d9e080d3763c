"""How deep a patch may nest: far deeper than any kind, far flatter than Python's stack.

Merging and comparing recurse over the patch. A patch is the client's, so its depth is checked once, without recursion,
before anything recurses over it. orjson writes no more than 254 levels, hence no useful object is deeper.
"""

from collections.abc import Iterable
from typing import Final

from kadmit.patch.errors import PatchError, Reason

MAX_DEPTH = 200


def check(value: object) -> None:
    """Raise PatchError if value nests deeper than MAX_DEPTH."""
    level = _containers([value])
    for _ in range(MAX_DEPTH + 1):
        level = [child for node in level for child in _containers(node.values() if isinstance(node, dict) else node)]
        if not level:
            return
    raise PatchError("exceeded max depth", reason=Reason.UNDECODABLE)


def _containers(values: Iterable[object]) -> list[dict[str, object] | list[object]]:
    """Scalars add no depth."""
    return [value for value in values if isinstance(value, _KINDS)]


_KINDS: Final = (dict, list)
