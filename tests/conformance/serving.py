"""A real `kadmit serve` for the recordings: its own process, port, data folder and audit log, started as they were recorded."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

SERVER = Path(__file__).parent / "server"
TOKENS = SERVER / "tokens.csv"
VERSIONS = "admissionregistration.k8s.io/v1beta1=true,admissionregistration.k8s.io/v1alpha1=true"


class Served:
    """A server that runs while this lasts. `more` flags are added to those of the recorded server."""

    def __init__(self, more: Sequence[str] = (), *, storage: str = "memory") -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="kadmit-")
        folder = Path(self._folder.name)
        self.audit_log = folder / "audit.log"
        self._errors = folder / "stderr"
        self._command = [
            sys.executable,
            "-m",
            "kadmit",
            "serve",
            "--secure-port=0",
            f"--storage={storage}",
            f"--data-dir={folder / 'data'}",
            f"--token-auth-file={TOKENS}",
            f"--audit-policy-file={SERVER / 'audit-policy.yaml'}",
            f"--audit-log-path={self.audit_log}",
            f"--runtime-config={VERSIONS}",
            *more,
        ]
        self.url = ""
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        with self._errors.open("w") as errors:
            self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if "ready at" not in line:
            self._end()
            raise RuntimeError(f"kadmit serve did not start: {self._errors.read_text()}")
        self.url = line.split()[4].rstrip(";")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()
        self._folder.cleanup()

    def _end(self) -> None:
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def complaints(self) -> str:
        """What the server has logged: nothing, if nothing unexpected happened."""
        return self._errors.read_text()
