"""The admission handlers' decision, asked as an API server asks: over TLS, with AdmissionReviews."""

from typing import Any

from shops import opening

from kadmit.testing import Cluster, Serve, assert_admitted, assert_denied

RULES = [{"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["shops"]}]
BAKERY = {"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "bakery"}, "spec": {"goods": "bread"}}


def decide(request: dict[str, Any]) -> str | None:
    """As kopf calls the handler."""
    return opening.objection(request["object"]["spec"], (request["oldObject"] or {}).get("spec")) or None


def test_a_shop_keeps_its_goods(kadmit_cluster: Cluster, kadmit_webhook: Serve) -> None:
    kadmit_cluster.load("../manifests/shops.yaml")
    hook = kadmit_webhook(decide, kadmit_cluster, name="goods.shops.example.com", rules=RULES)
    assert_admitted(kadmit_cluster.create(BAKERY))
    assert_admitted(kadmit_cluster.update({**BAKERY, "spec": {"goods": "bread", "counters": 2}}))
    refused = kadmit_cluster.update({**BAKERY, "spec": {"goods": "shoes"}})
    assert_denied(refused, message="a shop for bread cannot become one for shoes: open another one")
    assert [request["operation"] for request in hook.requests] == ["CREATE", "UPDATE", "UPDATE"]
