"""Bad input over HTTPS: whatever comes, there is a clear answer, memory stays bounded, and the next request is served."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Iterator
from itertools import pairwise
from typing import Any

import orjson
import pytest
from tests.server import hooks
from tests.server.certificates import authority, good_context
from tests.server.hooks import Behaviour
from tests.server.process import Connection, Running, request, running

MAPS = "/api/v1/namespaces/default/configmaps"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
DEEP = 100_000
WATCHES = 1000
MEGABYTES = 64.0  # that a test may add to what the server takes
KILOBYTES_A_WATCH = 150.0
REQUEST_SECONDS = 3


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("serve"), f"--request-timeout={REQUEST_SECONDS}s") as started:
        yield started
        assert started.complaints == ""


@contextlib.asynccontextmanager
async def unharmed(server: Running) -> AsyncIterator[None]:
    """What every test here ends with: memory bounded, and the next request served."""
    before = server.megabytes
    yield
    assert (await server.ask("GET", "/api/v1/namespaces/default")).status == 200
    assert server.megabytes - before < MEGABYTES


def config_map(name: str, **more: Any) -> bytes:
    return orjson.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **more})


def bomb() -> bytes:
    """Nine lines that unfold to a billion values."""
    names = "abcdefghi"
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]" for before, name in pairwise(names)]
    return "\n".join(lines).encode()


# ---------------------------------------------------------------- bodies

UNRECOGNIZED = "the object provided is unrecognized (must be of type ConfigMap): "
NO_KIND = f"{UNRECOGNIZED}couldn't get version/kind; json parse error: "
NESTED = b'{"metadata":' * DEEP + b"1" + b"}" * DEEP

BODIES = {
    "oversized": (b'{"data":"' + b"x" * 4_000_000 + b'"}', "json", 413, "Request entity too large: limit is 3145728"),
    "deep arrays": (b"[" * DEEP + b"]" * DEEP, "json", 400, f"{NO_KIND}invalid character '[' exceeded max depth (5b5b5b"),
    "deep objects": (NESTED, "json", 400, f"{NO_KIND}invalid character '{{' exceeded max depth ({{\"metadata\""),
    "truncated": (b'{"kind":"ConfigMap"', "json", 400, f'{NO_KIND}unexpected end of JSON input ({{"kind":"ConfigMap")'),
    "nothing": (b"", "json", 400, f"{NO_KIND}unexpected end of JSON input (<empty>)"),
    "no object": (b"1", "json", 400, f"{NO_KIND}json: cannot unmarshal number into Go value of type struct"),
    "not UTF-8": (b"\xff\xfe{}", "json", 400, f"{NO_KIND}invalid character 'ÿ' looking for beginning of value (fffe7b7d)"),
    "a name that is not UTF-8": (b'{"metadata":{"name":"\xff"}}', "json", 422, 'ConfigMap "�" is invalid: metadata.name: '),
    "a number of 100,000 digits": (
        b'{"metadata":{"generation":' + b"9" * DEEP + b"}}",
        "json",
        400,
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number 999',
    ),
    "compressed": (b"\x1f\x8b\x08", "json", 400, f"{NO_KIND}invalid character '\\x1f' looking for beginning of value (1f8b08)"),
    "a YAML bomb": (bomb(), "yaml", 400, f"{UNRECOGNIZED}yaml: document contains excessive aliasing"),
    "deep YAML": (b"- " * DEEP, "yaml", 400, f"{UNRECOGNIZED}yaml: exceeded max depth of 254"),
    "YAML within itself": (b"a: &a [*a]", "yaml", 400, f"{UNRECOGNIZED}yaml: anchor 'a' value contains itself"),
    "YAML that is not UTF-8": (b"\xff\xfe\x00", "yaml", 400, f"{UNRECOGNIZED}yaml: incomplete UTF-16 character (fffe00)"),
    "another media type": (
        b"{}",
        "cbor",
        415,
        "the body of the request was in an unknown format - accepted",
    ),
}


@pytest.mark.parametrize("name", BODIES)
async def test_a_bad_body_is_answered_with_what_is_wrong(name: str, server: Running) -> None:
    body, subtype, code, text = BODIES[name]
    async with unharmed(server):
        answer = await server.ask("POST", MAPS, body, Content_Type=f"application/{subtype}")
        assert answer.told[0] == code
        assert answer.told[2].startswith(text)


async def test_repeated_keys_are_refused_if_the_client_is_strict(server: Running) -> None:
    body = b'{"metadata":{"name":"a","name":"b"},"data":{"a":"1","a":"2"}}'
    answer = await server.ask("POST", f"{MAPS}?fieldValidation=Strict", body)
    problems = 'strict decoding error: duplicate field "metadata.name", duplicate field "data.a"'
    text = f'ConfigMap in version "v1" cannot be handled as a ConfigMap: {problems}'
    assert answer.told == (400, "BadRequest", text)


PATCHES = {
    "a deep JSON patch": (b"[" * DEEP, "json-patch+json", 400, "error decoding patch: "),
    "a deep merge patch": (NESTED, "merge-patch+json", 400, "error decoding patch: invalid character '{' exceeded max depth"),
    "a deep strategic patch": (NESTED, "strategic-merge-patch+json", 400, "invalid character '{' exceeded max depth"),
    "a deep apply": (NESTED, "apply-patch+yaml", 400, "error decoding YAML: error converting YAML to JSON: yaml: exceeded max"),
    "an apply bomb": (bomb(), "apply-patch+yaml", 400, "error decoding YAML: error converting YAML to JSON: yaml: document"),
    "20,000 operations": (
        orjson.dumps([{"op": "add", "path": "/metadata/labels/a", "value": "b"}] * 20_000),
        "json-patch+json",
        413,
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 20000",
    ),
    "a patch that doubles itself": (
        orjson.dumps(
            [
                {"op": "add", "path": "/metadata/annotations", "value": {"a": "x" * 1000}},
                *[{"op": "copy", "from": "/metadata", "path": "/metadata/annotations/b"}] * 100,
            ]
        ),
        "json-patch+json",
        422,
        "",
    ),
}


@pytest.mark.parametrize("name", PATCHES)
async def test_a_bad_patch_is_answered_with_what_is_wrong(name: str, server: Running) -> None:
    body, subtype, code, text = PATCHES[name]
    async with unharmed(server):
        answer = await server.ask(
            "PATCH", "/api/v1/namespaces/default?fieldManager=x", body, Content_Type=f"application/{subtype}"
        )
        assert answer.told[0] == code
        assert answer.told[2].startswith(text)


# ---------------------------------------------------------------- methods, paths, heads

NOT_ALLOWED = (405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


@pytest.mark.parametrize("method", ["BREW", "get", "OPTIONS", "TRACE", "PROPFIND", "M-SEARCH", "X" * 64])
async def test_a_method_that_nobody_knows_is_not_allowed(method: str, server: Running) -> None:
    async with server.connection() as connection:
        assert (await connection.ask(method, MAPS)).told == NOT_ALLOWED
        assert (await connection.ask("GET", MAPS)).status == 200
        assert (await connection.ask(method, MAPS)).told == NOT_ALLOWED


async def test_a_method_that_nobody_knows_needs_a_user_too(server: Running) -> None:
    assert (await server.ask("BREW", MAPS, Authorization="")).told == (401, "Unauthorized", "Unauthorized")


async def test_a_resource_has_no_head(server: Running) -> None:
    answer = await server.ask("HEAD", MAPS)
    assert (answer.status, answer.headers["content-type"]) == (405, "application/json")


PATHS = {
    "%zz": (400, b"400 Bad Request"),
    "%00": (404, b'namespaces \\"\\\\x00\\" not found'),
    "%ff%fe": (404, 'namespaces \\"��\\" not found'.encode()),
    "a%2Fb": (404, b"the server could not find the requested resource"),
    "..": (400, b"may not be '..'"),
    "/default": (404, b"the server could not find the requested resource"),
    "a" * 100_000: (404, b"not found"),
    "a" * 2_000_000: (431, b"431 Request Header Fields Too Large"),
    "default?limit=%zz&a;b&pretty=%ff": (200, b""),
    "default?" + "&".join(f"a{n}={n}" for n in range(10_000)): (200, b""),
    "?fieldSelector=" + "(" * 5000: (400, b"invalid selector: "),
    "?labelSelector=" + "(" * 5000: (400, b"found '(', expected: !, identifier, or 'end of string'"),
    "?continue=%ff&limit=1": (400, b"invalid continue token: "),
    "?limit=99999999999999999999": (400, b"value out of range"),
    "?timeout=x": (400, b'invalid timeout specified in the request URL - time: invalid duration \\"x\\"'),
}


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path[:20])
async def test_a_strange_path_has_an_answer(path: str, server: Running) -> None:
    status, text = PATHS[path]
    async with unharmed(server):
        answer = await server.ask("GET", f"/api/v1/namespaces/{path}".replace("namespaces/?", "namespaces?"))
        assert answer.status == status
        assert text in answer.body


HEADS = {
    "no HTTP": (b"\x16\x03\x01 garbage\r\n\r\n", 400),
    "a version to come": (b"GET / HTTP/9.9\r\n\r\n", 400),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "two lengths": (request("POST", MAPS, b"{}", Transfer_Encoding="chunked"), 400),
    "a negative length": (request("POST", MAPS, b"{}", Content_Length="-1"), 400),
    "a length beyond numbers": (request("POST", MAPS, b"{}", Content_Length="9" * 40), 400),
    "a chunk without a size": (
        request("POST", MAPS, Transfer_Encoding="chunked") + b"zz\r\n",
        400,
    ),
    "a header of 3 MB": (request("GET", MAPS, X="a" * 3_000_000), 431),
    "many headers": (request("GET", MAPS, b"", **{f"X{n}": "a" for n in range(10_000)}), 431),
    "headers without an end": (b"GET / HTTP/1.1\r\n" + b"X: aaaaaaaaaaaaaaaaaaaaaaaa\r\n" * 60_000, 431),
    "a name that is not ASCII": (b"GET / HTTP/1.1\r\nHost: x\r\n\xff: y\r\n\r\n", 400),
}


@pytest.mark.parametrize("name", HEADS)
async def test_what_is_no_request_is_told_so_and_hung_up_on(name: str, server: Running) -> None:
    data, status = HEADS[name]
    async with unharmed(server), server.connection() as connection:
        with contextlib.suppress(ConnectionError):
            await connection.say(data)
        answer = await connection.answer()
        assert (answer.status, answer.headers["content-type"]) == (status, "text/plain; charset=utf-8")
        assert answer.body.startswith(str(status).encode())
        assert await connection.is_over()


async def test_headers_that_are_not_text_harm_nobody(server: Running) -> None:
    strange = "\udcff\udcfe"
    async with unharmed(server):
        assert (await server.ask("GET", MAPS, User_Agent=strange, Audit_ID=strange, Accept="*/*")).status == 200
        assert (await server.ask("GET", MAPS, Authorization=f"Bearer {strange}")).status == 401
        assert (await server.ask("GET", MAPS, Impersonate_User=strange)).status == 403


async def test_a_client_that_waits_to_be_told_is_told_to_continue(server: Running) -> None:
    body = config_map("continued")
    head = request("POST", f"{MAPS}?dryRun=All", Content_Length=str(len(body)), Expect="100-continue")
    async with server.connection() as connection:
        await connection.say(head)
        assert await connection.head() == (100, {})
        await connection.say(body)
        assert (await connection.answer()).status == 201


# ---------------------------------------------------------------- slow clients


async def drip(connection: Connection, every: float = 0.05) -> None:
    with contextlib.suppress(ConnectionError):
        while True:
            await connection.say(b" ")
            await asyncio.sleep(every)


async def test_a_body_that_drips_is_cut_off_in_time(server: Running) -> None:
    async with unharmed(server), server.connection() as connection:
        await connection.say(request("POST", MAPS, Content_Type="application/json", Content_Length="1000"))
        async with asyncio.timeout(REQUEST_SECONDS + 5):
            dripping = asyncio.create_task(drip(connection))
            answer = await connection.answer()
        dripping.cancel()
        told = (answer.status, answer.json["reason"], answer.json["message"])  # NB: this one does not say that it is a Status
        assert told == (504, "Timeout", "Timeout: request did not complete within the allotted timeout")


async def test_clients_that_hang_up_in_the_middle_leave_nothing_behind(server: Running) -> None:
    async with unharmed(server):
        for _ in range(100):
            async with server.connection() as connection:
                await connection.say(request("POST", MAPS, Content_Type="application/json", Content_Length="1000") + b"{")


async def test_slow_clients_hold_up_nobody(server: Running) -> None:
    whole = request("POST", MAPS, Content_Type="application/json", Content_Length="1000")
    async with contextlib.AsyncExitStack() as stack:
        for number in range(50):
            connection = await stack.enter_async_context(server.connection())
            await connection.say(whole[: len(whole) - number])
        async with unharmed(server), asyncio.timeout(REQUEST_SECONDS):
            assert (await server.ask("POST", f"{MAPS}?dryRun=All", config_map("quick"))).status == 201


# ---------------------------------------------------------------- watches


async def test_a_thousand_idle_watches_are_cheap_and_all_are_told(server: Running) -> None:
    before = server.megabytes
    watch = request("GET", f"{MAPS}?watch=1&timeoutSeconds=60&fieldSelector=metadata.name%3Dwatched")
    async with contextlib.AsyncExitStack() as stack:
        watches = [await stack.enter_async_context(server.connection()) for _ in range(WATCHES)]
        for connection in watches:
            await connection.say(watch)
        assert {(await connection.head())[0] for connection in watches} == {200}
        assert (server.megabytes - before) * 1000 / WATCHES < KILOBYTES_A_WATCH
        assert (await server.ask("POST", MAPS, config_map("watched"))).status == 201
        for connection in watches:
            await connection.line()  # the size of a chunk
            assert orjson.loads(await connection.line())["type"] == "ADDED"
    assert (await server.ask("GET", MAPS)).status == 200


# ---------------------------------------------------------------- webhooks

UNREAD = "unexpected error when reading response body. Please retry. Original error: "
BEGUN = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

ANSWERS: dict[str, tuple[Behaviour, str]] = {
    "drips": (hooks.stalls(BEGUN + b"Content-Length: 1000\r\n\r\n", drip=b" "), "context deadline exceeded"),
    "never ends": (hooks.stalls(BEGUN + b"Connection: close\r\n\r\n", drip=b" " * 2**18, every=0), UNREAD),
    "never begins": (hooks.stalls(), "context deadline exceeded"),
    "lies about its length": (hooks.says(BEGUN + b"Content-Length: 1000\r\n\r\n{}", close=True), f"{UNREAD}unexpected EOF"),
    "is no HTTP": (hooks.says(b"\x00\xff\r\n\r\n", close=True), "malformed HTTP"),
    "is deep": (hooks.replies(200, b"[" * DEEP), "exceeded max depth"),
    "is not UTF-8": (hooks.replies(200, b"\xff"), "invalid leading UTF-8 octet"),
    "hangs up": (hooks.hangs_up, "EOF"),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_a_webhook_that_misbehaves_fails_the_request_in_time(name: str, server: Running) -> None:
    behaviour, text = ANSWERS[name]
    own = f"bad-{name.replace(' ', '-').lower()}"
    async with hooks.serving(behaviour, context=good_context()) as hook, unharmed(server):
        assert (await server.ask("POST", HOOKS, registration(own, hook.url()))).status == 201
        try:
            answer = await server.ask("POST", f"{MAPS}?dryRun=All", config_map(own, data={"for": own}))
            assert answer.told[:2] == (500, "InternalError")
            assert answer.told[2].startswith('Internal error occurred: failed calling webhook "hook.example.com": ')
            assert text in answer.told[2]
        finally:
            assert (await server.ask("DELETE", f"{HOOKS}/{own}")).status == 200


def registration(name: str, url: str) -> bytes:
    """Only for the one object that is named like it, so that tests stay out of each other's way."""
    hook = {
        "name": "hook.example.com",
        "clientConfig": {"url": url, "caBundle": base64.b64encode(authority().pem).decode()},
        "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
        "matchConditions": [{"name": "mine", "expression": f"object.metadata.name == '{name}'"}],
        "timeoutSeconds": 1,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    return orjson.dumps({**kind, "metadata": {"name": name}, "webhooks": [hook]})
