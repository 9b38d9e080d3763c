"""The operator: run it with `kopf run -m shops.handlers`. What is decided is decided in `opening`."""

import os
from collections.abc import Mapping
from typing import Any

import kopf
import kubernetes

from shops import opening

CONFIGURATION = "shops.example.com"


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.admission.server = kopf.WebhookServer(
        addr=os.environ.get("WEBHOOK_ADDRESS", "0.0.0.0"),
        host=os.environ["WEBHOOK_HOST"],
        cafile=os.environ["WEBHOOK_AUTHORITY"],
        certfile=os.environ["WEBHOOK_CERTIFICATE"],
        pkeyfile=os.environ["WEBHOOK_KEY"],
    )
    settings.admission.managed = CONFIGURATION
    settings.posting.enabled = False


@kopf.on.mutate(opening.GROUP, opening.VERSION, opening.PLURAL)
def open_one_counter(spec: kopf.Spec, patch: kopf.Patch, warnings: list[str], **_: Any) -> None:
    if "counters" not in spec:
        patch.spec["counters"] = 1
        warnings.append("the shop opens with one counter")


@kopf.on.validate(opening.GROUP, opening.VERSION, opening.PLURAL)
def keep_the_goods(spec: kopf.Spec, old: Mapping[str, Any] | None, **_: Any) -> None:
    objection = opening.objection(spec, (old or {}).get("spec"))
    if objection:
        raise kopf.AdmissionError(objection, code=422)


@kopf.on.create(opening.GROUP, opening.VERSION, opening.PLURAL)
@kopf.on.update(opening.GROUP, opening.VERSION, opening.PLURAL, field="spec")
def open_the_shop(name: str, namespace: str, spec: kopf.Spec, body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:
    kubernetes.config.load_config()
    wanted = opening.deployment(name, namespace, spec, kopf.build_owner_reference(body))
    api = kubernetes.client.AppsV1Api()
    try:
        api.create_namespaced_deployment(namespace, wanted)
    except kubernetes.client.ApiException as error:
        if error.status != 409:
            raise kopf.TemporaryError(f"not opened: {error.body}", delay=30) from None
        api.patch_namespaced_deployment(name, namespace, wanted)
    patch.status["phase"] = "Open"
