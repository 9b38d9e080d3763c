"""kadmit check: what the server would have against the policies, bindings and webhook configurations of files."""

import json
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from kadmit.authoring import checking
from kadmit.authoring.checking import Problem
from kadmit.authoring.manifests import Unreadable
from kadmit.cli import files

PROBLEMS, BAD_INPUT = 1, 2


@click.command("check", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, metavar="FILES...")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="A line a problem, or all in one JSON object.",
)
def command(paths: Sequence[str], *, output: str) -> None:
    """Check policies, bindings and webhook configurations as the server would on their registration.

    FILES are YAML or JSON, or folders with such files; - is standard input. Every problem is told with its file and line:
    what API validation says, expressions that do not compile among it, and fields that are unknown or given twice. Expressions
    of a ValidatingAdmissionPolicy that do not fit the kinds of its rules are warned of. CustomResourceDefinitions are checked,
    too; objects of other kinds are not.

    \b
      kadmit check policies/
      kadmit check -o json policy.yaml

    Exit code: 0 clean, 1 problems, 2 unreadable input.
    """
    if not paths:
        _bad_input("give at least one file")
    if paths.count("-") > 1:
        _bad_input("standard input can be read once")
    try:
        manifests = files.read_all(paths)
    except Unreadable as e:
        _bad_input(str(e))
    found = checking.check(manifests)
    checked = sum(map(checking.is_checked, manifests))
    if output == "json":
        _print_json(found, checked, len(manifests) - checked)
    else:
        _print_text(found, checked, len(manifests) - checked)
    sys.exit(PROBLEMS if found else 0)


def _bad_input(message: str) -> NoReturn:
    click.echo(f"kadmit check: {message}", err=True)
    sys.exit(BAD_INPUT)


def _print_json(found: Sequence[Problem], checked: int, others: int) -> None:
    made = {"checked": checked, "notChecked": others, "problems": [p.as_json() for p in found]}
    click.echo(json.dumps(made, ensure_ascii=False, indent=2))


def _print_text(found: Sequence[Problem], checked: int, others: int) -> None:
    for problem in found:
        click.echo(str(problem))
    beside = f", {_counted(others, 'object')} of other kinds not looked at" if others else ""
    click.echo(f"{_counted(checked, 'object')} checked{beside}: {_counted(len(found), 'problem')}", err=True)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
