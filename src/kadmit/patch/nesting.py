"""How deep a patch may nest: far deeper than any kind, far flatter than Python's stack.

Merging and comparing recurse over the patch. A patch is the client's, so its depth is checked once, without recursion,
before anything recurses over it. orjson writes no more than 254 levels, hence no useful object is deeper.
"""

from kadmit.patch.errors import PatchError, Reason

MAX_DEPTH = 200


def check(value: object) -> None:
    """Raise PatchError if value nests deeper than MAX_DEPTH."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [child for node in level for child in _children(node)]
        if not level:
            return
    raise PatchError("exceeded max depth", reason=Reason.UNDECODABLE)


def _children(node: object) -> list[object]:
    """Only the containers: scalars add no depth."""
    if isinstance(node, dict):
        return [child for child in node.values() if isinstance(child, dict | list)]
    if isinstance(node, list):
        return [child for child in node if isinstance(child, dict | list)]
    return []
