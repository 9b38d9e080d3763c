"""Certificates and authorities are replaced while reviews are asked for, and not one is lost."""

import http.client
import ssl

from tests.webhook.clusters import Served, config_map
from tests.webhook.loads import Load
from tests.webhook.processes import Webhook
from tests.webhook.reviewing import label, mutating

# An authority lives for nine seconds, and every three of them a certificate is replaced.
LIVES = ("--authority-life=9", "--certificate-life=4.5", "--overlap=1", "--check-period=0.1")
ROTATIONS = 2  # of authorities


def test_rotation_under_load_loses_no_request(cluster: Served) -> None:
    cluster.namespace()
    cluster.register(*mutating("p", label("mutated")))
    authorities: set[str] = set()

    def through_the_server() -> None:
        status, made = cluster.send("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", config_map("a"))
        assert (status, made["metadata"].get("labels")) == (201, {"mutated": "yes"}), made

    def shakes_hands() -> None:
        """As an API server does that has no connection yet, and trusts what the configuration says."""
        bundle = cluster.bundle()
        authorities.update(bundle.split("-----END CERTIFICATE-----\n"))
        context = ssl.create_default_context(cadata=bundle)
        connection = http.client.HTTPSConnection("127.0.0.1", webhook.port, timeout=10, context=context)
        connection.request("GET", "/readyz")
        assert connection.getresponse().status == 200
        connection.close()

    with Webhook(cluster.kubeconfig, *LIVES) as webhook:
        cluster.until_registered()
        with Load([through_the_server, through_the_server, shakes_hands]) as load:
            cluster.until(lambda: len(authorities) > ROTATIONS + 1 and _replaced(webhook) > ROTATIONS)
    assert load.failures == []
    assert load.done > 50


def _replaced(webhook: Webhook) -> float:
    return webhook.metrics()["kadmit_webhook_certificate_replacements_total"][""]
