"""kadmit admit: manifests through the admission chain, as a cluster made of files would take them."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence

import click

from kadmit.authoring.admission import Admission
from kadmit.authoring.explanation import ALLOWED, SKIPPED, UNCHANGED
from kadmit.authoring.visible import visible
from kadmit.cli import inputs, streams
from kadmit.cli.inputs import Inputs


@click.command("admit", context_settings={"help_option_names": ["-h", "--help"]})
@inputs.requests
@inputs.shown(
    "yaml",
    "json",
    "diff",
    "summary",
    meaning="The admitted objects, everything as JSON, what admission changed, or what each policy did.",
    coloured="diff",
)
@inputs.calling
def command(given: Inputs, *, output: str, color: str) -> None:
    """Run the whole admission chain on the objects of RESOURCES.

    Everything else is as the given files say: policies and bindings, params, Namespaces, CustomResourceDefinitions, roles for
    the authorizer. A Namespace that no file has is made up. What is admitted is there for the resources after it.

    \b
      kadmit admit -f policies/ deployment.yaml
      kadmit admit -f policies/ -o diff deployment.yaml
      kadmit admit -f policies/ --as alice --as-group developers --operation DELETE pod.yaml

    Exit code: 0 admitted, 1 denied, 2 bad input.
    """
    admitted, _ = given.admitted()
    _OUTPUTS[output](admitted, streams.is_coloured(color))
    sys.exit(inputs.exit_code(admitted))


# ---------------------------------------------------------------- output


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
        click.echo(visible("\n".join(_words(admission, of_all=True))))


_OUTPUTS: dict[str, Callable[[Sequence[Admission], bool], None]] = {
    "yaml": _print_yaml,
    "json": _print_json,
    "diff": _print_diff,
    "summary": _print_summary,
}


def _tell(admission: Admission) -> None:
    """What goes beside an object: on standard error, and only what somebody did."""
    click.echo(visible("\n".join(_words(admission, of_all=False))), err=True)


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
