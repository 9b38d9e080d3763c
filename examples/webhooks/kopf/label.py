"""Every new Pod carries the name of whoever made it."""

from collections.abc import Mapping
from typing import Any

import kopf


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.admission.server = kopf.WebhookAutoServer()
    settings.admission.managed = "webhooks.example.com"


@kopf.on.mutate("pods", operations=["CREATE"])
def label_owner(patch: kopf.Patch, userinfo: Mapping[str, Any], namespace: str | None, **_: Any) -> None:
    patch.metadata.annotations["example.com/made-by"] = userinfo["username"]
    patch.metadata.labels["team"] = namespace
