"""What an open shop comes to in a cluster: plain data in, plain data out."""

from collections.abc import Mapping
from typing import Any

GROUP, VERSION, PLURAL = "example.com", "v1", "shops"
IMAGE = "registry.example/shop:1.4"


def deployment(name: str, namespace: str, spec: Mapping[str, Any], owner: Mapping[str, Any]) -> dict[str, Any]:
    """The Deployment of a shop: one replica for each counter."""
    labels = {"shop": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels, "ownerReferences": [dict(owner)]},
        "spec": {
            "replicas": spec.get("counters", 1),
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "shop", "image": IMAGE}]}},
        },
    }


def objection(spec: Mapping[str, Any], old: Mapping[str, Any] | None) -> str:
    """Why a shop may not be as it is wanted; nothing if it may."""
    if old and old.get("goods") != spec.get("goods"):
        return f"a shop for {old.get('goods')} cannot become one for {spec.get('goods')}: open another one"
    return ""
