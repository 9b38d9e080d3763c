"""python -m kadmit."""

from kadmit.cli import run

run()
