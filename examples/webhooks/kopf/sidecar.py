"""Pods that ask for it get a container that ships their logs, and a volume that all containers share with it."""

from typing import Any

import kopf

SHIPPER = {"name": "log-shipper", "image": "registry.example.com/log-shipper:2.1"}
MOUNT = {"name": "logs", "mountPath": "/var/log/app"}


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.admission.server = kopf.WebhookAutoServer()
    settings.admission.managed = "webhooks.example.com"


@kopf.on.mutate("pods", operations=["CREATE"], labels={"logs": "shipped"})
def ship_logs(spec: kopf.Spec, patch: kopf.Patch, **_: Any) -> None:
    if any(container["name"] == SHIPPER["name"] for container in spec["containers"]):
        return
    patch.spec["containers"] = [
        {**container, "volumeMounts": [*container.get("volumeMounts", []), MOUNT]} for container in [*spec["containers"], SHIPPER]
    ]
    patch.spec["volumes"] = [*spec.get("volumes", []), {"name": "logs", "emptyDir": {}}]
