"""An App as an ASGI application: by itself under uvicorn, and mounted in another one."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount
from tests.sdk.serving import Answer, Caller, review

import kadmit
from kadmit.webhook.answering import Limits
from kadmit.webhook.sdk.asgi import AsgiApp


def _app(events: list[str] | None = None) -> kadmit.App:
    seen = events if events is not None else []

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        seen.append("entered")
        yield
        seen.append("left")

    app = kadmit.App(lifespan=lifespan)

    @app.mutating("configmaps")
    async def fill(_request: kadmit.Request, obj: kadmit.Object) -> None:
        obj["data"] = {"a": "b"}

    return app


@asynccontextmanager
async def under_uvicorn(application: Any) -> AsyncIterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(application, log_level="error", lifespan="auto"))
        task = asyncio.create_task(server.serve([listener]))
        while not server.started:
            await asyncio.sleep(0.001)
            assert not task.done()
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            with contextlib.suppress(asyncio.CancelledError):
                await task


async def ask(port: int, path: str, body: bytes | None = None) -> Answer:
    caller = Caller(*await asyncio.open_connection("127.0.0.1", port))
    try:
        return await caller.ask(path, body)
    finally:
        caller.writer.transport.abort()


async def test_an_app_runs_under_uvicorn_with_its_lifespan() -> None:
    events: list[str] = []
    async with under_uvicorn(_app(events).asgi) as port:
        answer = await ask(port, "/fill?timeout=5s", review())
        assert (await ask(port, "/readyz")).text == "ok\n"
        assert (await ask(port, "/nowhere")).status == 404
        assert 'kadmit_webhook_reviews_total{path="/fill",verdict="patched"} 1' in (await ask(port, "/metrics")).text
        assert (answer.response["allowed"], answer.response["patchType"]) == (True, "JSONPatch")
        assert events == ["entered"]
    assert events == ["entered", "left"]


async def test_an_app_may_be_mounted_in_another_one() -> None:
    async with under_uvicorn(Starlette(routes=[Mount("/hooks", app=_app().asgi)])) as port:
        assert (await ask(port, "/hooks/fill", review())).response["allowed"]
        assert (await ask(port, "/hooks/livez")).text == "ok\n"


# ---------------------------------------------------------------- without a server


async def _called(application: AsgiApp, messages: list[Mapping[str, Any]], **scope: Any) -> list[Any]:
    sent: list[Any] = []
    waiting = iter(messages)

    async def receive() -> Any:
        message = next(waiting, None)
        return message if message is not None else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    base = {"type": "http", "method": "POST", "path": "/fill", "query_string": b"", "headers": []}
    await application({**base, **scope}, receive, send)
    return sent


def _body(data: bytes, *, more: bool = False) -> Mapping[str, Any]:
    return {"type": "http.request", "body": data, "more_body": more}


async def test_a_body_may_come_in_parts() -> None:
    body = review()
    start, end = await _called(_app().asgi, [_body(body[:10], more=True), _body(body[10:])])
    assert (start["status"], orjson.loads(end["body"])["response"]["allowed"]) == (200, True)


LIMITED: dict[str, tuple[list[Mapping[str, Any]], list[tuple[bytes, bytes]], int]] = {
    "too large, as it says itself": ([], [(b"Content-Length", b"2000")], 413),
    "too large, as it turns out": ([_body(b"x" * 2000)], [], 413),
    "never there": ([_body(b"x", more=True)], [], 408),
}


@pytest.mark.parametrize(("messages", "headers", "status"), LIMITED.values(), ids=LIMITED)
async def test_a_body_has_limits(messages: list[Mapping[str, Any]], headers: list[Any], status: int) -> None:
    application = AsgiApp(_app(), Limits(body_bytes=1000, body_seconds=0.02))
    start, _ = await _called(application, messages, headers=headers)
    assert start["status"] == status


async def test_a_caller_that_hangs_up_gets_nothing() -> None:
    assert await _called(_app().asgi, [{"type": "http.disconnect"}]) == []


async def test_a_lifespan_that_fails_is_told() -> None:
    @asynccontextmanager
    async def broken() -> AsyncIterator[None]:
        raise RuntimeError("no database")
        yield

    sent = await _called(kadmit.App(lifespan=broken).asgi, [{"type": "lifespan.startup"}], type="lifespan")
    assert sent == [{"type": "lifespan.startup.failed", "message": "no database"}]


async def test_nothing_else_is_spoken() -> None:
    with pytest.raises(ValueError, match="no webhook speaks websocket"):
        await _called(_app().asgi, [], type="websocket")
