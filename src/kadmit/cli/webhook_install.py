"""kadmit webhook install: definitions of policies, for a cluster whose API has none."""

import asyncio
import json
import sys
from typing import NoReturn

import click

from kadmit.api.errors import ApiError
from kadmit.cli.webhook_cluster import NoCluster, connection
from kadmit.presentation import yamltext
from kadmit.webhook import definitions
from kadmit.webhook.cluster import Cluster, Unreachable
from kadmit.webhook.configuration import MANAGER
from kadmit.webhook.kubeconfig import Connection

CANNOT_INSTALL, BAD_INPUT = 1, 2
_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@click.command("install", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--kubeconfig", metavar="FILE", help="The cluster to install in.")
@click.option("--context", default="", metavar="NAME", help="A context of the kubeconfig.")
@click.option("--print", "printing", is_flag=True, help="Print the definitions, and install nothing.")
@click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True, help="Of what is printed."
)
def command(*, kubeconfig: str | None, context: str, printing: bool, output: str) -> None:
    """Bring definitions of MutatingAdmissionPolicy, ValidatingAdmissionPolicy and their bindings, in the group
    policies.kadmit.dev, to a cluster whose API has none. Running it again updates them.

    \b
      kadmit webhook install
      kadmit webhook install --print | kubectl apply --server-side -f -

    Exit code: 0 installed, 1 the cluster refused or cannot be reached, 2 bad options.
    """
    if printing:
        made = definitions.definitions()
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": made}, indent=2) + "\n"
        click.echo("---\n".join(yamltext.dump(each).decode() for each in made) if output == "yaml" else text, nl=False)
        return
    try:
        found = connection(kubeconfig, context, wanted=True)
    except NoCluster as error:
        _fail(BAD_INPUT, str(error))
    assert found is not None
    try:
        asyncio.run(_install(found))
    except (ApiError, *Unreachable) as error:
        _fail(CANNOT_INSTALL, str(error) or type(error).__name__)


async def _install(found: Connection) -> None:
    cluster = Cluster(found)
    try:
        for definition in definitions.definitions():
            name = definition["metadata"]["name"]
            await cluster.apply(f"{_PATH}/{name}", definition, MANAGER)
            click.echo(f"customresourcedefinition.apiextensions.k8s.io/{name} applied")
    finally:
        await cluster.close()


def _fail(code: int, text: str) -> NoReturn:
    click.echo(f"kadmit webhook install: {text}", err=True)
    sys.exit(code)
