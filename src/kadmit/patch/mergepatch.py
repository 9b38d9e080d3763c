"""JSON Merge Patch (RFC 7386) as Kubernetes applies it.

Only the maps on the way to a change are copied; all else is shared with the document and the patch.

NB: keys come sorted where the patch has been, which shows in the order of complaints about the result.

NB: a null in the patch removes a key. Nulls inside a value that the patch adds are dropped as well, also in the objects of a
list (the elements of lists stay, even null); but a list that replaces a map is taken as it is.
"""

from kadmit.patch import nesting
from kadmit.patch.errors import PatchError, Reason


def apply(document: object, patch: object) -> object:
    """The patched document. Raises PatchError if either is no JSON object or array."""
    if document is None:
        raise PatchError("Invalid JSON Document", reason=Reason.UNDECODABLE)
    if not isinstance(patch, dict | list):
        raise PatchError("Invalid JSON Patch", reason=Reason.UNDECODABLE)
    nesting.check(patch)
    if isinstance(document, dict) and isinstance(patch, dict):
        return _merge(document, patch)
    return _without_nulls(patch)


def _merge(document: dict[str, object], patch: dict[str, object]) -> dict[str, object]:
    """The document itself if the patch changes nothing."""
    merged = document
    for key, value in patch.items():
        if value is None:
            if key not in document:
                continue
            merged = document.copy() if merged is document else merged
            del merged[key]
            continue
        current = document.get(key)
        replacement = _merge_value(current, value)
        if replacement is not current:
            merged = document.copy() if merged is document else merged
            merged[key] = replacement
    return merged if merged is document else dict(sorted(merged.items()))


def _merge_value(current: object, value: object) -> object:
    if not isinstance(current, dict):
        return _without_nulls(value)
    return _merge(current, value) if isinstance(value, dict) else value


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_nulls(child) for key, child in sorted(value.items()) if child is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
