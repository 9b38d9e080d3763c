"""The three standard streams: one need not be there, may be full, and may lose its reader before all is said.

None of these is a finding of a command, so none ends with the exit code of one.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

import click

CANNOT_WRITE, INTERRUPTED, NOBODY_READS = 2, 130, 141  # the last two as a shell counts signals


def ensure() -> None:
    """Who starts a program may close its streams. Then there is nothing to read, and nobody who listens."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123  # as long as the program


def is_coloured(wanted: str) -> bool:
    """Whether what is printed may have colours: always, never, or auto. NB: many a user has said NO_COLOR for all programs."""
    return wanted == "always" or (wanted == "auto" and sys.stdout.isatty() and not os.environ.get("NO_COLOR"))


@contextmanager
def guarded() -> Iterator[None]:
    """Ends the program where it is interrupted, or where its output goes nowhere."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo("", err=True)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        _be_silent()
        sys.exit(NOBODY_READS)
    except OSError as e:
        if e.filename is not None:
            raise  # about a file, which its command should have told of
        _end(e)


def _end(error: OSError) -> NoReturn:
    _be_silent()
    with suppress(OSError):  # standard error, for one, may be what cannot be written
        click.echo(f"kadmit: cannot write: {error.strerror or error}", err=True)
    sys.exit(CANNOT_WRITE)


def _be_silent() -> None:
    """NB: what is left in its buffer would be written, and fail, once more when the program ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
