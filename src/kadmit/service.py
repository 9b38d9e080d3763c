"""The composition root of `kadmit serve`: flags become a store, a cache, handlers and a listening server.

Nothing imports it but the command line. A worker is a process of its own that shares the port and the store with the others.
"""

import asyncio
import contextlib
import secrets
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import uvloop
from aiohttp import web
from msgspec import Struct

from kadmit import tracing
from kadmit.access import tokenfile
from kadmit.access.always import AlwaysAllow
from kadmit.access.identity import Identities, authenticated
from kadmit.access.tokenfile import TokenFileError
from kadmit.api import auditpolicy
from kadmit.api.auditpolicy import PolicyError
from kadmit.api.config import ConfigError
from kadmit.cel.library.authorizer import User
from kadmit.kinds import allocation, catalog
from kadmit.presentation import runtimeconfig
from kadmit.presentation.runtimeconfig import RuntimeConfig, RuntimeConfigError
from kadmit.resources.state import CRDS
from kadmit.server import auditlog, certificates, credentials, firstobjects, kubeconfigfile, lifecycle, logs, plugins, startup
from kadmit.server.app import Server
from kadmit.server.audit import Auditor
from kadmit.server.auditlog import Rotation
from kadmit.server.cache import Cache
from kadmit.server.certificates import Credentials
from kadmit.server.flags import ALWAYS_ALLOW, ETCD, MEMORY, Flags
from kadmit.server.handlers import Resources
from kadmit.server.kubeconfigfile import Administrator
from kadmit.server.lifecycle import Shutdown
from kadmit.server.logs import Log
from kadmit.server.metrics import Metrics
from kadmit.server.ownservices import resolver
from kadmit.server.plain import Plain
from kadmit.server.servingtls import LiveTls, Material
from kadmit.server.siblings import Siblings
from kadmit.server.startup import StartupError
from kadmit.server.supervising import Place, Supervisor
from kadmit.server.webhook_client import WebhookClient
from kadmit.store.base import Store, StoreError
from kadmit.store.compactor import Compactor

DRAIN_SECONDS = 30.0


def serve(flags: Flags) -> None:
    """Serve until a signal ends it. Raises StartupError."""
    claim = lifecycle.claim(flags.data_dir)
    try:
        made = certificates.bootstrap(flags.certificates, _names(flags))
        taken = (startup.reserved if flags.workers > 1 else startup.listener)(flags.bind_address, flags.secure_port)
        url = f"https://{_host(flags)}:{taken.getsockname()[1]}"
        authority = None if flags.tls_cert_file is None else flags.tls_cert_file.read_bytes()
        kubeconfigfile.write(flags.kubeconfig, Administrator.of(url, made, authority))
        if flags.workers > 1:
            _supervise(flags, taken.getsockname()[1], made, url)
        else:
            _run(_Worker(flags, taken, made, url=url, ready=lambda: _announce(url, flags)))
    finally:
        claim.release()


class _Group(Struct, frozen=True):
    """What the workers of one server have in common: a name, and a folder in which they meet."""

    name: str
    folder: Path


def _announce(url: str, flags: Flags) -> None:
    print(lifecycle.ready_line(url, flags.kubeconfig), flush=True)


def _supervise(flags: Flags, port: int, made: Credentials, url: str) -> None:
    with tempfile.TemporaryDirectory(prefix="kadmit-workers-") as folder:
        group = _Group(secrets.token_hex(8), Path(folder))

        def work(place: Place) -> int:
            """NB: each listens for itself, or they would wake each other up."""
            mine = startup.listener(flags.bind_address, port, shared=True)
            return _worked(_Worker(flags, mine, made, group, place, url="" if place.number else url, ready=place.ready))

        log = logs.configured(flags.logging_format, flags.v)
        code = Supervisor(work, log, lambda: _announce(url, flags)).run(flags.workers)
    if code:
        sys.exit(code)


def _worked(worker: "_Worker") -> int:
    try:
        _run(worker)
    except StartupError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _run(worker: "_Worker") -> None:
    uvloop.run(worker.run())


class _Worker:
    """One process of the server. `url` is empty in all but the first, which keeps the certificates for them all."""

    def __init__(
        self,
        flags: Flags,
        listener: socket.socket,
        made: Credentials,
        group: _Group | None = None,
        place: Place | None = None,
        *,
        url: str = "",
        ready: Callable[[], None],
    ) -> None:
        self._flags = flags
        self._listener = listener
        self._made = made
        self._group = group
        self._place = place
        self._url = url
        self._log = logs.configured(flags.logging_format, flags.v)
        self._ready = False
        self._tell_ready = ready

    async def run(self) -> None:
        flags = self._flags
        async with contextlib.AsyncExitStack() as stack:
            store = await _opened(flags, self._group.name if self._group else "")
            stack.push_async_callback(store.close)
            cache = Cache(
                store,
                pool=allocation.pool(flags.service_cluster_ip_range),
                shared=self._group is not None,
                without=plugins.IMPLEMENTED - flags.admission_plugins,
            )
            await cache.start()
            stack.push_async_callback(cache.stop)
            server = await self._server(cache, stack)
            tls = LiveTls(_material(flags, self._made), self._log.info)
            runner = web.ServerRunner(server.http(), shutdown_timeout=DRAIN_SECONDS)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            stack.callback(server.end_watches)
            await web.SockSite(runner, self._listener, ssl_context=tls.context).start()
            await stack.enter_async_context(_beside(tls.follow(), Compactor(store).run(), self._keep_certificates()))
            await self._until_told(server)

    async def _server(self, cache: Cache, stack: contextlib.AsyncExitStack) -> Server:
        flags, metrics = self._flags, Metrics()
        siblings = Siblings(metrics.snapshot)
        if self._group is not None and self._place is not None:
            siblings = Siblings(metrics.snapshot, self._group.folder, self._place.number)
        await stack.enter_async_context(siblings.telling())
        serves = _serves(flags)
        hooks = WebhookClient(resolver(cache.state, flags.service_resolver), credentials=_credentials(flags))
        stack.push_async_callback(hooks.close)
        authorizer = AlwaysAllow() if ALWAYS_ALLOW in flags.authorization_mode else None
        identities = Identities(_tokens(flags, self._log), anonymous=flags.anonymous_auth)
        resources = Resources(
            cache,
            hooks,
            authorizer,
            serves=serves,
            identities=identities,
            allow_privileged=flags.allow_privileged,
            watch_seconds=flags.min_request_timeout,
        )
        await firstobjects.create(resources, roles=authorizer is None)
        cache.begin_history()
        plain = Plain(
            lambda: cache.state.known,
            siblings.numbers,
            serves=serves,
            definitions=lambda: cache.state.all(CRDS),
            ready=lambda: self._ready,
        )
        return Server(
            resources,
            plain,
            identities,
            _auditor(flags, metrics, self._log),
            metrics,
            max_body=flags.max_request_bytes,
            request_timeout=flags.request_timeout,
            log=self._log,
            spans=tracing.spans("kadmit.server"),
        )

    async def _keep_certificates(self) -> None:
        def renewed(made: Credentials) -> None:
            kubeconfigfile.write(self._flags.kubeconfig, Administrator.of(self._url, made))

        if self._url:
            await certificates.keep(self._flags.certificates, _names(self._flags), renewed)

    async def _until_told(self, server: Server) -> None:
        shutdown = Shutdown()
        with shutdown.on_signals(), shutdown.on_end_of(self._place.lifeline if self._place else None):
            self._ready = True
            self._tell_ready()
            await shutdown.begun.wait()
            self._ready = False
            await shutdown.delay(self._flags.shutdown_delay_duration)
            server.end_watches()
            await shutdown.drained(server.inflight, DRAIN_SECONDS)


@contextlib.asynccontextmanager
async def _beside(*work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Work that goes on while the server runs, and ends with it."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


# ---------------------------------------------------------------- from flags


async def _opened(flags: Flags, group: str) -> Store:
    try:
        if flags.storage == MEMORY:
            from kadmit.store.memory import MemoryStore

            return MemoryStore()
        if flags.storage == ETCD:
            return await _etcd(flags)
        from kadmit.store.sqlite import SqliteStore

        return await SqliteStore.open(flags.data_dir / "store", group=group)
    except StoreError as error:
        raise StartupError(f"--storage={flags.storage}: {error}") from None


async def _etcd(flags: Flags) -> Store:
    try:
        from kadmit.store.etcd import EtcdStore
        from kadmit.store.etcd_client import Tls
    except ImportError:
        raise StartupError("--etcd-servers needs grpcio: install kadmit[etcd]") from None
    tls = Tls(flags.etcd_cafile, flags.etcd_certfile, flags.etcd_keyfile)
    return await EtcdStore.open(flags.etcd_servers, prefix=flags.etcd_prefix, tls=tls)


def _names(flags: Flags) -> tuple[str, ...]:
    more = [name for name in (flags.external_hostname, flags.advertise_address) if name]
    return certificates.subject_names(flags.bind_address, flags.service_cluster_ip_range, more)


def _host(flags: Flags) -> str:
    host = flags.external_hostname or flags.advertise_address or flags.bind_address
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - where clients go, not where we listen
    return f"[{host}]" if ":" in host else host


def _material(flags: Flags, made: Credentials) -> Material:
    """NB: our own authority stays trusted, so that the administrator's kubeconfig works."""
    authorities = (made.authority.certificate, *((flags.client_ca_file,) if flags.client_ca_file else ()))
    if flags.tls_cert_file is not None and flags.tls_private_key_file is not None:
        return Material(flags.tls_cert_file, flags.tls_private_key_file, authorities, flags.tls_min_version)
    return Material(made.server.certificate, made.server.key, authorities, flags.tls_min_version)


def _serves(flags: Flags) -> RuntimeConfig:
    try:
        return runtimeconfig.parse(flags.runtime_config, catalog.builtin())
    except RuntimeConfigError as error:
        raise StartupError(f"--runtime-config: {error}") from None


def _credentials(flags: Flags) -> "dict[str, credentials.Credentials]":
    try:
        return dict(credentials.load(flags.admission_control_config_file))
    except ConfigError as error:
        raise StartupError(f"--admission-control-config-file: {error}") from None


def _tokens(flags: Flags, log: Log) -> dict[str, User]:
    if flags.token_auth_file is None:
        return {}
    path = flags.token_auth_file
    try:
        found = tokenfile.parse(startup.text_of("token-auth-file", path), str(path))
    except TokenFileError as error:
        raise StartupError(f"--token-auth-file: {error}") from None
    for warning in found.warnings:
        log.warning(warning)
    return {token: authenticated(user) for token, user in found.users.items()}


def _auditor(flags: Flags, metrics: Metrics, log: Log) -> Auditor:
    if flags.audit_policy_file is None or not flags.audit_log_path:
        return Auditor(metrics=metrics)
    try:
        policy = auditpolicy.parse(startup.text_of("audit-policy-file", flags.audit_policy_file))
    except PolicyError as error:
        raise StartupError(f"--audit-policy-file: {error}") from None
    rotation = Rotation(flags.audit_log_maxage, flags.audit_log_maxbackup, flags.audit_log_maxsize)
    try:
        sink = auditlog.opened(flags.audit_log_path, rotation)
    except OSError as error:
        raise StartupError(f"--audit-log-path: cannot write {flags.audit_log_path!r}: {startup.because(error)}") from None
    strict = flags.audit_log_mode == "blocking-strict"

    def failed(audit_id: str, error: Exception) -> None:
        log.error("audit event lost", auditID=audit_id, error=str(error))

    return Auditor(policy, sink, metrics, strict, failed=failed)
