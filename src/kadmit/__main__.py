"""python -m kadmit."""

from kadmit.cli import main

main()
