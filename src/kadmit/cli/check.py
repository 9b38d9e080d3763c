"""kadmit check: what is wrong or doubtful about the policies, bindings and webhook configurations of files."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NoReturn

import click

FOUND, BAD_INPUT = 1, 2
_FORMATS = ("text", "json", "sarif", "github")
_SEVERITIES = ("error", "warning", "info")


@click.command("check", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, metavar="FILES...")
@click.option(
    "-o",
    "--output",
    type=click.Choice(_FORMATS),
    default="text",
    show_default=True,
    help="Lines for people, one JSON object, SARIF 2.1.0 for code scanners, or GitHub's annotations.",
)
@click.option(
    "--select", "selected", metavar="CODES", multiple=True, help="Only these rules: KA101,KA202, or KA1 for all that begin so."
)
@click.option("--ignore", "ignored", metavar="CODES", multiple=True, help="Not these rules.")
@click.option(
    "--fail-on",
    type=click.Choice(_SEVERITIES),
    default="warning",
    show_default=True,
    help="The least severity that makes the exit code 1.",
)
@click.option(
    "--now", metavar="TIME", help="The moment at which certificates must be valid, as in 2026-01-31T00:00:00Z. Default: now."
)
@click.option("--list-rules", is_flag=True, help="List all rules and exit.")
@click.option("--explain", metavar="CODE", help="Explain a rule, with examples, and exit.")
def command(
    paths: Sequence[str],
    *,
    output: str,
    selected: Sequence[str],
    ignored: Sequence[str],
    fail_on: str,
    now: str | None,
    list_rules: bool,
    explain: str | None,
) -> None:
    """Check policies, bindings and webhook configurations, and what their expressions and mutations come to.

    FILES are YAML or JSON, or folders with such files; - is standard input. First comes what the server would have against
    registering them: API validation, expressions that do not compile, fields that are unknown or given twice. Then what it would
    not say: expressions and mutations are held against the schemas of the kinds that the rules match, built in or defined by a
    CustomResourceDefinition among FILES; mutations are run on sample objects; and rules tell of what is likely to go wrong.
    Objects of other kinds serve as samples, params and surroundings.

    Each finding has a code, a place and a fix. A comment silences it, on its line or the one above: # kadmit: ignore KA202

    \b
      kadmit check policies/
      kadmit check --ignore KA604 --fail-on error policy.yaml
      kadmit check -o sarif policies/ > kadmit.sarif
      kadmit check --explain KA101

    Exit code: 0 nothing as severe as --fail-on, 1 findings, 2 unreadable input.
    """
    if list_rules or explain is not None:
        _tell_rules(explain)
        return
    if not paths:
        _bad_input("give at least one file")
    if paths.count("-") > 1:
        _bad_input("standard input can be read once")
    at = _moment(now)
    from kadmit.authoring import checking
    from kadmit.authoring.lint import reporting
    from kadmit.authoring.lint.rule import Severity
    from kadmit.authoring.manifests import Unreadable
    from kadmit.cli import files

    try:
        selection = checking.Selection(_codes(selected), _codes(ignored))
        manifests = files.read_some(paths)
    except (Unreadable, checking.UnknownCode) as e:
        _bad_input(str(e))
    checked = checking.check(manifests, now=at, selection=selection)
    click.echo(reporting.report(checked, output), nl=False)
    if output == "text":
        click.echo(reporting.summary(checked), err=True)
    sys.exit(FOUND if checked.worst(Severity(fail_on)) else 0)


def _tell_rules(code: str | None) -> None:
    from kadmit.authoring.lint import catalogue, reporting

    if code is None:
        click.echo(reporting.listing(catalogue.RULES), nl=False)
        return
    rule = catalogue.named(code)
    if rule is None:
        _bad_input(f"there is no rule {code}; --list-rules lists them")
    click.echo(reporting.explained(rule), nl=False)


def _codes(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(code for text in given for code in text.replace(",", " ").split())


def _moment(text: str | None) -> datetime:
    if text is None:
        return datetime.now(UTC)
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        _bad_input(f"--now: {text} is no time; write 2026-01-31T00:00:00Z")
    return read if read.tzinfo is not None else read.replace(tzinfo=UTC)


def _bad_input(message: str) -> NoReturn:
    click.echo(f"kadmit check: {message}", err=True)
    sys.exit(BAD_INPUT)
