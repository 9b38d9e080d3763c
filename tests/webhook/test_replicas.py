"""Two replicas behind a Service: one may be killed, or end in an orderly way, and policies go on being obeyed."""

import itertools
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.webhook.balancers import Balancer
from tests.webhook.clusters import Json, Served, config_map
from tests.webhook.loads import Load
from tests.webhook.processes import NAMESPACE, Webhook
from tests.webhook.reviewing import label, mutating

SERVICE = "kadmit-webhook"


@pytest.fixture
def service() -> Iterator[Balancer]:
    with Balancer() as balancer:
        yield balancer


@pytest.fixture
def cluster(tmp_path: Path, service: Balancer) -> Iterator[Served]:
    with Served(tmp_path, f"--service-resolver={NAMESPACE}/{SERVICE}=127.0.0.1:{service.port}") as served:
        yield served


def _two(cluster: Served, service: Balancer, stack: ExitStack, *more: str) -> tuple[Webhook, Webhook]:
    """The first one leads. They are called by their Service, so a certificate for its name must be theirs."""
    cluster.namespace()
    cluster.register(*mutating("p", label("mutated")))
    options = ("--url=", "--lease-duration=3", *more)
    first = stack.enter_context(Webhook(cluster.kubeconfig, *options, "--identity=first"))
    cluster.until_registered()
    second = stack.enter_context(Webhook(cluster.kubeconfig, *options, "--identity=second"))
    service.ports |= {first.port, second.port}
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


def test_a_killed_replica_loses_nothing_that_its_caller_asks_for_again(cluster: Served, service: Balancer) -> None:
    with ExitStack() as stack:
        first, second = _two(cluster, service, stack)
        client = Client(cluster)
        with Load([client]) as load:
            cluster.until(lambda: len(client.made) > 20)
            assert first.process is not None
            first.process.send_signal(signal.SIGKILL)
            killed_at = len(client.made)
            cluster.until(lambda: len(client.made) > killed_at + 10)
            service.ports.discard(first.port)
            cluster.until(lambda: len(client.made) > killed_at + 40)
            cluster.register(*mutating("q", label("more"), rules=[{**_SECRETS}]))
            cluster.until_registered(2)  # the other one leads now
        assert second.metrics()["kadmit_webhook_leading"][""] == 1
    assert load.failures == []
    assert [made["metadata"]["labels"] for made in client.made] == [{"mutated": "yes"}] * len(client.made)
    assert all("failed calling webhook" in text for text in client.retried)


_SECRETS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"]}


def test_a_replica_that_is_told_to_end_loses_nothing_at_all(cluster: Served, service: Balancer) -> None:
    with ExitStack() as stack:
        first, second = _two(cluster, service, stack, "--drain-delay=1")
        client = Client(cluster)
        with Load([client]) as load:
            cluster.until(lambda: len(client.made) > 20)
            assert first.process is not None
            first.process.send_signal(signal.SIGTERM)
            service.ports.discard(first.port)
            assert first.process.wait(30) == 0
            ended_at = len(client.made)
            cluster.until(lambda: len(client.made) > ended_at + 20)
            cluster.until(lambda: second.metrics()["kadmit_webhook_leading"][""] == 1)
    assert (load.failures, client.retried) == ([], [])
    assert [made["metadata"]["labels"] for made in client.made] == [{"mutated": "yes"}] * len(client.made)
