"""What a review costs a webhook: CPU time and reviews a second, over TLS, beside kopf's webhook server with an equal function.

    python bench/webhook.py

The function sets a label on a Pod. kopf runs as its users run it, `kopf run`, as an operator of a `kadmit serve`, without log;
ours as `kadmit webhook run`. Every subject is a process of its own, asked in turn with the others over one kept connection; what
counts is the CPU time that its process took, in its best round. Then each is asked by many at once, for reviews a second.
Exit code 1: a target was missed.
"""

import asyncio
import contextlib
import itertools
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import yaml

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.serve import Subject, mutation, pod, started

ROUNDS = 10
REVIEWS_A_ROUND = 300
AT_ONCE = 16
POLICIES = 50
WANTED = 3.0  # times fewer CPU microseconds than kopf
READY_SECONDS = 30.0

Json = dict[str, Any]

KOPF = """
import kopf

@kopf.on.startup()
def configure(settings, **_):
    settings.admission.server = kopf.WebhookServer(addr="127.0.0.1", port=PORT, certfile="CERTIFICATE", pkeyfile="KEY")
    settings.posting.enabled = False

@kopf.on.mutate("pods", operations=["CREATE"])
ASYNCdef label(patch, **_):
    patch.metadata.labels["team"] = "shop"
"""
OURS = """
import kadmit

@kadmit.mutating("pods", operations="CREATE"INLINE)
ASYNCdef label(request, pod):
    pod["metadata"].setdefault("labels", {})["team"] = "shop"
"""


def review() -> bytes:
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
        "requestResource": {"group": "", "version": "v1", "resource": "pods"},
        "name": "web",
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {"username": "admin", "groups": ["system:masters", "system:authenticated"]},
        "object": pod(),
        "oldObject": None,
        "dryRun": False,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
    }
    return orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})


# ---------------------------------------------------------------- the processes


@dataclass
class Reviewed:
    """A subject, and what was found out about it."""

    subject: Subject
    reviews_a_second: float = field(default=0.0)

    @property
    def microseconds(self) -> float:
        return self.subject.best


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextlib.contextmanager
def listening(command: list[str], port: int, path: str, **environment: str) -> Iterator[Subject]:
    """A process that listens after a while."""
    begun = time.perf_counter()
    env = {**os.environ, **environment}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True, env=env)
    try:
        while not _answers(port):
            assert process.poll() is None, f"{command} ended"
            assert time.perf_counter() - begun < READY_SECONDS, f"{command} does not listen"
            time.sleep(0.05)
        yield Subject(process, port, time.perf_counter() - begun, path)
    finally:
        process.terminate()
        process.wait()


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


class Bench:
    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self.folder, self.stack = folder, stack
        (folder / "cluster").mkdir()
        self.certificate, self.key = folder / "cluster" / "pki" / "apiserver.crt", folder / "cluster" / "pki" / "apiserver.key"
        flags = ["--storage=memory", "--secure-port=0", f"--data-dir={folder / 'cluster'}"]
        self.cluster = stack.enter_context(started([sys.executable, "-m", "kadmit", "serve", *flags]))

    def kopf(self, name: str, coroutine: str = "") -> Subject:
        port, file = free_port(), self.folder / f"{name}.py"
        text = KOPF.replace("PORT", str(port)).replace("CERTIFICATE", str(self.certificate)).replace("KEY", str(self.key))
        file.write_text(text.replace("ASYNC", coroutine))
        command = [sys.executable, "-m", "kopf", "run", "--quiet", "--standalone", "--all-namespaces", str(file)]
        kubeconfig = str(self.folder / "cluster" / "admin.kubeconfig")
        return self.stack.enter_context(listening(command, port, "/label", KUBECONFIG=kubeconfig))

    def ours(self, name: str, coroutine: str = "", inline: str = "") -> Subject:
        port, file = free_port(), self.folder / f"{name}.py"
        file.write_text(OURS.replace("ASYNC", coroutine).replace("INLINE", inline))
        return self._webhook("run", str(file), "--quiet", "--no-register", port=port, path="/label?timeout=10s")

    def policies(self) -> Subject:
        file = self.folder / "policies.yaml"
        file.write_text(yaml.safe_dump_all(_policies()))
        return self._webhook("serve", "-f", str(file), "--no-register", port=free_port(), path="/mutate?timeout=10s")

    def _webhook(self, *arguments: str, port: int, path: str) -> Subject:
        tls = [f"--tls-cert-file={self.certificate}", f"--tls-private-key-file={self.key}", f"--port={port}"]
        command = [sys.executable, "-m", "kadmit", "webhook", *arguments, *tls]
        return self.stack.enter_context(listening(command, port, path))


def _policies() -> Iterator[Json]:
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    for number in range(POLICIES):
        common = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": f"set-{number}"}}
        spec = {"matchConstraints": {"resourceRules": [rule]}, "mutations": [mutation("JSONPatch", number)]}
        yield {**common, "kind": "MutatingAdmissionPolicy", "spec": {**spec, "reinvocationPolicy": "Never"}}
        yield {**common, "kind": "MutatingAdmissionPolicyBinding", "spec": {"policyName": f"set-{number}"}}


# ---------------------------------------------------------------- measuring


async def measure(subjects: dict[str, Reviewed]) -> None:
    body = review()
    for name, reviewed in subjects.items():
        await reviewed.subject.connect()
        answer = orjson.loads(await reviewed.subject.post(reviewed.subject.path, body))["response"]
        assert answer["allowed"], (name, answer)
        assert answer["patchType"] == "JSONPatch", (name, answer)
    for _, reviewed in itertools.product(range(ROUNDS), subjects.values()):
        await round_of(reviewed.subject, body)
    for reviewed in subjects.values():
        reviewed.reviews_a_second = await throughput(reviewed.subject, body)


async def round_of(subject: Subject, body: bytes) -> None:
    begun = subject.scheduled_seconds
    for _ in range(REVIEWS_A_ROUND):
        await subject.post(subject.path, body)
    subject.best = min(subject.best, (subject.scheduled_seconds - begun) * 1e6 / REVIEWS_A_ROUND)


async def throughput(subject: Subject, body: bytes) -> float:
    """Reviews a second, asked by many callers at once."""
    callers = [Subject(subject.process, subject.port, 0.0, subject.path) for _ in range(AT_ONCE)]
    await asyncio.gather(*(caller.connect() for caller in callers))

    async def ask(caller: Subject) -> None:
        for _ in range(REVIEWS_A_ROUND // 4):
            await caller.post(caller.path, body)

    begun = time.perf_counter()
    await asyncio.gather(*map(ask, callers))
    return AT_ONCE * (REVIEWS_A_ROUND // 4) / (time.perf_counter() - begun)


def report(subjects: dict[str, Reviewed]) -> bool:
    """Print every figure; whether all targets are met."""
    print(f"{'':<28} {'µs CPU':>8} {'reviews/s':>10}")
    for name, reviewed in subjects.items():
        print(f"{name:<28} {reviewed.microseconds:8.0f} {reviewed.reviews_a_second:10.0f}")
    met = []
    for kind in ("plain function", "coroutine"):
        ratio = subjects[f"kopf, {kind}"].microseconds / subjects[f"kadmit, {kind}"].microseconds
        met.append(ratio >= WANTED)
        print(f"{kind:<28} {ratio:8.2f} times fewer than kopf  ({'' if met[-1] else 'MISSED: '}at least {WANTED:g})")
    return all(met)


def main() -> int:
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        bench = Bench(Path(name), stack)
        subjects = {
            "kopf, plain function": Reviewed(bench.kopf("kopf_plain")),
            "kopf, coroutine": Reviewed(bench.kopf("kopf_coroutine", "async ")),
            "kadmit, plain function": Reviewed(bench.ours("plain")),
            "kadmit, coroutine": Reviewed(bench.ours("coroutine", "async ")),
            "kadmit, inline function": Reviewed(bench.ours("inline", inline=", inline=True")),
            f"kadmit, {POLICIES} policies": Reviewed(bench.policies()),
        }
        asyncio.run(measure(subjects))
        print(f"reviews of {len(review()) / 1000:.1f} kB over TLS, CPU time of the server")
        return 0 if report(subjects) else 1


if __name__ == "__main__":
    sys.exit(main())
