"""kadmit webhook serve: policies as webhooks. Options become settings; the rest is done by `kadmit.webhook.operation`."""

import asyncio
import ipaddress
import os
import socket
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import click
from msgspec import Struct

from kadmit.cli.webhook_cluster import NoCluster, connection
from kadmit.cli.webhook_files import PolicyFiles
from kadmit.server import logs, startup
from kadmit.server.startup import StartupError
from kadmit.webhook import operation
from kadmit.webhook.answering import Limits
from kadmit.webhook.callers import Callers
from kadmit.webhook.certificates import Lives
from kadmit.webhook.configuration import NAME, Target, Wishes
from kadmit.webhook.election import Times
from kadmit.webhook.feeding import AUTO, BUILTIN, CUSTOM
from kadmit.webhook.kubeconfig import Connection
from kadmit.webhook.operation import BadFiles, CannotStart, Operation, Settings

CANNOT_START, BAD_INPUT = 1, 2
_Path = click.Path(path_type=Path)


class Options(Struct, frozen=True):
    """What the command line says, by the names of its options."""

    paths: Sequence[str]
    kubeconfig: str | None
    context: str
    policies: str
    bind_address: str
    port: int
    plain_http: bool
    tls_cert_file: Path | None
    tls_private_key_file: Path | None
    ca_file: Path | None
    client_ca_file: Path | None
    client_token_file: Path | None
    namespace: str | None
    service: str
    secret: str
    lease: str
    url: str
    configuration_name: str
    register: bool
    timeout: int
    excluded: Sequence[str]
    inject_ca_from: str
    identity: str
    drain_delay: float
    logging_format: str
    authority_life: float
    certificate_life: float
    overlap: float
    check_period: float
    lease_duration: float

    def settings(self, found: Connection | None) -> Settings:
        """How to operate, with the cluster that was found."""
        in_pod = found is not None and self.kubeconfig is None
        where = self.namespace or (found.namespace if found is not None and in_pod else "") or "kadmit-system"
        lives = (self.authority_life, self.certificate_life, self.overlap)
        return Settings(
            identity=self.identity or f"{socket.gethostname()}_{os.getpid()}",
            plain=self.plain_http,
            certificate_file=self.tls_cert_file,
            key_file=self.tls_private_key_file,
            names=_names(self.url),
            connection=found,
            files=PolicyFiles(self.paths) if self.paths else None,
            policies=self.policies,
            namespace=where,
            service=self.service,
            secret=self.secret,
            lease=self.lease,
            register=self.register,
            wishes=self._wishes(where),
            callers=_callers(self.client_ca_file, self.client_token_file),
            limits=Limits(drain_delay=self.drain_delay),
            lives=Lives(*(timedelta(seconds=seconds) for seconds in lives)),
            times=Times(self.lease_duration, self.lease_duration * 2 / 3, self.lease_duration * 2 / 15),
            check_period=self.check_period,
        )

    def _wishes(self, where: str) -> Wishes:
        return Wishes(
            Target(self.url, where, self.service, authority=_contents("--ca-file", self.ca_file)),
            excluded=tuple(dict.fromkeys((where, *self.excluded))),
            timeout=self.timeout,
            name=self.configuration_name,
            certificate=self.inject_ca_from,
        )


@click.command("serve", context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-f", "--filename", "paths", multiple=True, metavar="FILE", help="Policies of files or folders, not of the cluster."
)
@click.option("--kubeconfig", metavar="FILE", help="The cluster to follow; inside of one it is that one.")
@click.option("--context", default="", metavar="NAME", help="A context of the kubeconfig.")
@click.option(
    "--policies",
    type=click.Choice([AUTO, BUILTIN, CUSTOM]),
    default=AUTO,
    show_default=True,
    help="Whose policies: the API's own (builtin), those that `install` brings (custom), or the API's where it has them.",
)
@click.option("--bind-address", default="", metavar="ADDRESS", help="Where to listen; everywhere by default.")
@click.option("--port", default=9443, show_default=True, help="Where to listen; 0 is any free port.")
@click.option("--plain-http", is_flag=True, help="Serve without TLS: behind a proxy, or to try things out.")
@click.option("--tls-cert-file", type=_Path, metavar="FILE", help="Certificate to serve with; read again when it changes.")
@click.option("--tls-private-key-file", type=_Path, metavar="FILE", help="Its key.")
@click.option("--ca-file", type=_Path, metavar="FILE", help="The authority that signed it, for the webhook configurations.")
@click.option(
    "--client-ca-file", type=_Path, metavar="FILE", help="Only callers with a certificate of this authority are answered."
)
@click.option("--client-token-file", type=_Path, metavar="FILE", help="Or callers with one of these tokens, one a line.")
@click.option("--namespace", metavar="NAME", help="The webhook's own namespace, which no policy is asked about.")
@click.option("--service", default="kadmit-webhook", show_default=True, metavar="NAME", help="The Service that leads here.")
@click.option("--secret", default="kadmit-webhook-tls", show_default=True, metavar="NAME", help="Keeps certificates.")
@click.option("--lease", default="kadmit-webhook", show_default=True, metavar="NAME", help="Held by the replica that writes.")
@click.option("--url", default="", metavar="URL", help="Where API servers reach the webhook, if not by the Service.")
@click.option("--configuration-name", default=NAME, show_default=True, metavar="NAME", help="Of both webhook configurations.")
@click.option("--register/--no-register", default=True, show_default=True, help="Whether to write webhook configurations.")
@click.option("--timeout", default=10, show_default=True, type=click.IntRange(1, 30), help="Seconds that an API server waits.")
@click.option("--exclude-namespace", "excluded", multiple=True, metavar="NAME", help="No policy is asked about these, either.")
@click.option("--inject-ca-from", default="", metavar="NAMESPACE/NAME", help="A cert-manager Certificate that brings the bundle.")
@click.option("--identity", default="", metavar="NAME", help="Of this replica in the Lease; its host name by default.")
@click.option("--drain-delay", default=0.0, show_default=True, help="Seconds between not being ready and not listening.")
@click.option("--logging-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Of the log.")
@click.option("--authority-life", default=365 * 86400.0, hidden=True, help="Seconds.")
@click.option("--certificate-life", default=90 * 86400.0, hidden=True, help="Seconds.")
@click.option("--overlap", default=600.0, hidden=True, help="Seconds for which an authority is trusted before it signs.")
@click.option("--check-period", default=60.0, hidden=True, help="Seconds between looks at certificates.")
@click.option("--lease-duration", default=15.0, hidden=True, help="Seconds.")
def command(**given: Any) -> None:
    """Serve policies and their bindings as one mutating and one validating webhook.

    Policies are followed in the cluster, with their params, namespaces and custom kinds, or read from files and folders, again
    whenever these change. Certificates and webhook configurations are made and kept up to date by the webhook itself.

    /mutate and /validate answer AdmissionReviews (v1, v1beta1) with all policies; /mutate/fail/never and so on with those of one
    failurePolicy and reinvocationPolicy, which is what the configurations name. /healthz, /readyz and /metrics are there, too.

    \b
      kadmit webhook
      kadmit webhook -f policies/ --plain-http --port 8080
      kadmit webhook --kubeconfig admin.conf --url https://192.0.2.7:9443

    Exit code: 0 ended by a signal, 1 could not start, 2 bad options or files.
    """
    options = Options(**given)
    if (options.tls_cert_file is None) != (options.tls_private_key_file is None):
        _fail(BAD_INPUT, "give --tls-cert-file and --tls-private-key-file together")
    try:
        settings = options.settings(connection(options.kubeconfig, options.context, wanted=not options.paths))
    except NoCluster as error:
        _fail(BAD_INPUT, str(error))
    log = logs.configured(options.logging_format, 0)
    try:
        # A Pod's only address is not known here.
        listener = startup.listener(options.bind_address or "0.0.0.0", options.port)  # noqa: S104
        asyncio.run(_run(settings, listener, log, plain=options.plain_http))
    except BadFiles as error:
        _fail(BAD_INPUT, str(error))
    except (StartupError, CannotStart) as error:
        _fail(CANNOT_START, str(error).replace("--secure-port", "--port"))


async def _run(settings: Settings, listener: socket.socket, log: logs.Log, *, plain: bool) -> None:
    ended = asyncio.Event()
    operation.on_signals(ended)
    scheme = "http" if plain else "https"

    def started(port: int) -> None:
        host = listener.getsockname()[0]
        shown = "127.0.0.1" if ipaddress.ip_address(host).is_unspecified else host
        click.echo(f"kadmit webhook is ready at {scheme}://{f'[{shown}]' if ':' in shown else shown}:{port}")
        sys.stdout.flush()

    await Operation(settings, log).run(listener, ended, started)


def _names(url: str) -> tuple[str, ...]:
    host = urlsplit(url).hostname if url else None
    return (host,) if host else ()


def _callers(authority: Path | None, tokens: Path | None) -> Callers | None:
    if authority is None and tokens is None:
        return None
    return Callers(_contents("--client-ca-file", authority), token_file=tokens)


def _contents(option: str, path: Path | None) -> bytes:
    try:
        return path.read_bytes() if path is not None else b""
    except OSError as error:
        _fail(BAD_INPUT, f"{option}: cannot read {str(path)!r}: {(error.strerror or '').lower()}")


def _fail(code: int, text: str) -> NoReturn:
    click.echo(f"kadmit webhook: {text}", err=True)
    sys.exit(code)
