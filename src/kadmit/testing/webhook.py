"""A Python function served as a TLS webhook, in a thread, with a certificate of its own; and its registration with a cluster.

Everything that it is sent is kept (`reviews`). What the function raises becomes an HTTP error, as in a real webhook, and is kept,
too (`errors`): the fixture raises it when the test is over, unless the test has taken it out.
"""

import ssl
import threading
from base64 import b64encode
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
from msgspec import Struct

from kadmit.pki import issuing
from kadmit.pki.files import Files
from kadmit.pki.issuing import Wanted
from kadmit.testing import answering
from kadmit.testing.answering import Function
from kadmit.testing.result import Json
from kadmit.webhook.review import NoVerdict

MUTATING, VALIDATING = "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"
EVERYTHING = ({"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]},)
MAX_BODY = 16 * 1024 * 1024

_LIFE = timedelta(days=365)
_API = "admissionregistration.k8s.io/v1"


class Certificate(Struct, frozen=True):
    """Files in PEM: a certificate for this machine, its key, and the authority that clients must trust."""

    certificate: Path
    key: Path
    authority: Path

    @property
    def ca_bundle(self) -> str:
        """The authority as registrations have it: in base64."""
        return b64encode(self.authority.read_bytes()).decode()


def certificate(folder: Path) -> Certificate:
    now = datetime.now(UTC)
    authority = issuing.authority(issuing.unheard_of("kadmit"), now, _LIFE)
    wanted = Wanted(issuing.named("webhook"), issuing.SERVER, frozenset(("127.0.0.1", "localhost")))
    trusted, served = Files.named(folder, "ca"), Files.named(folder, "webhook")
    trusted.write(authority.pair)
    served.write(issuing.signed(wanted, authority, now, now + _LIFE).pair)
    return Certificate(served.certificate, served.key, trusted.certificate)


class Webhook:
    """A function that answers over TLS, from the moment it is made until `stop`."""

    def __init__(self, functions: Mapping[str, Function], folder: Path) -> None:
        """`functions` by path; the folder is for its certificate."""
        self.reviews: list[Json] = []
        self.errors: list[Exception] = []
        self.configurations: list[Json] = []
        """How it is registered."""
        self._functions = functions
        made = certificate(folder)
        self.ca_bundle = made.ca_bundle
        self._server = _Server(("127.0.0.1", 0), _handler(self), _context(made))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="kadmit webhook", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._server.server_port}"

    @property
    def requests(self) -> list[Json]:
        """The requests in its reviews."""
        return [review["request"] for review in self.reviews]

    def client_config(self, path: str = "/") -> Json:
        return {"url": f"{self.url}{path}", "caBundle": self.ca_bundle}

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, path: str, body: bytes) -> tuple[int, bytes]:
        function = self._functions.get(path)
        if function is None:
            return 404, b"there is no webhook at this path"
        try:
            asked = orjson.loads(body)
            self.reviews.append(asked)
            return 200, orjson.dumps(answering.review(function, asked))
        except NoVerdict as e:
            return e.code, str(e).encode()
        except Exception as e:  # told when the test is over
            self.errors.append(e)
            return 500, f"{type(e).__name__}: {e}".encode()


# ---------------------------------------------------------------- registration


def configuration(name: str, *, mutating: bool, fields: Mapping[str, Any]) -> Json:
    """A webhook configuration; `fields` are those of the webhook, by the names that Kubernetes has for them."""
    webhook: Json = {"name": name, "sideEffects": "None", "admissionReviewVersions": ["v1"], "rules": list(EVERYTHING)}
    webhook |= {"timeoutSeconds": 5, **fields}
    return {
        "apiVersion": _API,
        "kind": MUTATING if mutating else VALIDATING,
        "metadata": {"name": name},
        "webhooks": [webhook],
    }


def directed(found: Json, hook: Webhook) -> Json:
    """The configuration with its webhooks at this one; a path that it has stays."""
    webhooks = [{**each, "clientConfig": hook.client_config(path_of(each))} for each in found.get("webhooks") or ()]
    return {**found, "webhooks": webhooks}


def path_of(webhook: Mapping[str, Any]) -> str:
    client = webhook.get("clientConfig") or {}
    if "url" in client:
        return urlsplit(client["url"]).path or "/"
    return str((client.get("service") or {}).get("path") or "/")


def names_of(found: Json) -> Iterable[str]:
    return [str(each["name"]) for each in found.get("webhooks") or ()]


# ---------------------------------------------------------------- serving


def _context(made: Certificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(made.certificate, made.key)
    return context


class _Server(ThreadingHTTPServer):
    """NB: handshakes are made by the thread of their connection, so that a silent caller keeps nobody waiting."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], context: ssl.SSLContext) -> None:
        super().__init__(address, handler)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that does not trust us, or hangs up, is no error of the test."""


def _handler(hook: Webhook) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30.0

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            if not 0 <= length <= MAX_BODY:
                self.send_error(413)
                return
            code, body = hook.answer(urlsplit(self.path).path, self.rfile.read(length))
            self.send_response(code)
            self.send_header("Content-Type", "application/json" if code == 200 else "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Tests have reviews and errors to look at."""

    return Handler
