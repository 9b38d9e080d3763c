"""A webhook for policies in operation: feeding, judging, certificates, the election and the configurations, put together.

A replica is ready once it has a certificate and has seen everything that it follows. It then answers on its own, leader or not,
and whether or not the API server that it follows can be reached. When it is told to end, it first fails its readiness, then stops
taking connections, then finishes what it has begun.
"""

import asyncio
import contextlib
import signal
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from kadmit.webhook import certificates
from kadmit.webhook.answering import Limits
from kadmit.webhook.callers import Callers
from kadmit.webhook.certificates import Lives
from kadmit.webhook.cluster import Cluster
from kadmit.webhook.configuration import Target, Wishes
from kadmit.webhook.election import Candidate, Election, Times
from kadmit.webhook.feeding import AUTO, ClusterFeed, FileFeed, Objects
from kadmit.webhook.judging import Judging
from kadmit.webhook.keeping import FileKeeper, SecretKeeper, Served
from kadmit.webhook.kubeconfig import Connection
from kadmit.webhook.metrics import GAUGE, Metric, Metrics
from kadmit.webhook.registering import Registrar
from kadmit.webhook.serving import WebhookServer
from kadmit.webhook.view import POLICIES, View

OBSERVED = Metric(
    "kadmit_webhook_observed_digest",
    GAUGE,
    "A number for what was seen of a followed resource: replicas with the same numbers have seen the same objects.",
    ("resource",),
)
REGISTERED = Metric(
    "kadmit_webhook_registered_digest", GAUGE, "The same for the policies that the configurations were last written for."
)
LEADING = Metric("kadmit_webhook_leading", GAUGE, "1 while this replica writes configurations and certificates.")
METRICS = (OBSERVED, REGISTERED, LEADING)


class Log(Protocol):
    """Where events are told: a message, and named values."""

    def info(self, message: str, **values: Any) -> None: ...

    def warning(self, message: str, **values: Any) -> None: ...


class CannotStart(Exception):
    """What keeps a webhook from starting, in words that say what to change."""


class BadFiles(CannotStart):
    """Policies of files that cannot be used."""


class Settings(Struct, frozen=True):
    """How a replica is to be. Without a cluster, policies come from files only; with one, everything else comes from it."""

    identity: str
    host: str = ""
    port: int = 9443
    plain: bool = False  # HTTP without TLS
    certificate_file: Path | None = None
    key_file: Path | None = None
    names: tuple[str, ...] = ()  # that certificates are made for, besides the Service's
    connection: Connection | None = None
    files: Objects | None = None
    policies: str = AUTO
    namespace: str = "kadmit-system"
    service: str = "kadmit-webhook"
    secret: str = "kadmit-webhook-tls"  # noqa: S105 - a name
    lease: str = "kadmit-webhook"
    register: bool = True
    wishes: Wishes = field(default_factory=lambda: Wishes(Target()))
    callers: Callers | None = None
    limits: Limits = field(default_factory=Limits)
    lives: Lives = field(default_factory=Lives)
    times: Times = field(default_factory=Times)
    check_period: float = 60.0  # between looks at certificates


class Operation:
    """One replica."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self._settings = settings
        self._log = log
        self._view = View()
        self._metrics = Metrics(METRICS)
        self._cluster = Cluster(settings.connection) if settings.connection is not None else None
        self._election: Election | None = None
        self._registrar: Registrar | None = None
        self._keeper: SecretKeeper | None = None
        self._server: WebhookServer | None = None
        self._served: Served | None = None
        self._certified = asyncio.Event()
        self._fed = asyncio.Event()

    # ------------------------------------------------------------ running

    async def run(self, listener: socket.socket, ended: asyncio.Event, started: Callable[[int], None] = lambda _: None) -> None:
        """Serve until `ended` is set. `started` is told the port, once everything is there. Raises CannotStart."""
        async with contextlib.AsyncExitStack() as stack:
            if self._cluster is not None:
                stack.push_async_callback(self._cluster.close)
            await stack.enter_async_context(_beside(self._work(), ended))
            if not await _first(ended, self._certified.wait()):
                return
            server = self._server = self._made_server()
            await server.start(listener)
            stack.push_async_callback(server.stop)
            if not await _first(ended, self._fed.wait()):
                return
            started(server.port)
            await ended.wait()

    def _work(self) -> Iterable[Coroutine[Any, Any, None]]:
        """Everything that goes on beside answering. Raises CannotStart."""
        settings, cluster = self._settings, self._cluster
        if cluster is not None and (settings.register or not (settings.plain or settings.certificate_file)):
            yield self._lead(cluster)
        yield from self._certify(cluster)
        yield from self._feed(cluster)
        if cluster is not None and settings.register:
            self._registrar = Registrar(cluster, self._view, self._wishes, self._leads, self._warn, wrote=self._registered)
            yield self._registrar.run()

    def _made_server(self) -> WebhookServer:
        settings, served = self._settings, self._served
        return WebhookServer(
            Judging(self._view, self._cluster).handlers(),
            certificate=served.pair.certificate if served else None,
            key=served.pair.key if served else None,
            limits=settings.limits,
            callers=settings.callers,
            ready=lambda: "" if self._fed.is_set() else "policies have not been seen yet",
            metrics=self._metrics,
        )

    def _warn(self, text: str) -> None:
        self._log.warning(text)

    # ------------------------------------------------------------ who leads

    def _lead(self, cluster: Cluster) -> Coroutine[Any, Any, None]:
        settings = self._settings
        candidate = Candidate(settings.identity, settings.times)
        self._election = Election(
            cluster, settings.namespace, settings.lease, candidate, changed=self._began_to_lead, told=self._warn
        )
        return self._election.run()

    def _leads(self) -> bool:
        return self._election is not None and self._election.leads

    def _began_to_lead(self, leads: bool) -> None:
        self._log.info("leading" if leads else "not leading", identity=self._settings.identity)
        self._metrics.set(LEADING, float(leads))
        if self._registrar is not None:
            self._registrar.begin()
        self._reconsider()

    def _reconsider(self) -> None:
        if self._keeper is not None:
            self._keeper.reconsider()
        if self._registrar is not None:
            self._registrar.reconsider()

    # ------------------------------------------------------------ certificates

    def _certify(self, cluster: Cluster | None) -> Iterable[Coroutine[Any, Any, None]]:
        settings = self._settings
        if settings.plain:
            self._certified.set()
        elif settings.certificate_file is not None and settings.key_file is not None:
            keeper = FileKeeper(settings.certificate_file, settings.key_file, self._certificate_changed, self._warn)
            try:
                keeper.load()
            except (OSError, ValueError) as error:
                raise CannotStart(f"--tls-cert-file, --tls-private-key-file: {error}") from None
            yield keeper.run()
        elif cluster is not None:
            names = (*certificates.service_names(settings.namespace, settings.service), *settings.names)
            self._keeper = SecretKeeper(
                cluster,
                settings.namespace,
                settings.secret,
                names,
                self._certificate_changed,
                self._warn,
                leads=self._leads,
                trusted=lambda: None if self._registrar is None else self._registrar.authority,
                lives=settings.lives,
                period=settings.check_period,
            )
            yield self._keeper.run()
        else:
            raise CannotStart(
                "give --tls-cert-file and --tls-private-key-file, or --plain-http, or a cluster to keep a Secret in"
            )

    def _certificate_changed(self, served: Served) -> None:
        """Raises CertificateError."""
        if self._server is not None:
            self._server.replace_certificate(served.pair.certificate, served.pair.key)
            self._log.info("certificate replaced")
        self._served = served
        self._certified.set()
        self._reconsider()

    def _wishes(self) -> Wishes | None:
        """How to be reached, once the certificate is there and the policies have been seen."""
        if not self._fed.is_set() or not self._certified.is_set():
            return None
        wishes, served = self._settings.wishes, self._served
        if wishes.certificate or served is None or not served.bundle:
            return wishes
        return replace(wishes, target=replace(wishes.target, authority=served.bundle))

    # ------------------------------------------------------------ policies

    def _feed(self, cluster: Cluster | None) -> Iterable[Coroutine[Any, Any, None]]:
        settings = self._settings
        whose = None if settings.files is not None else settings.policies
        from_cluster = None
        if cluster is not None:
            from_cluster = ClusterFeed(
                self._view, cluster, self._warn, published=self._published, seen=self._seen, policies=whose
            )
            yield from_cluster.run()
        if settings.files is not None:
            published = self._published if from_cluster is None else from_cluster.reconsider
            only = POLICIES if from_cluster is not None else ()
            feed = FileFeed(self._view, settings.files, self._warn, published=published, only=only)
            try:
                feed.load()
            except (ValueError, OSError) as error:
                raise BadFiles(str(error)) from None
            yield feed.run()

    def _published(self) -> None:
        self._fed.set()
        self._seen()
        if self._registrar is not None:
            self._registrar.reconsider()

    def _registered(self, digest: int) -> None:
        self._metrics.set(REGISTERED, digest)
        if self._keeper is not None:
            self._keeper.reconsider()

    def _seen(self) -> None:
        self._metrics.values[OBSERVED.name].clear()  # what is not followed any more is not shown
        for (group, plural), digest in self._view.digests().items():
            self._metrics.set(OBSERVED, digest, f"{plural}.{group}" if group else plural)


# ---------------------------------------------------------------- beside each other


@contextlib.asynccontextmanager
async def _beside(work: Iterable[Coroutine[Any, Any, None]], ended: asyncio.Event) -> AsyncIterator[None]:
    """Work that goes on until the block ends. What fails ends everything, and is raised."""
    tasks = [asyncio.ensure_future(each) for each in work]
    for task in tasks:
        task.add_done_callback(lambda _: ended.set())
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
    for result in found:
        if isinstance(result, Exception):
            raise result


async def _first(ended: asyncio.Event, waited: Coroutine[Any, Any, Any]) -> bool:
    """Wait for something; False if the end came first."""
    task, end = asyncio.ensure_future(waited), asyncio.ensure_future(ended.wait())
    await asyncio.wait((task, end), return_when=asyncio.FIRST_COMPLETED)
    for each in (task, end):
        each.cancel()
    return not ended.is_set()


def on_signals(ended: asyncio.Event) -> None:
    """SIGTERM and SIGINT end it."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
