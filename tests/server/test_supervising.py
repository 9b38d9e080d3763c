"""A supervisor whose workers do nothing but wait. It is a process of its own, since signals are its subject."""

import subprocess
import sys

SECONDS = 20

PROGRAM = """
import os, signal
from kadmit.server import logs
from kadmit.server.supervising import Supervisor

def work(place):
    print("worker", place.number, flush=True)
    place.ready()
    signal.pause()

def ready():
    os.kill(os.getpid(), signal.SIGTERM)

raise SystemExit(Supervisor(work, logs.configured("text", 0), ready).run(3))
"""


def test_a_signal_before_all_workers_have_begun_ends_those_that_have() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "worker 0\n", "")
