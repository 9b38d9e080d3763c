"""Several workers are one server: what one of them writes binds the others at once, and their numbers are taken together.

Requests have a connection each, of which the kernel gives some to either worker.
"""

import asyncio
import contextlib
import os
import re
import signal
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


async def test_numbers_of_a_worker_that_is_gone_are_left_out(server: Running) -> None:
    (child,) = _children(server)
    os.kill(child, signal.SIGKILL)
    assert (await _answered(server, "/metrics")).status == 200


async def _answered(server: Running, path: str) -> Answer:
    """NB: until all of its threads have ended, the kernel still gives connections to a process that was killed."""
    async with asyncio.timeout(SECONDS):
        while True:
            with contextlib.suppress(ConnectionError):
                return await server.ask("GET", path)


def _children(server: Running) -> list[int]:
    process = server.process.pid
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
