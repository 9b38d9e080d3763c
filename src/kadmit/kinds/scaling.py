"""The scale subresource: two numbers of an object, shown and written as autoscaling/v1 Scale."""

from typing import Any

from kadmit.api import errors
from kadmit.kinds.catalog import Resource
from kadmit.kinds.known import Known

Json = dict[str, Any]


def scale_of(resource: Resource, value: Json, known: Known) -> Json:
    """An object's Scale."""
    metadata = value.get("metadata") or {}
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    made: Json = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {k: metadata[k] for k in kept if k in metadata},
        "spec": {},
        "status": {"replicas": 0},
    }
    spec_path, status_path, selector_path = _paths(resource, known)
    replicas = _at(value, spec_path)
    if replicas is None and resource.custom:
        raise errors.internal(f'the spec replicas field ".{".".join(spec_path)}" does not exist')
    if replicas:
        made["spec"]["replicas"] = replicas
    made["status"]["replicas"] = _at(value, status_path) or 0
    selector = _at(value, selector_path) if selector_path else None
    text = selector if isinstance(selector, str) else _selector_text(selector)
    if text:
        made["status"]["selector"] = text
    return made


def with_scale(resource: Resource, value: Json, scale: Json, known: Known) -> Json:
    """The object with the replicas of a Scale."""
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    path, _, _ = _paths(resource, known)
    made: Json = _with(value, path, replicas)
    return made


def _with(value: Any, path: tuple[str, ...], leaf: Any) -> Any:
    if not path:
        return leaf
    inside = value if isinstance(value, dict) else {}
    return {**inside, path[0]: _with(inside.get(path[0]), path[1:], leaf)}


def _paths(resource: Resource, known: Known) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    custom = known.custom.get(resource.gvk)
    if custom is None:
        return ("spec", "replicas"), ("status", "replicas"), ("spec", "selector")
    declared = custom.scale

    def parts(name: str) -> tuple[str, ...]:
        return tuple((declared.get(name) or "").removeprefix(".").split(".")) if declared.get(name) else ()

    return parts("specReplicasPath"), parts("statusReplicasPath"), parts("labelSelectorPath")


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value if path else None


def _selector_text(selector: Any) -> str:
    """A label selector as text: requirements by key."""
    if not isinstance(selector, dict):
        return ""
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        return ",".join(f"{k}={v}" for k, v in sorted(selector.items()) if isinstance(v, str))
    parts = [(k, f"{k}={v}") for k, v in (selector.get("matchLabels") or {}).items()]
    for e in selector.get("matchExpressions") or ():
        values = f"({','.join(sorted(e.get('values') or ()))})"
        words = {"In": f"{e['key']} in {values}", "NotIn": f"{e['key']} notin {values}", "Exists": e["key"]}
        parts.append((e["key"], words.get(e["operator"], f"!{e['key']}")))
    return ",".join(text for _, text in sorted(parts))
