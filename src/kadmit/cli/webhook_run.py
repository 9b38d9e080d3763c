"""kadmit webhook run: an App, served at a desk against a cluster, with certificates and registration made for it."""

import asyncio
import json
import logging
import math
import os
import sys
import traceback
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

import click
from msgspec import Struct

if TYPE_CHECKING:
    from kadmit.webhook.callers import Callers
    from kadmit.webhook.kubeconfig import Connection
    from kadmit.webhook.sdk.app import App
    from kadmit.webhook.sdk.loading import Source
    from kadmit.webhook.sdk.running import Place, Wishes

CANNOT_RUN, BAD_INPUT = 1, 2
_LIFE = timedelta(days=365)  # of a certificate for a desk
_PORT = click.IntRange(0, 65535)
_SOME = click.IntRange(min=1)  # NB: who works on no review at a time never answers


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("app")
@click.option("--kubeconfig", type=click.Path(path_type=Path), help="The cluster to register with [default: $KUBECONFIG].")
@click.option("--context", default="", metavar="NAME", help="A context of the kubeconfig, if not its current one.")
@click.option("--host", default="", help="The address or name that the cluster calls [default: found by the way to the cluster].")
@click.option(
    "--port", type=_PORT, metavar="N", default=0, show_default=True, help="The port to listen on; 0 is any that is free."
)
@click.option("--url", default="", help="The whole URL that the cluster calls, where a tunnel or a proxy leads here.")
@click.option("--no-register", is_flag=True, help="Print the configurations instead of registering them, and serve.")
@click.option("--dry-run", is_flag=True, help="Print the configurations, and end.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True, help="How to print them.")
@click.option("--reload", is_flag=True, help="Load the app anew when its source changes.")
@click.option("--debug/--no-debug", default=True, show_default=True, help="Tell clients why a handler failed.")
@click.option("-q", "--quiet", is_flag=True, help="No line for each review.")
@click.option("--tls-cert-file", type=click.Path(path_type=Path), help="Serve with this certificate, followed as it changes.")
@click.option("--tls-private-key-file", type=click.Path(path_type=Path), help="Its key.")
@click.option("--ca-file", type=click.Path(path_type=Path), help="The authority that signed it, for the configurations.")
@click.option("--client-ca-file", type=click.Path(path_type=Path), help="Callers must show a certificate of these authorities.")
@click.option("--client-name", multiple=True, help="Their certificate must have one of these names; may be repeated.")
@click.option("--client-token-file", type=click.Path(path_type=Path), help="Or they must show one of these tokens, one a line.")
@click.option(
    "--max-reviews", type=_SOME, metavar="N", default=64, show_default=True, help="How many reviews are worked on at a time."
)
@click.option(
    "--max-body-bytes", type=_SOME, metavar="N", default=8 * 1024 * 1024, show_default=True, help="How large a review may be."
)
@click.option("--drain-delay", default=0.0, show_default=True, help="Seconds between failing /readyz and not listening any more.")
def command(
    app: str,
    kubeconfig: Path | None,
    context: str,
    host: str,
    port: int,
    url: str,
    no_register: bool,
    dry_run: bool,
    output: str,
    reload: bool,
    debug: bool,
    quiet: bool,
    tls_cert_file: Path | None,
    tls_private_key_file: Path | None,
    ca_file: Path | None,
    client_ca_file: Path | None,
    client_name: tuple[str, ...],
    client_token_file: Path | None,
    max_reviews: int,
    max_body_bytes: int,
    drain_delay: float,
) -> None:
    """Serve webhooks written in Python, and register them with a cluster for as long as they are served.

    APP is `module:app` or `file.py:app`; without a name after the colon it is `app`, or else the app of `kadmit.mutating` and
    `kadmit.validating`. A certificate is made for an address that the cluster can reach.

    \b
      kadmit webhook run hooks.py --reload
      kadmit webhook run hooks:app --kubeconfig .kadmit/admin.kubeconfig
      kadmit webhook run hooks.py --dry-run -o json
      kadmit webhook run hooks:app --no-register --port 8443 --tls-cert-file tls.crt --tls-private-key-file tls.key

    Exit codes: 0 ended by a signal; 1 cannot serve or register; 2 bad input.
    """
    from kadmit.webhook.answering import Limits
    from kadmit.webhook.sdk.loading import LoadError, Source
    from kadmit.webhook.sdk.running import Wishes

    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    if not 0 <= drain_delay < math.inf:
        _fail(BAD_INPUT, f"--drain-delay: must be a number of seconds, is {drain_delay:g}")
    source = Source(app, Path.cwd())
    try:
        loaded = source.load()
    except LoadError as error:
        _fail(BAD_INPUT, str(error), error.__cause__)
    cluster = None if no_register or dry_run else _cluster(kubeconfig, context)
    place = _place(cluster, host, port, url, given=_given_certificate(tls_cert_file, tls_private_key_file, ca_file))
    if dry_run:
        _print_configurations(loaded, place, output, _read(ca_file) if ca_file else b"")
        return
    wishes = Wishes(
        Limits(reviews=max_reviews, body_bytes=max_body_bytes, drain_delay=drain_delay),
        _callers(client_ca_file, client_name, client_token_file),
        reload=reload,
        quiet=quiet,
        debug=debug,
    )
    with _event_loops() as loops:
        loops.run(_run(source, loaded, place, wishes, cluster, output))


# ---------------------------------------------------------------- the cluster


class _Named(Struct, frozen=True):
    """A cluster to register with. The name of its context tells where it runs, if it has a usual one."""

    connection: "Connection"
    context: str


def _cluster(path: Path | None, context: str) -> _Named:
    from kadmit.api import yaml
    from kadmit.api.config import ConfigError
    from kadmit.webhook import kubeconfig

    found = path or _usual_kubeconfig()
    if found is None:
        inside = kubeconfig.in_cluster(os.environ)
        if inside is None:
            _fail(BAD_INPUT, "there is no kubeconfig: name one with --kubeconfig, or serve with --no-register")
        return _Named(inside, "")
    text = _read(found)
    try:
        connection = kubeconfig.read(text, str(found.parent), context)
        return _Named(connection, context or str(yaml.load(text).value.get("current-context")))
    except ConfigError as error:
        _fail(BAD_INPUT, f"{found}: {error}")


def _usual_kubeconfig() -> Path | None:
    named = os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]
    usual = Path(named) if named else Path.home() / ".kube" / "config"
    return usual if usual.exists() or named else None


# ---------------------------------------------------------------- where to serve, and with what


def _place(cluster: _Named | None, host: str, port: int, url: str, given: "_Certificate | None") -> "Place":
    from kadmit.webhook.sdk import address
    from kadmit.webhook.sdk.running import Place

    try:
        called = host or urlsplit(url).hostname or ""
        if not called:
            called = address.reachable(cluster.connection.server, cluster.context) if cluster else address.LOOPBACK
        if url and urlsplit(url).scheme != "https":
            _fail(BAD_INPUT, f"--url: must begin with https://, not {url!r}")
    except (OSError, ValueError) as error:
        _fail(CANNOT_RUN, f"no address that the cluster could call: {error}; give one with --host")
    made = given or _made_certificate(called)
    listening = "" if url else address.listening(called)
    return Place(
        host=listening,
        port=port,
        url=url or address.url(called, port or "{port}"),
        certificate=made.certificate,
        key=made.key,
        authority=made.authority,
        files=made.files,
    )


class _Certificate(Struct, frozen=True):
    certificate: bytes
    key: bytes
    authority: bytes
    files: tuple[Path, Path] | None = None


def _given_certificate(certificate: Path | None, key: Path | None, authority: Path | None) -> _Certificate | None:
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        _fail(BAD_INPUT, "--tls-cert-file and --tls-private-key-file go together")
    return _Certificate(_read(certificate), _read(key), _read(authority) if authority else b"", (certificate, key))


def _made_certificate(name: str) -> _Certificate:
    from kadmit.webhook import certificates

    lives = certificates.Lives(authority=_LIFE, certificate=_LIFE)
    made = certificates.renewed(None, {name, "localhost", "127.0.0.1"}, datetime.now(UTC), lives)
    return _Certificate(made.serving.certificate, made.serving.key, made.bundle)


def _callers(authorities: Path | None, names: tuple[str, ...], tokens: Path | None) -> "Callers":
    from kadmit.webhook.callers import Callers

    if names and authorities is None:
        _fail(BAD_INPUT, "--client-name needs --client-ca-file")
    if tokens is not None:
        _read(tokens)
    return Callers(_read(authorities) if authorities else b"", frozenset(names), tokens)


# ---------------------------------------------------------------- running


def _event_loops() -> asyncio.Runner:
    import uvloop

    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


async def _run(source: "Source", app: "App", place: "Place", wishes: "Wishes", cluster: _Named | None, output: str) -> None:
    from kadmit.webhook.cluster import Cluster
    from kadmit.webhook.sdk.registering import Registration, RegistrationError
    from kadmit.webhook.sdk.running import RunError, Runner

    client = Cluster(cluster.connection) if cluster else None
    runner = Runner(
        source,
        place,
        wishes,
        registration=Registration(client) if client else None,
        told=_tell,
        printed=lambda configurations: _print(configurations, output),
    )
    try:
        await runner.run(app)
    except (RunError, RegistrationError) as error:
        _fail(CANNOT_RUN, str(error))
    except asyncio.CancelledError:
        _fail(CANNOT_RUN, "ended without waiting for reviews")
    finally:
        if client is not None:
            await client.close()


def _print_configurations(app: "App", place: "Place", output: str, authority: bytes) -> None:
    try:
        _print(app.configurations(url=place.url.replace("{port}", "8443"), authority=authority), output)
    except ValueError as error:
        _fail(BAD_INPUT, str(error))


def _print(configurations: list[dict[str, Any]], output: str) -> None:
    if output == "json":
        made = {"apiVersion": "v1", "kind": "List", "items": configurations}
        click.echo(json.dumps(made, indent=2))
    else:
        import yaml

        click.echo(yaml.safe_dump_all(configurations, sort_keys=False), nl=False)


def _tell(text: str) -> None:
    click.echo(text, err=True)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        _fail(BAD_INPUT, f"cannot read {str(path)!r}: {error.strerror or error}")


def _fail(code: int, text: str, cause: BaseException | None = None) -> NoReturn:
    """NB: what a user's module raised is theirs to see whole."""
    if cause is not None:
        traceback.print_exception(cause)
    click.echo(f"error: {text}", err=True)
    sys.exit(code)
