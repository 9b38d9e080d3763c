"""A real etcd on loopback, with one member, quick to elect itself; started and stopped by its process."""

import shutil
import socket
import subprocess
import time
from pathlib import Path

_START_SECONDS = 30.0


class EtcdProcess:
    """NB: the ports stay the same over restarts, so clients find the member again."""

    def __init__(self, folder: Path, *arguments: str, scheme: str = "http") -> None:
        self._folder = folder
        self._arguments = arguments
        self._port, self._peer_port = free_ports(2)
        self._process: subprocess.Popen[bytes] | None = None
        self.endpoint = f"{scheme}://127.0.0.1:{self._port}"

    def start(self) -> "EtcdProcess":
        with (self._folder / "etcd.log").open("ab") as log:
            self._process = subprocess.Popen(self._command(), stdout=log, stderr=log)
        self._wait_until_it_listens(self._process)
        return self

    def __enter__(self) -> "EtcdProcess":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """SIGKILL: no farewell."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _command(self) -> list[str]:
        program = shutil.which("etcd")
        assert program, "etcd is not installed: run scripts/ensure-etcd"
        peer = f"http://127.0.0.1:{self._peer_port}"
        return [
            program,
            *("--name", "one", "--data-dir", str(self._folder / "data"), "--logger", "zap", "--log-level", "warn"),
            *("--listen-client-urls", self.endpoint, "--advertise-client-urls", self.endpoint),
            *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"one={peer}"),
            *("--heartbeat-interval", "10", "--election-timeout", "100"),
            *self._arguments,
        ]

    def _wait_until_it_listens(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            time.sleep(0.01)
        raise AssertionError(f"etcd does not start: {(self._folder / 'etcd.log').read_text()}")


def free_ports(count: int) -> list[int]:
    """Taken all at once, so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
