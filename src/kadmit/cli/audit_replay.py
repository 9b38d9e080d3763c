"""kadmit audit-replay: the requests of an audit log through new policies."""

import gzip
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import BinaryIO, cast

import click

from kadmit.authoring.manifests import Unreadable
from kadmit.authoring.replaying import log as events
from kadmit.authoring.replaying.replay import KEPT, Replay
from kadmit.authoring.workspace import Unusable
from kadmit.cli import replay_output
from kadmit.cli.replay_output import Progress

_GZIP = b"\x1f\x8b"
_NAME = "audit-replay"


class BadLog(ValueError):
    """A log that cannot be read; the message names it."""


@click.command(_NAME, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("logs", nargs=-1, metavar="LOG...")
@replay_output.options
@click.option(
    "--keep",
    type=click.IntRange(min=1),
    metavar="N",
    default=KEPT,
    show_default=True,
    help="Objects of the log that are remembered, as old objects and params of later requests.",
)
def command(logs: Sequence[str], *, policies: Sequence[str], output: str, fail_on: str, examples: int, keep: int) -> None:
    """Replay the requests of an API server's audit log through new policies.

    LOG is a file of JSON lines (audit.k8s.io/v1, level Request or better RequestResponse), perhaps gzipped; - is standard input.
    Several are read one after another: give the oldest first. Requests meet the given policies in a cluster of files and of what
    the log has shown until then. Webhooks are not called. What cannot be replayed is counted, with the reason.

    \b
      kadmit audit-replay audit.log -f policies/
      kadmit audit-replay audit-1.log.gz audit.log -f policies/ -f crds/ -o json
      zcat audit*.gz | kadmit audit-replay - -f policies/ --fail-on changed

    Exit code: 0 nothing denied (see --fail-on), 1 something is, 2 bad input.
    """
    if not logs:
        replay_output.bad_input(_NAME, "give at least one LOG")
    if [*policies, *logs].count("-") > 1:
        replay_output.bad_input(_NAME, "standard input can be read once: give all but one as files")
    try:
        given = replay_output.policies(_NAME, policies)
        replay = Replay(given, examples=examples, kept=keep)
        replay_output.tell_unbound(_NAME, given)
        _read(logs, replay)
    except (Unreadable, Unusable, BadLog) as e:
        replay_output.bad_input(_NAME, str(e))
    more = {"logs": list(logs), "events": replay.events}
    replay_output.finish(replay.findings, noun="request", done="replayed", output=output, fail_on=fail_on, more=more)


def _read(logs: Sequence[str], replay: Replay) -> None:
    progress, lines = Progress("lines"), 0
    try:
        for log in logs:
            known, before = replay.events, lines
            for line in _lines(log):
                lines += 1
                for told in events.read(line):
                    replay.take(told)
                progress.tell(lines, replay.findings)
            if lines > before and replay.events == known:
                raise BadLog(f"{_named(log)}: holds no audit event (audit.k8s.io/v1, one JSON object a line)")
    finally:
        progress.end()


def _lines(log: str) -> Iterator[bytes]:
    """Line by line, however long the log is. Raises BadLog."""
    try:
        with _opened(log) as file:
            while line := file.readline(events.MAX_LINE + 1):
                yield line
                while len(line) > events.MAX_LINE and not line.endswith(b"\n"):
                    line = file.readline(events.MAX_LINE)  # the rest of a line that is too long
    except OSError as e:
        raise BadLog(f"{_named(log)}: {e.strerror or e}") from None
    except (EOFError, zlib.error) as e:
        raise BadLog(f"{_named(log)}: broken gzip: {e}") from None


@contextmanager
def _opened(log: str) -> Iterator[BinaryIO]:
    """The log as plain bytes, whether or not it is gzipped."""
    if log == "-":
        yield _plain(sys.stdin.buffer)
        return
    with Path(log).open("rb") as file:
        yield _plain(file)


def _plain(raw: BinaryIO) -> BinaryIO:
    file = raw if isinstance(raw, BufferedReader) else BufferedReader(cast("RawIOBase", raw))
    return cast("BinaryIO", gzip.GzipFile(fileobj=file)) if file.peek(2)[:2] == _GZIP else file


def _named(log: str) -> str:
    return "standard input" if log == "-" else log
