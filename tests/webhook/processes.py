"""Real processes for tests: `kadmit serve` as the cluster, `kadmit webhook` in front of it, each on a free port."""

import http.client
import os
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

SECONDS = 30.0
NAMESPACE = "kadmit-system"
_UNVERIFIED = ssl.create_default_context()
_UNVERIFIED.check_hostname = False
_UNVERIFIED.verify_mode = ssl.CERT_NONE
_SAMPLE = re.compile(r"(?P<name>\w+)(?:\{(?P<labels>[^}]*)\})? (?P<value>\S+)")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class Process:
    """A command that says when it is ready, and is ended with the block."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="kadmit-")
        self.folder = Path(self._folder.name)
        self._log = self.folder / "stderr"
        self._command = [sys.executable, "-m", "kadmit", *arguments]
        self.process: subprocess.Popen[str] | None = None
        self.line = ""

    def __enter__(self) -> Self:
        environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        with self._log.open("w") as log:
            self.process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        assert self.process.stdout is not None
        patience = threading.Timer(SECONDS, self.process.kill)
        patience.start()
        self.line = self.process.stdout.readline()
        patience.cancel()
        if "ready at" not in self.line:
            self.end()
            raise RuntimeError(f"{self._command}: {self.complaints}")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.end()
        self._folder.cleanup()

    def end(self) -> int:
        """As a kubelet ends a container: told first, killed later. The exit code."""
        assert self.process is not None
        self.process.terminate()
        try:
            return self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
        finally:
            assert self.process.stdout is not None
            self.process.stdout.close()

    @property
    def url(self) -> str:
        found = re.search(r"https?://[^\s;]+", self.line)
        assert found is not None
        return found[0]

    @property
    def complaints(self) -> str:
        return self._log.read_text()


class Webhook(Process):
    """`kadmit webhook` for a cluster, called by its address."""

    def __init__(self, kubeconfig: Path, *more: str, port: int = 0) -> None:
        self.port = port or free_port()
        given = [f"--kubeconfig={kubeconfig}", "--bind-address=127.0.0.1", f"--port={self.port}", f"--namespace={NAMESPACE}"]
        url = [] if any(option.startswith("--url") for option in more) else [f"--url=https://127.0.0.1:{self.port}"]
        super().__init__(["webhook", *given, *url, *more])
        self._asking: http.client.HTTPSConnection | None = None

    def end(self) -> int:
        if self._asking is not None:
            self._asking.close()
        return super().end()

    def metrics(self) -> dict[str, dict[str, float]]:
        """Values by metric, then by the value of the only label."""
        if self._asking is None:
            self._asking = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=SECONDS, context=_UNVERIFIED)
        self._asking.request("GET", "/metrics")
        lines = self._asking.getresponse().read().decode().splitlines()
        found: dict[str, dict[str, float]] = {}
        for sample in filter(None, map(_SAMPLE.fullmatch, lines)):
            label = (sample["labels"] or "").partition("=")[2].strip('"')
            found.setdefault(sample["name"], {})[label] = float(sample["value"])
        return found


def kubeconfig(folder: Path, server: str, token: str) -> Path:
    """For a server whose certificate nobody checks."""
    path = folder / f"kubeconfig-{token}"
    path.write_text(
        f"""apiVersion: v1
kind: Config
current-context: test
clusters: [{{name: test, cluster: {{server: "{server}", insecure-skip-tls-verify: true}}}}]
users: [{{name: test, user: {{token: "{token}"}}}}]
contexts: [{{name: test, context: {{cluster: test, user: test}}}}]
"""
    )
    return path
