"""The examples of examples/webhooks: what each does, that its twin for kopf does the same, and that ours is the shorter one.

kopf's twins are run through kopf's own admission code; one of them also as people run it, as an operator of a cluster.
"""

import ast
import asyncio
import base64
import contextlib
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import kopf
import orjson
import pytest
from aiohttp import web
from kopf._cogs.configs.configuration import OperatorSettings
from kopf._cogs.structs.references import Insights, Resource
from kopf._core.engines.admission import serve_admission_request
from kopf._core.reactor.inventory import ResourceMemories
from tests.server import certificates, process
from tests.server.process import Running

import kadmit
from kadmit.patch import jsonpatch
from kadmit.webhook import review as wire
from kadmit.webhook.review import Review
from kadmit.webhook.sdk import testing

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "examples" / "webhooks"
NAMES = ("label", "sidecar", "latest", "scanner")
SECONDS = 30.0
PODS = Resource(group="", version="v1", plural="pods", kind="Pod", singular="pod", namespaced=True, preferred=True)

Json = dict[str, Any]


# ---------------------------------------------------------------- running both


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def ours(name: str) -> Iterator[tuple[kadmit.App, ModuleType]]:
    """The example's app; what it adds to the default one is gone afterwards."""
    before = dict(kadmit.app.handlers)
    kadmit.app.handlers.clear()
    try:
        module = load(EXAMPLES / f"{name}.py")
        app = kadmit.App("examples.test")
        app.handlers.update(getattr(module, "app", kadmit.app).handlers)
        yield app, module
    finally:
        kadmit.app.handlers.clear()
        kadmit.app.handlers.update(before)


@contextlib.contextmanager
def theirs(name: str) -> Iterator[tuple[kopf.OperatorRegistry, ModuleType]]:
    before, registry = kopf.get_default_registry(), kopf.OperatorRegistry()
    kopf.set_default_registry(registry)
    try:
        yield registry, load(EXAMPLES / "kopf" / f"{name}.py")
    finally:
        kopf.set_default_registry(before)


def pod(*images: str, **metadata: Any) -> Json:
    containers = [{"name": f"c{number}", "image": image} for number, image in enumerate(images)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "shop", **metadata},
        "spec": {"containers": containers},
    }


def asked(value: Json) -> Json:
    names: Any = {"user": "alice", "groups": ["devs"], "namespace": "shop", "subresource": ""}
    return {**testing.request(value, None, "CREATE", **names), "dryRun": False}


def result(value: Json, response: Json) -> Json | str:
    """The object, or why not."""
    if not response["allowed"]:
        return f"{response['status']['code']}: {response['status']['message']}"
    patch = base64.b64decode(response.get("patch") or "")
    if not patch:
        return value
    made = jsonpatch.decode(patch).apply(value)
    assert isinstance(made, dict)
    return made


async def by_kadmit(app: kadmit.App, value: Json) -> Json | str:
    request = orjson.loads(orjson.dumps(asked(value)))
    review = Review("v1", request["uid"], request)
    answer = wire.write(review, await app.answer(review, testing.matching(app, request)))
    return result(value, orjson.loads(answer)["response"])


async def by_kopf(registry: kopf.OperatorRegistry, value: Json) -> Json | str:
    insights = Insights()
    memo: Any = kopf.Memo()
    insights.webhook_resources.add(PODS)
    request: Any = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked(value)}
    response = await serve_admission_request(
        request,
        settings=OperatorSettings(),
        registry=registry,
        insights=insights,
        memories=ResourceMemories(),
        memobase=memo,
        indices={},
    )
    return result(value, orjson.loads(orjson.dumps(response["response"])))


async def both(name: str, value: Json) -> Json | str:
    """What both make of an object."""
    with ours(name) as (app, _), theirs(name) as (registry, _):
        made = await by_kadmit(app, value)
        assert await by_kopf(registry, value) == made
        return made


# ---------------------------------------------------------------- what they do


async def test_label() -> None:
    made = await both("label", pod("web:1"))
    assert isinstance(made, dict)
    assert made["metadata"]["annotations"] == {"example.com/made-by": "alice"}
    assert made["metadata"]["labels"] == {"team": "shop"}
    made = await both("label", pod("web:1", labels={"a": "b"}))
    assert isinstance(made, dict)
    assert made["metadata"]["labels"] == {"a": "b", "team": "shop"}


async def test_sidecar() -> None:
    made = await both("sidecar", pod("web:1", labels={"logs": "shipped"}))
    assert isinstance(made, dict)
    mount = {"name": "logs", "mountPath": "/var/log/app"}
    assert made["spec"] == {
        "containers": [
            {"name": "c0", "image": "web:1", "volumeMounts": [mount]},
            {"name": "log-shipper", "image": "registry.example.com/log-shipper:2.1", "volumeMounts": [mount]},
        ],
        "volumes": [{"name": "logs", "emptyDir": {}}],
    }
    assert await both("sidecar", made) == made


@pytest.mark.parametrize(
    ("image", "good"),
    [
        ("web:1", True),
        ("registry.example.com:5000/web:1.2", True),
        ("web@sha256:abc", True),
        ("web", False),
        ("web:latest", False),
        ("registry.example.com:5000/web", False),
    ],
)
async def test_latest(image: str, good: bool) -> None:
    value = pod("web:1", image)
    refused = f"403: container c1: image {image} needs a tag other than latest"
    assert await both("latest", value) == (value if good else refused)


@asynccontextmanager
async def scanner() -> AsyncIterator[str]:
    """A service that finds as many problems as the tag of an image says."""

    async def verdict(request: web.Request) -> web.Response:
        return web.json_response({"problems": int(request.query["image"].rpartition(":")[2])})

    app = web.Application()
    app.router.add_get("/verdict", verdict)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/verdict"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (pod("a:0", "b:0"), pod("a:0", "b:0")),
        (pod("a:0", "b:2"), "403: image b:2 has 2 known problems"),
    ],
)
async def test_scanner(value: Json, expected: Json | str) -> None:
    async with scanner() as url:
        with ours("scanner") as (app, module):
            module.SCANNER = url  # type: ignore[attr-defined]
            async with module.app.lifespan():
                assert await by_kadmit(app, value) == expected
        with theirs("scanner") as (registry, module):
            module.SCANNER = url  # type: ignore[attr-defined]
            await module.configure(settings=OperatorSettings())
            try:
                assert await by_kopf(registry, value) == expected
            finally:
                await module.disconnect()


async def test_a_scanner_that_is_down_gives_no_verdict() -> None:
    with ours("scanner") as (app, module):
        module.SCANNER = "http://127.0.0.1:1/verdict"  # type: ignore[attr-defined]
        async with module.app.lifespan():
            with pytest.raises(wire.NoVerdict):
                await by_kadmit(app, pod("a:0"))


# ---------------------------------------------------------------- how long they are


def lines_of_code(path: Path) -> int:
    """Lines that hold code: no blank ones, no docstring, no comments."""
    tree = ast.parse(path.read_text())
    docstring = tree.body[0].end_lineno or 0
    rest = path.read_text().splitlines()[docstring:]
    return len([line for line in rest if line.strip() and not line.strip().startswith("#")])


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_shorter_than_its_twin_for_kopf(name: str) -> None:
    assert lines_of_code(EXAMPLES / f"{name}.py") < lines_of_code(EXAMPLES / "kopf" / f"{name}.py")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("folder", ["", "kopf"])
def test_an_example_stands_in_the_docs(name: str, folder: str) -> None:
    page = (ROOT / "docs" / "sdk.md").read_text()
    code = (EXAMPLES / folder / f"{name}.py").read_text()
    assert f"```python\n{code}```" in page


# ---------------------------------------------------------------- as people run them


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with process.running(tmp_path_factory.mktemp("cluster")) as found:
        yield found


def _created(cluster: Running) -> Any:
    body = orjson.dumps(pod("web:1", namespace="default"))
    return asyncio.run(cluster.ask("POST", "/api/v1/namespaces/default/pods?dryRun=All", body)).json


@contextlib.contextmanager
def _running(command: list[str], cluster: Running, folder: Path) -> Iterator[Path]:
    log = folder / "log"
    environment = {**os.environ, "KUBECONFIG": str(cluster.data / "admin.kubeconfig"), "HOME": str(folder)}
    with (
        log.open("wb") as out,
        subprocess.Popen([sys.executable, "-m", *command], env=environment, stdout=out, stderr=out) as run,
    ):
        try:
            yield log
        finally:
            run.terminate()
            run.wait(SECONDS)


TLS_OF_KOPF = """
import kopf
from pathlib import Path

@kopf.on.startup(id="with-certificates")
def certificates(settings, **_):
    settings.admission.server = kopf.WebhookServer(
        addr="127.0.0.1", host="127.0.0.1", cafile="{0}/authority.crt", certfile="{0}/hook.crt", pkeyfile="{0}/hook.key"
    )
"""


@pytest.mark.parametrize("tool", ["kadmit", "kopf"])
def test_the_first_example_does_the_same_in_a_cluster(tool: str, cluster: Running, tmp_path: Path) -> None:
    if tool == "kadmit":
        command = ["kadmit", "webhook", "run", str(EXAMPLES / "label.py")]
    else:
        certificates.authority().pair.write(tmp_path, "authority")
        certificates.authority().sign().write(tmp_path, "hook")
        (tmp_path / "tls.py").write_text(TLS_OF_KOPF.format(tmp_path))
        files = [str(EXAMPLES / "kopf" / "label.py"), str(tmp_path / "tls.py")]
        command = ["kopf", "run", "--standalone", "--namespace=default", *files]
    with _running(command, cluster, tmp_path) as log:
        deadline = time.monotonic() + SECONDS
        while "labels" not in (made := _created(cluster)).get("metadata", {}):
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
    assert made["metadata"]["labels"] == {"team": "default"}
    assert made["metadata"]["annotations"] == {"example.com/made-by": "admin"}
