"""Images need a tag, and not `latest`: nobody knows what that was yesterday."""

import kadmit


@kadmit.validating("pods")
def refuse_latest(request: kadmit.Request, pod: kadmit.Object) -> None:
    spec = pod["spec"]
    for container in spec["containers"] + spec.get("initContainers", []) + spec.get("ephemeralContainers", []):
        tag = container["image"].rpartition("/")[2].partition(":")[2]
        if tag in ("", "latest") and "@" not in container["image"]:
            raise kadmit.Deny(f"container {container['name']}: image {container['image']} needs a tag other than latest")
