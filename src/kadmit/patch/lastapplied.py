"""The annotation in which `kubectl apply` keeps what it applied last, before servers did.

Who moves from there to server-side apply must not conflict with himself: as long as the manager is `kubectl`, what the
annotation says and the object still has may be taken over, and the annotation is kept up to date for the way back.
"""

import json
from collections.abc import Mapping

from kadmit.patch import values
from kadmit.patch.compare import compare
from kadmit.patch.fieldpath import EMPTY, Set
from kadmit.patch.shapes import Shape
from kadmit.patch.typed import MergeError, Object, to_field_set, validate

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
MANAGER = "kubectl"
_LARGEST_ANNOTATIONS = 256 * 1024


def annotation_of(value: Mapping[str, object]) -> str:
    found = _annotations(value).get(ANNOTATION)
    return found if isinstance(found, str) else ""


def _annotations(value: Mapping[str, object]) -> dict[str, object]:
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(annotations, dict):
        return {}
    return {name: "" if text is None else text for name, text in annotations.items()}  # They are texts: null is the empty one.


def owned_by_client(live: Object, shape: Shape, api_version: str) -> Set:
    """What client-side apply owns of a live object: what it applied last, where that is still so."""
    try:
        last = json.loads(annotation_of(live) or "null")
        if not isinstance(last, dict) or last.get("apiVersion") != api_version:
            return EMPTY
        validate(shape, last)
        validate(shape, live)
        since = compare(shape, last, live)
        return to_field_set(shape, last) - since.modified - since.added - since.removed
    except (ValueError, RecursionError, MergeError):
        return EMPTY


def with_last_applied(value: Object, applied: Object) -> Object:
    """The object with the annotation saying what was applied; without it, if annotations would become too large."""
    annotations = {**_annotations(value), ANNOTATION: _encoded(applied)}
    size = sum(len(name.encode()) + len(str(text).encode()) for name, text in annotations.items())
    if size > _LARGEST_ANNOTATIONS:
        del annotations[ANNOTATION]
    return _with_annotations(value, annotations)


def _with_annotations(value: Object, annotations: Mapping[str, object]) -> Object:
    metadata = value.get("metadata")
    return {**value, "metadata": {**(metadata if isinstance(metadata, dict) else {}), "annotations": dict(annotations)}}


def _encoded(applied: Object) -> str:
    """As Kubernetes writes it: sorted, compact, safe in HTML, and with a line end."""
    annotations = _annotations(applied)
    if annotations:
        applied = _with_annotations(applied, {name: text for name, text in annotations.items() if name != ANNOTATION})
    return values.json_text(applied) + "\n"
