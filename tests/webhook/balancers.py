"""A Service as the network of a cluster makes it: connections to one address go to any of its endpoints."""

import contextlib
import random
import socket
import threading
from types import TracebackType
from typing import Self

_CHUNK = 65536


class Balancer:
    """`ports` are the endpoints, on loopback. A connection to one that is gone is refused by hanging up."""

    def __init__(self) -> None:
        self.ports: set[int] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._lead, args=(caller,), daemon=True).start()

    def _lead(self, caller: socket.socket) -> None:
        with caller:
            try:
                endpoint = socket.create_connection(("127.0.0.1", random.choice(sorted(self.ports))))
            except OSError:
                return
            with endpoint:
                back = threading.Thread(target=_pass_on, args=(endpoint, caller), daemon=True)
                back.start()
                _pass_on(caller, endpoint)
                back.join()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    """Until one of them has had enough, of which the other one is told."""
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
    for each in (source, target):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
