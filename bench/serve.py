"""What a request costs the server: dry-run creates of a Pod over TLS, beside an aiohttp server that only sends the body back.

    python bench/serve.py

Every subject is two processes of its own, since no two are laid out alike in memory, each asked over one kept connection, in turn
with the others, for the same Pods, no two of which are alike. What counts is the CPU time that the process took, in the best
round, so that neither the client nor a busy machine tells much. Exit code 1: a target was missed.
"""

import asyncio
import contextlib
import functools
import itertools
import os
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

ROUNDS = 30
PROCESSES = 2
REQUESTS_A_ROUND = 100
UNRELATED = 1000
WANTED = {"no policy": 5.0, "10 JSONPatch": 9.0, "10 ApplyConfiguration": 11.0}  # times the echo
WANTED_UNRELATED = 1.05  # times no policy
WANTED_MEGABYTES = 200.0
WANTED_READY = 1.0  # seconds
STARTS = 3
TOKEN = "bench-token"
PODS = "/api/v1/namespaces/default/pods?dryRun=All"
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"

Json = dict[str, Any]


# ---------------------------------------------------------------- the request and the policies


def pod(number: int = 0) -> Json:
    """Three containers as people write them. Each number has a Pod of its own: another name, other values."""
    containers = [
        {
            "name": name,
            "image": f"registry.example.com/team/{name}:v1.2.3",
            "args": ["--verbose", f"--port={port}"],
            "env": [{"name": f"VARIABLE_{position}", "value": f"{name}-{position}-{number:06}"} for position in range(6)],
            "ports": [{"containerPort": port, "name": f"http-{name}"}],
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "config", "mountPath": "/etc/app"}],
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": port}, "periodSeconds": 10},
            "readinessProbe": {"httpGet": {"path": "/readyz", "port": port}, "periodSeconds": 10},
        }
        for name, port in (("web", 8080), ("sidecar", 8081), ("agent", 8082))
    ]
    volumes = [{"name": "data", "emptyDir": {}}, {"name": "config", "configMap": {"name": "web"}}]
    metadata = {"name": f"web-{number:06}", "labels": {"app": "web", "tier": "front"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, "volumes": volumes}}


def mutation(patch_type: str, number: int) -> Json:
    if patch_type == "JSONPatch":
        text = f"[JSONPatch{{op: 'add', path: '/metadata/labels/l{number}', value: 'v'}}]"
        return {"patchType": patch_type, "jsonPatch": {"expression": text}}
    text = f"Object{{metadata: Object.metadata{{labels: {{'l{number}': 'v'}}}}}}"
    return {"patchType": patch_type, "applyConfiguration": {"expression": text}}


def policies(patch_type: str, count: int, resource: str = "pods") -> Iterator[Json]:
    """Policies and their bindings."""
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": [resource]}
    for number in range(count):
        name = {"name": f"set-{number}"}
        spec = {"matchConstraints": {"resourceRules": [rule]}, "mutations": [mutation(patch_type, number)]}
        yield {"kind": "MutatingAdmissionPolicy", "metadata": name, "spec": {**spec, "reinvocationPolicy": "Never"}}
        yield {"kind": "MutatingAdmissionPolicyBinding", "metadata": name, "spec": {"policyName": name["name"]}}


# ---------------------------------------------------------------- servers


@dataclass
class Subject:
    """A server process and one connection to it."""

    process: "subprocess.Popen[str]"
    port: int
    seconds_to_ready: float
    path: str = PODS
    best: float = field(default=float("inf"))
    reader: asyncio.StreamReader | None = None
    writer: asyncio.StreamWriter | None = None

    async def connect(self) -> None:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=context)

    async def post(self, path: str, body: bytes) -> bytes:
        assert self.reader is not None
        assert self.writer is not None
        head = f"POST {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"
        self.writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        length = next(line for line in answer.lower().split("\r\n") if line.startswith("content-length:"))
        made = await self.reader.readexactly(int(length.partition(":")[2]))
        assert answer.split(" ")[1] in ("200", "201"), made
        return made

    @property
    def cpu_seconds(self) -> float:
        parts = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def scheduled_seconds(self) -> float:
        """To the nanosecond, where the kernel tells."""
        with contextlib.suppress(OSError):
            return int(Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[0]) / 1e9
        return self.cpu_seconds

    @property
    def megabytes(self) -> float:
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    async def round(self, bodies: list[bytes]) -> None:
        begun = self.scheduled_seconds
        for body in bodies:
            await self.post(self.path, body)
        self.best = min(self.best, (self.scheduled_seconds - begun) * 1e6 / len(bodies))


@contextlib.contextmanager
def started(command: list[str], path: str = PODS) -> Iterator[Subject]:
    """A process that says `… https://HOST:PORT…` when it is ready."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        seconds = time.perf_counter() - begun
        yield Subject(process, int(line.split("https://")[1].split(";")[0].rpartition(":")[2]), seconds, path)
    finally:
        process.terminate()
        process.wait()


def serving(folder: Path) -> contextlib.AbstractContextManager[Subject]:
    folder.mkdir()
    tokens = folder / "tokens.csv"
    tokens.write_text(f'{TOKEN},bench,bench,"system:masters"\n')
    flags = ["--storage=memory", "--secure-port=0", f"--data-dir={folder}", f"--token-auth-file={tokens}"]
    return started([sys.executable, "-m", "kadmit", "serve", *flags])


def echoing(folder: Path) -> contextlib.AbstractContextManager[Subject]:
    return started([sys.executable, __file__, "--echo", str(folder / "pki")], "/echo")


async def echo(certificates: Path) -> None:
    """The other server: aiohttp, the same TLS, and no work."""
    from aiohttp import web

    async def handle(request: web.Request) -> web.Response:
        return web.Response(body=await request.read(), content_type="application/json", status=201)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "apiserver.crt", certificates / "apiserver.key")
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    print(f"ready at https://127.0.0.1:{runner.addresses[0][1]};", flush=True)
    await asyncio.Event().wait()


# ---------------------------------------------------------------- measuring


async def prepare(subject: Subject, objects: Iterator[Json]) -> None:
    await subject.connect()
    for value in objects:
        plural = "mutatingadmissionpolicies" if value["kind"].endswith("Policy") else "mutatingadmissionpolicybindings"
        body = {"apiVersion": "admissionregistration.k8s.io/v1", **value}
        await subject.post(f"{REGISTRATION}/{plural}", orjson.dumps(body))


Subjects = dict[str, list[Subject]]


async def measure(subjects: Subjects) -> None:
    given = {
        "10 JSONPatch": functools.partial(policies, "JSONPatch", 10),
        "10 ApplyConfiguration": functools.partial(policies, "ApplyConfiguration", 10),
        f"{UNRELATED} unrelated": functools.partial(policies, "JSONPatch", UNRELATED, "configmaps"),
    }
    everybody = [(name, subject) for name, same in subjects.items() for subject in same]
    for name, subject in everybody:
        await prepare(subject, given[name]() if name in given else iter(()))
        if name in ("10 JSONPatch", "10 ApplyConfiguration"):
            labels = orjson.loads(await subject.post(PODS, orjson.dumps(pod())))["metadata"]["labels"]
            assert len(labels) == 12, labels
    numbers = itertools.count(1)
    for _ in range(ROUNDS):
        bodies = [orjson.dumps(pod(next(numbers))) for _ in range(REQUESTS_A_ROUND)]
        for _, subject in everybody:
            await subject.round(bodies)


def report(subjects: Subjects, ready: float) -> bool:
    """Print every figure; whether all targets are met."""
    best = {name: min(subject.best for subject in same) for name, same in subjects.items()}
    many, unit = f"{UNRELATED} unrelated", best["echo"]
    print(f"{'aiohttp echo':<26} {unit:8.0f} µs")
    met = [_line(name, best[name], best[name] / unit, wanted, "echo") for name, wanted in WANTED.items()]
    met.append(_line(many, best[many], best[many] / best["no policy"], WANTED_UNRELATED, "no policy"))
    megabytes = max(subject.megabytes for subject in subjects[many])
    met.append(megabytes < WANTED_MEGABYTES)
    print(f"{f'memory with {UNRELATED}':<26} {megabytes:8.0f} MB  ({_missed(met[-1])}under {WANTED_MEGABYTES:g})")
    met.append(ready < WANTED_READY)
    print(f"{'ready':<26} {ready:8.2f} s   ({_missed(met[-1])}under {WANTED_READY:g})")
    return all(met)


def _line(name: str, microseconds: float, ratio: float, wanted: float, unit: str) -> bool:
    print(f"{name:<26} {microseconds:8.0f} µs  {ratio:5.2f} times {unit}  ({_missed(ratio <= wanted)}at most {wanted:g})")
    return ratio <= wanted


def _missed(met: bool) -> str:
    return "" if met else "MISSED: "


def ready_seconds(folder: Path) -> float:
    """From the command to its ready line, with nothing there yet but byte code; the best of some starts."""
    found = []
    for number in range(STARTS):
        with serving(folder / f"start-{number}") as subject:
            found.append(subject.seconds_to_ready)
    return min(found)


def main() -> int:
    if sys.argv[1:2] == ["--echo"]:
        asyncio.run(echo(Path(sys.argv[2])))
    with tempfile.TemporaryDirectory() as made, contextlib.ExitStack() as stack:
        folder = Path(made)
        ready = ready_seconds(folder)
        names = ["no policy", "10 JSONPatch", "10 ApplyConfiguration", f"{UNRELATED} unrelated"]
        subjects: Subjects = {name: [] for name in (*names, "echo")}
        for name, number in itertools.product(names, range(PROCESSES)):
            subjects[name].append(stack.enter_context(serving(folder / f"{name}-{number}".replace(" ", "-"))))
        certificates = folder / f"{names[0]}-0".replace(" ", "-")
        subjects["echo"] += [stack.enter_context(echoing(certificates)) for _ in range(PROCESSES)]
        asyncio.run(measure(subjects))
        print(f"Pod of {len(orjson.dumps(pod())) / 1000:.1f} kB, dry-run creates over TLS, CPU time of the server")
        return 0 if report(subjects, ready) else 1


if __name__ == "__main__":
    sys.exit(main())
