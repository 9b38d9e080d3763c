"""kadmit webhook manifests: what to apply to a cluster, as YAML on standard output, or as a kustomize base."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from kadmit.matching.attributes import Json
from kadmit.presentation import yamltext
from kadmit.webhook import definitions, manifests
from kadmit.webhook.configuration import NAME
from kadmit.webhook.feeding import AUTO, BUILTIN, CUSTOM
from kadmit.webhook.manifests import Wanted

CANNOT_WRITE = 1


@click.command("manifests", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--namespace", default="kadmit-system", show_default=True, metavar="NAME", help="Where the webhook runs.")
@click.option("--name", default="kadmit-webhook", show_default=True, metavar="NAME", help="Of nearly everything.")
@click.option("--image", default=Wanted().image, show_default=True, metavar="IMAGE", help="An image that runs `kadmit`.")
@click.option("--replicas", default=2, show_default=True, type=click.IntRange(1), help="How many.")
@click.option("--cert-manager", is_flag=True, help="Certificates come from cert-manager, not from the webhook itself.")
@click.option(
    "--policies", type=click.Choice([AUTO, BUILTIN, CUSTOM]), default=AUTO, show_default=True, help="As `serve` has it."
)
@click.option("--params", multiple=True, metavar="RESOURCE.GROUP", help="A kind of params that policies use: configmaps.")
@click.option("--configuration-name", default=NAME, show_default=True, metavar="NAME", help="Of both webhook configurations.")
@click.option("--definitions", "with_definitions", is_flag=True, help="The definitions that `install` brings, too.")
@click.option("--kustomize", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Write a kustomize base.")
@click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True, help="Of what is printed."
)
def command(
    *,
    namespace: str,
    name: str,
    image: str,
    replicas: int,
    cert_manager: bool,
    policies: str,
    params: Sequence[str],
    configuration_name: str,
    with_definitions: bool,
    kustomize: Path | None,
    output: str,
) -> None:
    """Print what a cluster needs to run `kadmit webhook`: Namespace, ServiceAccount, RBAC, Service, Deployment,
    PodDisruptionBudget, and webhook configurations that the webhook fills in by itself.

    \b
      kadmit webhook manifests | kubectl apply -f -
      kadmit webhook manifests --params configmaps --replicas 3 --kustomize base/
      kadmit webhook manifests --cert-manager --image registry.example.com/kadmit:1

    Exit code: 0 done, 1 the base could not be written, 2 bad options.
    """
    wanted = Wanted(namespace, name, image, replicas, cert_manager, policies, tuple(params), configuration_name)
    made = [*(definitions.definitions() if with_definitions else ()), *manifests.manifests(wanted)]
    if kustomize is not None:
        _write(kustomize, made, namespace)
    elif output == "json":
        click.echo(json.dumps({"apiVersion": "v1", "kind": "List", "items": made}, indent=2))
    else:
        click.echo(_documents(made), nl=False)


def _documents(made: Sequence[Json]) -> str:
    return "---\n".join(yamltext.dump(each).decode() for each in made)


def _write(folder: Path, made: list[Json], namespace: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in manifests.kustomization(made, namespace).items():
            (folder / name).write_text(_documents(content if isinstance(content, list) else [content]))
    except OSError as error:
        click.echo(f"kadmit webhook manifests: cannot write {str(folder)!r}: {(error.strerror or '').lower()}", err=True)
        sys.exit(CANNOT_WRITE)
    click.echo(f"kubectl apply -k {folder}")
