"""What audit-replay and impact have in common: their report, how far they are, and how they end."""

import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import click

from kadmit.api.registration import POLICY_OF
from kadmit.authoring.manifests import Manifest
from kadmit.authoring.replaying.findings import Findings
from kadmit.authoring.visible import visible
from kadmit.cli import files

FOUND, BAD_INPUT = 1, 2
DENIED, CHANGED, NEVER = "denied", "changed", "never"
_SECONDS = 0.2  # between two looks at how far it is

OPTIONS: Sequence[Callable[..., Any]] = (
    click.option(
        "-f",
        "--filename",
        "policies",
        metavar="POLICIES",
        multiple=True,
        help="File or folder with policies, bindings, params, Namespaces, CRDs, roles; repeatable; - is standard input.",
    ),
    click.option(
        "-o",
        "--output",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="For people, or everything as JSON.",
    ),
    click.option(
        "--fail-on",
        type=click.Choice([DENIED, CHANGED, NEVER]),
        default=DENIED,
        show_default=True,
        help="When the exit code is 1: if anything is denied; denied or changed; or never.",
    ),
    click.option(
        "--examples", type=click.IntRange(min=0), metavar="N", default=3, show_default=True, help="Examples of each finding."
    ),
)


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def bad_input(command: str, message: str) -> NoReturn:
    click.echo(f"kadmit {command}: {message}", err=True)
    sys.exit(BAD_INPUT)


def policies(command: str, paths: Sequence[str]) -> list[Manifest]:
    """What -f names, at least one policy among it; else the answer would be no news at all. Raises Unreadable."""
    if not paths:
        bad_input(command, "give policies with -f")
    found = files.read_some(paths)
    if not any(m.kind.kind in POLICY_OF.values() for m in found):
        bad_input(command, f"there is no policy in {', '.join(paths)}")
    return found


def tell_unbound(command: str, found: Sequence[Manifest]) -> None:
    """Policies that nothing binds, and so do nothing."""
    named = {(m.kind.kind, m.name): m for m in found if m.kind.kind in POLICY_OF.values()}
    bound = {(POLICY_OF[m.kind.kind], (m.value.get("spec") or {}).get("policyName")) for m in found if m.kind.kind in POLICY_OF}
    for policy in sorted(named.keys() - bound):
        click.echo(f"kadmit {command}: {named[policy].place()}: no binding puts {policy[1]} to use: it does nothing", err=True)


class Progress:
    """How far it is, on a terminal only: one line that is written over, and gone in the end."""

    def __init__(self, noun: str) -> None:
        self._noun = noun
        self._shown = sys.stderr.isatty()
        self._next = time.monotonic() + _SECONDS
        self._width = 0

    def tell(self, done: int, findings: Findings) -> None:
        if not self._shown or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _SECONDS
        text = f"{done} {self._noun}, {findings.denied} denied, {findings.changed} changed"
        self._width = max(self._width, len(text))
        click.echo(f"\r{text:<{self._width}}", err=True, nl=False)

    def end(self) -> None:
        if self._width:
            click.echo(f"\r{'':<{self._width}}\r", err=True, nl=False)


def finish(findings: Findings, *, noun: str, done: str, output: str, fail_on: str, more: dict[str, Any]) -> NoReturn:
    """Prints the report and ends."""
    if output == "json":
        click.echo(json.dumps({**more, **findings.as_json()}, ensure_ascii=False, indent=2))
    else:
        click.echo(visible("\n".join(findings.lines(noun, done))))
    found = findings.denied > 0 or (fail_on == CHANGED and findings.changed > 0)
    sys.exit(FOUND if found and fail_on != NEVER else 0)
