"""Two replicas behind a Service: one may be killed, or end in an orderly way, and policies go on being obeyed."""

import itertools
import signal
from contextlib import ExitStack

from tests.webhook.clusters import Json, Served, config_map
from tests.webhook.loads import Load
from tests.webhook.processes import NAMESPACE, Webhook
from tests.webhook.reviewing import label, mutating

SERVICE = "kadmit-webhook"
_SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"


def _service(cluster: Served) -> None:
    spec = {"ports": [{"name": "https", "port": 443}]}
    metadata = {"namespace": NAMESPACE, "name": SERVICE}
    cluster.create(
        f"/api/v1/namespaces/{NAMESPACE}/services",
        {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec},
    )


def _endpoint(cluster: Served, webhook: Webhook) -> None:
    """What the controller of endpoints does when a Pod becomes ready."""
    cluster.create(
        _SLICES,
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "namespace": NAMESPACE,
                "name": _slice(webhook),
                "labels": {"kubernetes.io/service-name": SERVICE},
            },
            "addressType": "IPv4",
            "ports": [{"name": "https", "port": webhook.port, "protocol": "TCP"}],
            "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": True}}],
        },
    )


def _slice(webhook: Webhook) -> str:
    return f"{SERVICE}-{webhook.port}"


def _no_endpoint(cluster: Served, webhook: Webhook) -> None:
    cluster.send("DELETE", f"{_SLICES}/{_slice(webhook)}")


def _two(cluster: Served, stack: ExitStack, *more: str) -> tuple[Webhook, Webhook]:
    """The first one leads. They are called by their Service, so a certificate for its name must be theirs."""
    cluster.namespace()
    _service(cluster)
    cluster.register(*mutating("p", label("mutated")))
    options = ("--url=", "--lease-duration=3", *more)
    first = stack.enter_context(Webhook(cluster.kubeconfig, *options, "--identity=first"))
    cluster.until_registered()
    second = stack.enter_context(Webhook(cluster.kubeconfig, *options, "--identity=second"))
    for each in (first, second):
        _endpoint(cluster, each)
    return first, second


class Client:
    """Creates objects. What fails because nobody answered is done again, and noted."""

    def __init__(self, cluster: Served) -> None:
        self._cluster = cluster
        self._numbers = itertools.count()
        self.retried: list[str] = []
        self.made: list[Json] = []

    def __call__(self) -> None:
        name = f"c-{next(self._numbers)}"
        while True:
            status, answer = self._cluster.send("POST", "/api/v1/namespaces/default/configmaps", config_map(name))
            if status == 201:
                self.made.append(answer)
                return
            assert (status, answer["reason"]) == (500, "InternalError"), answer
            self.retried.append(answer["message"])


def test_a_killed_replica_loses_nothing_that_its_caller_asks_for_again(cluster: Served) -> None:
    with ExitStack() as stack:
        first, second = _two(cluster, stack)
        client = Client(cluster)
        with Load([client]) as load:
            cluster.until(lambda: len(client.made) > 20)
            assert first.process is not None
            first.process.send_signal(signal.SIGKILL)
            killed_at = len(client.made)
            cluster.until(lambda: len(client.made) > killed_at + 10)
            _no_endpoint(cluster, first)
            cluster.until(lambda: len(client.made) > killed_at + 40)
            cluster.register(*mutating("q", label("more"), rules=[{**_SECRETS}]))
            cluster.until_registered(2)  # the other one leads now
        assert second.metrics()["kadmit_webhook_leading"][""] == 1
    assert load.failures == []
    assert [made["metadata"]["labels"] for made in client.made] == [{"mutated": "yes"}] * len(client.made)
    assert all("failed calling webhook" in text for text in client.retried)


_SECRETS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"]}


def test_a_replica_that_is_told_to_end_loses_nothing_at_all(cluster: Served) -> None:
    with ExitStack() as stack:
        first, second = _two(cluster, stack, "--drain-delay=1")
        client = Client(cluster)
        with Load([client]) as load:
            cluster.until(lambda: len(client.made) > 20)
            assert first.process is not None
            first.process.send_signal(signal.SIGTERM)
            _no_endpoint(cluster, first)
            assert first.process.wait(30) == 0
            ended_at = len(client.made)
            cluster.until(lambda: len(client.made) > ended_at + 20)
            cluster.until(lambda: second.metrics()["kadmit_webhook_leading"][""] == 1)
    assert (load.failures, client.retried) == ([], [])
    assert [made["metadata"]["labels"] for made in client.made] == [{"mutated": "yes"}] * len(client.made)
