"""From start to end of a server process: one server a data folder, a line when it is ready, and an end without haste.

The end has steps: a first signal makes the server unready, so that load balancers turn away; after a delay it stops
listening; requests that run may finish, up to a limit. A second signal ends all waiting.
"""

import asyncio
import contextlib
import fcntl
import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path

from kadmit.server.startup import StartupError, because

PID_FILE = "kadmit.pid"
SIGNALS = (signal.SIGTERM, signal.SIGINT)


# ---------------------------------------------------------------- the data folder


class Claim:
    """A data folder that is ours. The lock goes with the process, however that ends."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def release(self) -> None:
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)


def claim(path: Path) -> Claim:
    """Takes a folder, made where it is missing, and writes our process id into it. Raises StartupError."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path / PID_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StartupError(f"--data-dir: cannot use {str(path)!r}: {because(error)}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
        os.close(descriptor)
        who = f"process {owner}" if owner else "another process"
        raise StartupError(f"--data-dir: {str(path)!r} is in use by {who}; stop it, or choose another --data-dir") from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return Claim(path, descriptor)


# ---------------------------------------------------------------- ready


def ready_line(url: str, kubeconfig: Path) -> str:
    """The one line on standard output that tells people, and programs that wait for it, how to go on."""
    return f"kadmit is ready at {url}; export KUBECONFIG={_shell_quoted(str(kubeconfig))}"


def _shell_quoted(text: str) -> str:
    safe = text.isascii() and text.replace("/", "").replace(".", "").replace("-", "").replace("_", "").isalnum()
    return text if safe else "'" + text.replace("'", "'\\''") + "'"


# ---------------------------------------------------------------- the end


class Shutdown:
    """The end, as it comes. `begun` is set by the first signal, or by begin(); `hurried` by the second."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.hurried = asyncio.Event()

    def begin(self) -> None:
        (self.hurried if self.begun.is_set() else self.begun).set()

    @contextlib.contextmanager
    def on_signals(self, signals: Iterable[signal.Signals] = SIGNALS) -> Iterator["Shutdown"]:
        """While this lasts, signals begin the end instead of ending the process."""
        loop = asyncio.get_running_loop()
        handled = list(signals)
        for each in handled:
            loop.add_signal_handler(each, self.begin)
        try:
            yield self
        finally:
            for each in handled:
                loop.remove_signal_handler(each)

    @contextlib.contextmanager
    def on_end_of(self, pipe: int | None) -> Iterator["Shutdown"]:
        """While this lasts, the end of what is read from the pipe begins the end, too."""
        loop = asyncio.get_running_loop()

        def ended() -> None:
            loop.remove_reader(descriptor)
            self.begin()

        if pipe is None:
            yield self
            return
        descriptor = pipe
        loop.add_reader(descriptor, ended)
        try:
            yield self
        finally:
            loop.remove_reader(descriptor)

    async def delay(self, seconds: float) -> None:
        """Waits, unless somebody is in a hurry."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.hurried.wait(), seconds)

    async def drained(self, inflight: "Inflight", seconds: float) -> bool:
        """Waits until no request runs; False if some still do at the limit, or when somebody is in a hurry."""
        hurry = asyncio.ensure_future(self.hurried.wait())
        idle = asyncio.ensure_future(inflight.idle())
        try:
            await asyncio.wait((hurry, idle), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            return inflight.count == 0
        finally:
            hurry.cancel()
            idle.cancel()


class Inflight:
    """How many requests run now. Watches are not among them: they are ended, not waited for."""

    def __init__(self) -> None:
        self.count = 0
        self._idle: asyncio.Event | None = None  # while somebody waits for it

    def __enter__(self) -> "Inflight":
        self.count += 1
        return self

    def __exit__(self, *_: object) -> None:
        self.count -= 1
        if not self.count and self._idle is not None:
            self._idle.set()

    async def idle(self) -> None:
        while self.count:
            self._idle = asyncio.Event()
            await self._idle.wait()
