"""An operator as a user of kopf writes it: one handler that changes, one that refuses, on a TLS server of its own."""

import os
from collections.abc import Mapping
from typing import Any

import kopf

CONFIGURATION = "operator.example.com"
WATCHED = {"watched": "yes"}


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.admission.server = kopf.WebhookServer(
        addr="127.0.0.1",
        host="127.0.0.1",
        cafile=os.environ["AUTHORITY"],
        certfile=os.environ["CERTIFICATE"],
        pkeyfile=os.environ["KEY"],
    )
    settings.admission.managed = CONFIGURATION


@kopf.on.mutate("configmaps", labels=WATCHED)
def mark(patch: kopf.Patch, userinfo: Mapping[str, Any], warnings: list[str], **_: Any) -> None:
    patch.metadata.annotations["made-by"] = userinfo["username"]
    warnings.append("marked by kopf")


@kopf.on.validate("configmaps", labels=WATCHED)
def refuse(body: kopf.Body, **_: Any) -> None:
    if "bad" in (body.get("data") or {}):
        raise kopf.AdmissionError("no bad data, please", code=400)


@kopf.on.create("configmaps", labels=WATCHED)
def greet(patch: kopf.Patch, **_: Any) -> None:
    patch["data"] = {"greeted": "yes"}
