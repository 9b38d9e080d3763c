"""Several workers are one server: what one of them writes binds the others at once, and their numbers are taken together.

Requests have a connection each, of which the kernel gives some to either worker.
"""

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from tests.server.process import SECONDS, Answer, Running, running

REQUESTS = 24  # all to one worker: once in eight million runs
MAPS = "/api/v1/namespaces/default/configmaps"
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
NO_MAPS = {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]}
POLICY = {
    "metadata": {"name": "none"},
    "spec": {"matchConstraints": NO_MAPS, "validations": [{"expression": "false", "message": "no maps today"}]},
}
BINDING = {"metadata": {"name": "none"}, "spec": {"policyName": "none", "validationActions": ["Deny"]}}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path, "--storage=sqlite", "--workers=2") as made:
        yield made


async def _create(server: Running, path: str, value: object) -> int:
    return (await server.ask("POST", path, orjson.dumps(value))).status


async def _tried(server: Running) -> set[int]:
    """How both workers answer to the same request."""
    named = {"metadata": {"name": "a"}}
    return {await _create(server, f"{MAPS}?dryRun=All", named) for _ in range(REQUESTS)}


async def test_a_policy_binds_the_next_request_to_any_worker(server: Running) -> None:
    assert await _tried(server) == {201}
    assert await _create(server, f"{REGISTRATION}/validatingadmissionpolicies", POLICY) == 201
    assert await _create(server, f"{REGISTRATION}/validatingadmissionpolicybindings", BINDING) == 201
    assert await _tried(server) == {422}
    assert (await server.ask("DELETE", f"{REGISTRATION}/validatingadmissionpolicybindings/none")).status == 200
    assert await _tried(server) == {201}


async def test_a_watch_sees_what_is_written_through_any_worker(server: Running) -> None:
    async with server.connection() as watch:
        await watch.say(f"GET {MAPS}?watch=1 HTTP/1.1\r\nHost: kadmit\r\nAuthorization: Bearer admin-token\r\n\r\n".encode())
        await watch.head()
        names = [f"m-{number}" for number in range(REQUESTS)]
        for name in names:
            assert await _create(server, MAPS, {"metadata": {"name": name}}) == 201
        seen: list[bytes] = []
        while len(seen) < len(names):
            seen += re.findall(rb'"type":"ADDED".*?"name":"(m-\d+)"', await watch.line())
    assert [name.decode() for name in seen] == names


async def test_the_numbers_are_those_of_all_workers(server: Running) -> None:
    for _ in range(REQUESTS):
        assert (await server.ask("GET", MAPS)).status == 200
    for _ in range(REQUESTS):
        text = (await server.ask("GET", "/metrics")).body.decode()
        counted = re.findall(r'^apiserver_request_total\{.*resource="configmaps",.*verb="LIST",.*\} (\d+)$', text, re.M)
        assert counted == [str(REQUESTS)]
        assert re.search(r"^kadmit_build_info\{.*\} 1$", text, re.M)


async def test_a_worker_that_dies_is_replaced(server: Running) -> None:
    killed = (await _both(server))[0]
    os.kill(killed, signal.SIGKILL)
    while killed in await _both(server):
        await _answered(server, "/metrics")  # NB: numbers of a worker that is gone are left out
    assert await _tried(server) == {201}
    assert server.complaints.count("a worker ended, another takes its place") == 1


async def test_workers_end_with_their_supervisor_however_it_ends(tmp_path: Path) -> None:
    with running(tmp_path, "--storage=sqlite", "--workers=2") as server:
        workers = await _both(server)
        server.process.kill()
        async with asyncio.timeout(SECONDS):
            while any(map(_lives, workers)):
                await asyncio.sleep(0.01)


def test_what_is_wrong_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("kind: Policy")
    audit = [f"--audit-policy-file={tmp_path / 'policy.yaml'}", f"--audit-log-path={tmp_path / 'audit.log'}"]
    flags = ["--secure-port=0", f"--data-dir={tmp_path / 'data'}", "--workers=3", *audit]
    run = subprocess.run([sys.executable, "-m", "kadmit", "serve", *flags], capture_output=True, text=True, timeout=SECONDS)
    assert run.returncode == 1
    assert len(run.stderr.splitlines()) == 1
    assert run.stderr.startswith("error: --audit-policy-file: ")


async def _answered(server: Running, path: str) -> Answer:
    """NB: until all of its threads have ended, the kernel still gives connections to a process that was killed."""
    async with asyncio.timeout(SECONDS):
        while True:
            with contextlib.suppress(ConnectionError):
                return await server.ask("GET", path)


async def _both(server: Running) -> list[int]:
    """The workers, once there are two: the second begins when the first is ready."""
    process = server.process.pid
    async with asyncio.timeout(SECONDS):
        while True:
            found = map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())
            if len(living := [child for child in found if _lives(child)]) == 2:
                return living
            await asyncio.sleep(0.01)


def _lives(process: int) -> bool:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    return False
