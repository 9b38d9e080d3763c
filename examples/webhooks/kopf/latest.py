"""Images need a tag, and not `latest`: nobody knows what that was yesterday."""

from typing import Any

import kopf


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.admission.server = kopf.WebhookAutoServer()
    settings.admission.managed = "webhooks.example.com"


@kopf.on.validate("pods", operations=["CREATE", "UPDATE"])
def refuse_latest(spec: kopf.Spec, **_: Any) -> None:
    for container in [*spec["containers"], *spec.get("initContainers", []), *spec.get("ephemeralContainers", [])]:
        tag = container["image"].rpartition("/")[2].partition(":")[2]
        if tag in ("", "latest") and "@" not in container["image"]:
            text = f"container {container['name']}: image {container['image']} needs a tag other than latest"
            raise kopf.AdmissionError(text, code=403)
