"""kadmit impact: objects at rest, from files or from a cluster, before new policies."""

from collections.abc import Sequence

import click

from kadmit.authoring.cluster import ADMIN
from kadmit.authoring.manifests import Manifest, Unreadable
from kadmit.authoring.person import person
from kadmit.authoring.replaying.rest import Impact
from kadmit.authoring.workspace import Unusable
from kadmit.cli import files, replay_output
from kadmit.cli.replay_output import Progress
from kadmit.matching.attributes import CREATE, UPDATE

_NAME = "impact"


@click.command(_NAME, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("resources", nargs=-1, metavar="[RESOURCES]...")
@replay_output.options
@click.option("--kubeconfig", metavar="FILE", help="List the objects of a cluster, too: only get and list are used.")
@click.option("--context", metavar="NAME", default="", help="Context of the kubeconfig, if not its current one.")
@click.option("-n", "--namespace", metavar="NAME", default="", help="Only objects of this namespace of the cluster.")
@click.option(
    "--operation",
    "operations",
    type=click.Choice([UPDATE, CREATE]),
    multiple=True,
    help="What is asked for with each object: UPDATE with itself (what is done without this), or CREATE; repeatable.",
)
@click.option("--as", "user", metavar="USER", help="Who asks; without it an administrator.")
@click.option("--as-group", "groups", metavar="GROUP", multiple=True, help="A group of that user; repeatable.")
def command(
    resources: Sequence[str],
    *,
    policies: Sequence[str],
    output: str,
    fail_on: str,
    examples: int,
    kubeconfig: str | None,
    context: str,
    namespace: str,
    operations: Sequence[str],
    user: str | None,
    groups: Sequence[str],
) -> None:
    """Hold objects that are there already against new policies: what would be denied, changed or warned of.

    The objects are those of RESOURCES, files or folders, or those of a cluster, of which only what the policies can match is
    listed. Each is sent as an UPDATE of itself. Params, Namespaces, kinds and roles are found among the objects and in POLICIES.

    \b
      kadmit impact -f policies/ manifests/
      kadmit impact -f policies/ --kubeconfig ~/.kube/config
      kadmit impact -f policies/ manifests/ --operation CREATE --as alice -o json

    Exit code: 0 nothing denied (see --fail-on), 1 something is, 2 bad input.
    """
    if not resources and kubeconfig is None:
        replay_output.bad_input(_NAME, "give RESOURCES or --kubeconfig")
    if [*policies, *resources].count("-") > 1:
        replay_output.bad_input(_NAME, "standard input can be read once: give all but one as files")
    if groups and user is None:
        replay_output.bad_input(_NAME, "--as-group: needs --as")
    who = ADMIN if user is None else person(user, tuple(groups))
    try:
        given = replay_output.policies(_NAME, policies)
        impact = Impact(
            given,
            operations=tuple(dict.fromkeys(operations)) or (UPDATE,),
            user=who,
            examples=examples,
        )
        replay_output.tell_unbound(_NAME, given)
        _take_files(impact, files.read_some(resources))
        if kubeconfig is not None:
            _take_cluster(impact, kubeconfig, context, namespace)
    except (Unreadable, Unusable) as e:
        replay_output.bad_input(_NAME, str(e))
    noun = "object" if len(impact.operations) == 1 else "request"
    more = {"objects": impact.objects}
    replay_output.finish(impact.findings, noun=noun, done="tried", output=output, fail_on=fail_on, more=more)


def _take_files(impact: Impact, found: Sequence[Manifest]) -> None:
    impact.surround(sorted(found, key=lambda m: m.kind.kind != "CustomResourceDefinition"))
    progress = Progress("objects")
    for manifest in found:
        impact.take(manifest, file=f"{manifest.file.name}:{manifest.line()}")
        progress.tell(impact.objects, impact.findings)
    progress.end()


def _take_cluster(impact: Impact, kubeconfig: str, context: str, namespace: str) -> None:
    from kadmit.cli import impact_cluster

    try:
        impact_cluster.take(impact, kubeconfig, context, namespace, Progress("objects"))
    except impact_cluster.NoCluster as e:
        replay_output.bad_input(_NAME, str(e))
