"""Pods that ask for it get a container that ships their logs, and a volume that all containers share with it."""

import kadmit

SHIPPER = {"name": "log-shipper", "image": "registry.example.com/log-shipper:2.1"}
MOUNT = {"name": "logs", "mountPath": "/var/log/app"}


@kadmit.mutating("pods", operations="CREATE", object_selector={"logs": "shipped"})
def ship_logs(request: kadmit.Request, pod: kadmit.Object) -> None:
    spec = pod["spec"]
    if any(container["name"] == SHIPPER["name"] for container in spec["containers"]):
        return
    spec["containers"].append(dict(SHIPPER))
    spec.setdefault("volumes", []).append({"name": "logs", "emptyDir": {}})
    for container in spec["containers"]:
        container.setdefault("volumeMounts", []).append(MOUNT)
