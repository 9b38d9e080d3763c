"""kadmit explain: one request through the whole chain, as a story."""

import json
import sys
from collections.abc import Sequence

import click

from kadmit.authoring.story import story, tree
from kadmit.authoring.story.shape import Story
from kadmit.cli import inputs, streams
from kadmit.cli.inputs import Inputs


@click.command("explain", context_settings={"help_option_names": ["-h", "--help"]})
@inputs.requests
@inputs.shown(
    "tree",
    "text",
    "json",
    "html",
    meaning="A tree (indented text where there is no terminal), indented text, everything as JSON, or one HTML file to share.",
    coloured="tree",
)
@click.option("--reviews", is_flag=True, help="Show the AdmissionReview that each webhook was sent.")
@inputs.calling
def command(given: Inputs, *, output: str, color: str, reviews: bool) -> None:
    """Tell what every policy and webhook does with the objects of RESOURCES, and why.

    Every policy and webhook in order, matched or not and by which clause not; match conditions, variables, validations and
    mutations with the values of their sub-expressions and their cost; the params chosen, each change, reinvocations, calls; the
    object as admitted, warnings, audit annotations and metrics. The files are those of `kadmit admit`.

    \b
      kadmit explain -f policies/ deployment.yaml
      kadmit explain -f policies/ --as alice --old-object before.yaml after.yaml
      kadmit explain -f policies/ -o html pod.yaml >why.html

    Exit code: 0 admitted, 1 denied, 2 bad input.
    """
    admitted, surroundings = given.admitted()
    stories = [story.tell(admission, surroundings) for admission in admitted]
    if output == "json":
        _print_json(stories, reviews=reviews)
    else:
        _print_lines(stories, output, coloured=streams.is_coloured(color), reviews=reviews)
    sys.exit(inputs.exit_code(admitted))


def _print_json(stories: Sequence[Story], *, reviews: bool) -> None:
    made = {"allowed": all(s.admission.allowed for s in stories), "stories": [s.as_json(reviews=reviews) for s in stories]}
    click.echo(json.dumps(made, ensure_ascii=False, indent=2))


def _print_lines(stories: Sequence[Story], output: str, *, coloured: bool, reviews: bool) -> None:
    trees = [tree.tree(s, whole=True, reviews=reviews) for s in stories]
    if output == "html":
        from kadmit.authoring.story import page

        click.echo(page.page(trees), nl=False)
    elif output == "tree" and (coloured or sys.stdout.isatty()):
        from kadmit.authoring.story import screen

        screen.draw(trees, coloured=coloured)
    else:
        click.echo("\n\n".join(map(tree.text, trees)))
