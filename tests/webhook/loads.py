"""Load on a server, while something happens to it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Load:
    """Work in threads of its own, again and again, until it is enough."""

    work: list[Callable[[], None]]
    failures: list[str] = field(default_factory=list)
    done: int = 0
    _enough: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> "Load":
        self._threads = [threading.Thread(target=self._run, args=(each,)) for each in self.work]
        for thread in self._threads:
            thread.start()
        return self

    def _run(self, work: Callable[[], None]) -> None:
        while not self._enough.is_set():
            try:
                work()
                self.done += 1
            except Exception as error:
                self.failures.append(f"{type(error).__name__}: {error}")

    def __exit__(self, *_: object) -> None:
        self._enough.set()
        for thread in self._threads:
            thread.join()
