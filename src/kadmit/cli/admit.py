"""kadmit admit: manifests through the admission chain, as a cluster made of files would take them."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

import click

from kadmit.authoring.admitting import Admission, Admitting, Asked, allowing
from kadmit.authoring.cluster import ADMIN, Ask
from kadmit.authoring.explanation import ALLOWED, SKIPPED, UNCHANGED
from kadmit.authoring.manifests import Unreadable
from kadmit.authoring.workspace import Unusable
from kadmit.cel.library.authorizer import Attributes, User
from kadmit.cli import files
from kadmit.matching.attributes import CREATE, DELETE, UPDATE

DENIED, BAD_INPUT = 1, 2


@click.command("admit", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("resources", nargs=-1, metavar="RESOURCES...")
@click.option(
    "-f",
    "--filename",
    "policies",
    metavar="POLICIES",
    multiple=True,
    help="File or folder with policies, bindings, webhooks, params, Namespaces, CRDs, roles; repeatable; - is standard input.",
)
@click.option(
    "--old-object",
    "old_objects",
    metavar="FILE",
    multiple=True,
    help="Objects before the requests: a resource of the same kind and name is an UPDATE of it; repeatable.",
)
@click.option(
    "--operation",
    type=click.Choice([CREATE, UPDATE, DELETE]),
    help="What is done with the resources. Without it: UPDATE where there is an old object, else CREATE.",
)
@click.option("--as", "user", metavar="USER", help="Who makes the requests; without it an administrator.")
@click.option("--as-group", "groups", metavar="GROUP", multiple=True, help="A group of that user; repeatable.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["yaml", "json", "diff", "summary"]),
    default="yaml",
    show_default=True,
    help="The admitted objects, everything as JSON, what admission changed, or what each policy did.",
)
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colours in a diff; auto: on a terminal.",
)
@click.option("--call-webhooks", is_flag=True, help="Really call webhooks, in dry runs; without it each is taken to allow.")
def command(
    resources: Sequence[str],
    *,
    policies: Sequence[str],
    old_objects: Sequence[str],
    operation: str | None,
    user: str | None,
    groups: Sequence[str],
    output: str,
    color: str,
    call_webhooks: bool,
) -> None:
    """Run the whole admission chain on the objects of RESOURCES.

    Everything else is as the given files say: policies and bindings, params, Namespaces, CustomResourceDefinitions, roles for
    the authorizer. A Namespace that no file has is made up. What is admitted is there for the resources after it.

    \b
      kadmit admit -f policies/ deployment.yaml
      kadmit admit -f policies/ -o diff deployment.yaml
      kadmit admit -f policies/ --as alice --as-group developers --operation DELETE pod.yaml

    Exit code: 0 admitted, 1 denied, 2 bad input.
    """
    if not resources:
        _bad_input("give at least one file with RESOURCES")
    if [*policies, *old_objects, *resources].count("-") > 1:
        _bad_input("standard input can be read once: give all but one as files")
    asked = Asked(_user(user, groups), operation, call_webhooks)
    try:
        with _asking(call_webhooks) as ask:
            admitting = Admitting(files.read_all(policies), files.read_all(old_objects), asked=asked, ask=ask)
            admitted = admitting.admit_all(files.read_all(resources))
    except (Unreadable, Unusable) as e:
        _bad_input(str(e))
    _OUTPUTS[output](admitted, _is_coloured(color))
    sys.exit(0 if all(a.allowed for a in admitted) else DENIED)


# ---------------------------------------------------------------- input


def _bad_input(message: str) -> NoReturn:
    click.echo(f"kadmit admit: {message}", err=True)
    sys.exit(BAD_INPUT)


def _user(name: str | None, groups: Sequence[str]) -> User:
    """The user with the groups that the server adds, as if an administrator impersonated them."""
    if name is None:
        if groups:
            _bad_input("--as-group: needs --as")
        return ADMIN
    from kadmit.access import impersonation
    from kadmit.access.rbac import Rbac

    wanted = User(name, groups=tuple(groups))
    found = impersonation.impersonate(Rbac.build(()), Attributes(ADMIN, "create"), wanted)
    assert isinstance(found, impersonation.Impersonated), "an administrator may be anybody"
    return found.user


@contextmanager
def _asking(really: bool) -> Iterator[Ask]:
    if not really:
        yield allowing
        return
    from kadmit.cli import calling

    with calling.webhooks() as ask:
        yield ask


# ---------------------------------------------------------------- output


def _is_coloured(color: str) -> bool:
    return color == "always" or (color == "auto" and sys.stdout.isatty())


def _print_yaml(admitted: Sequence[Admission], _coloured: bool) -> None:
    from kadmit.presentation import yamltext

    first = True
    for admission in admitted:
        _tell(admission)
        if admission.object is not None:
            click.echo(("" if first else "---\n") + yamltext.dump(admission.object).decode(), nl=False)
            first = False


def _print_json(admitted: Sequence[Admission], _coloured: bool) -> None:
    results = [a.as_json() for a in admitted]
    click.echo(json.dumps({"allowed": all(a.allowed for a in admitted), "results": results}, ensure_ascii=False, indent=2))


def _print_diff(admitted: Sequence[Admission], coloured: bool) -> None:
    from kadmit.authoring import diff

    for admission in admitted:
        _tell(admission)
        if admission.object is None or admission.before is None:
            continue
        lines = diff.unified(admission.before, admission.object, admission.title)
        for line in diff.coloured(lines) if coloured else lines:
            click.echo(line, color=coloured)


def _print_summary(admitted: Sequence[Admission], _coloured: bool) -> None:
    for admission in admitted:
        click.echo("\n".join(_words(admission, of_all=True)))


_OUTPUTS: dict[str, Callable[[Sequence[Admission], bool], None]] = {
    "yaml": _print_yaml,
    "json": _print_json,
    "diff": _print_diff,
    "summary": _print_summary,
}


def _tell(admission: Admission) -> None:
    """What goes beside an object: on standard error, and only what somebody did."""
    click.echo("\n".join(_words(admission, of_all=False)), err=True)


def _words(admission: Admission, *, of_all: bool) -> Iterator[str]:
    where = f" in {admission.namespace}" if admission.namespace else ""
    if admission.status is None:
        yield f"{admission.title}{where}: {admission.operation} admitted{', changed' if admission.changed else ''}"
    else:
        status = admission.status
        yield f"{admission.title}{where}: {admission.operation} denied ({status.code} {status.reason})".rstrip()
        yield f"  {status.message}"
    yield from (f"  {step}" for step in admission.steps if of_all or step.did not in (SKIPPED, ALLOWED, UNCHANGED))
    yield from (f"  warning: {text}" for text in admission.warnings)
    yield from (f"  audit annotation {key}: {value}" for key, value in admission.annotations.items())
