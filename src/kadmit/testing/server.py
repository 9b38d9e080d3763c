"""A real `kadmit serve`: a process of its own on a free port, with memory for a store, a certificate authority and a token.

Requests go over HTTPS, so that what is tested is what clients see. It ends with its fixture, and with the test run in any case.
"""

import atexit
import contextlib
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import threading
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode

import orjson
import yaml

from kadmit.authoring.manifests import Manifest
from kadmit.kinds import shapes
from kadmit.resources.context import with_metadata
from kadmit.testing.client import APPLY_PATCH, Asked, Client
from kadmit.testing.https import Https, Response
from kadmit.testing.result import Json, Result
from kadmit.testing.sources import Source, Sources

READY_SECONDS = 30.0
STOP_SECONDS = 10.0
LOG_LINES = 30

_READY = re.compile(r"kadmit is ready at (?P<url>\S+); export KUBECONFIG=(?P<kubeconfig>.+)")
_FIRST = {"CustomResourceDefinition": 0, "Namespace": 1}
_OPERATIONS = {"POST": "CREATE", "PUT": "UPDATE", "PATCH": "UPDATE", "DELETE": "DELETE"}


class CannotStart(RuntimeError):
    """The server ended before it was ready; the message has its log."""


class Server(Client):
    """A running server. It is its own context manager."""

    def __init__(self, folder: Path, flags: Sequence[str] = (), sources: Sources | None = None) -> None:
        """Starts it and waits until it is ready. Raises CannotStart."""
        super().__init__()
        self._sources = sources or Sources()
        self.folder = folder
        self.token = secrets.token_urlsafe(24)
        self._process = _Process(folder, [*self._flags(), *flags])
        ready = self._process.ready
        self.url: str = ready["url"]
        self.kubeconfig = Path(shlex.split(ready["kubeconfig"])[0]).resolve()
        self.ca = self._authority()
        self._https = Https(self.url, self.ca, self.token)
        self._places: dict[tuple[str, str], tuple[str, str, bool]] = {}

    def _authority(self) -> Path:
        """The file of the authority that its certificate is trusted by, as its kubeconfig has it."""
        found = yaml.safe_load(self.kubeconfig.read_text())["clusters"][0]["cluster"]["certificate-authority-data"]
        path = self.folder / "ca.crt"
        path.write_bytes(b64decode(found))
        return path

    def _flags(self) -> list[str]:
        tokens = self.folder / "tokens.csv"
        tokens.write_text(f'{self.token},admin,admin-uid,"system:masters"\n')
        tokens.chmod(0o600)
        return ["--storage=memory", "--secure-port=0", f"--data-dir={self.folder / 'data'}", f"--token-auth-file={tokens}"]

    # ------------------------------------------------------------ its life

    @property
    def log(self) -> str:
        """What it has printed so far."""
        return self._process.log

    def log_tail(self, lines: int = LOG_LINES) -> str:
        return "\n".join(self.log.splitlines()[-lines:])

    @property
    def running(self) -> bool:
        return self._process.running

    def stop(self) -> None:
        """Ends it, gently at first. Again does nothing."""
        self._https.close()
        self._process.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    # ------------------------------------------------------------ kubectl and plain requests

    def kubectl(self, *arguments: str, input: str | bytes | None = None, check: bool = True) -> str:  # noqa: A002
        """What kubectl prints. Raises AssertionError where it fails and `check` is on, FileNotFoundError where there is none."""
        done = self.run_kubectl(*arguments, input=input)
        if check and done.returncode:
            told = f"kubectl {shlex.join(arguments)}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
            raise AssertionError(f"{told}\n\nkadmit serve:\n{self.log_tail()}")
        return done.stdout

    def run_kubectl(self, *arguments: str, input: str | bytes | None = None) -> subprocess.CompletedProcess[str]:  # noqa: A002
        """kubectl, run to its end, however that is. What it remembers of servers stays in the folder of this one."""
        text = input.decode() if isinstance(input, bytes) else input
        environment = {"HOME": str(self.folder), "KUBECONFIG": str(self.kubeconfig), "PATH": "/usr/bin:/bin"}
        command = [kubectl(), *arguments]
        return subprocess.run(command, env=environment, input=text, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        user: str | None = None,
        groups: Sequence[str] = (),
    ) -> Response:
        """One HTTPS request, as the administrator or as somebody whom the administrator impersonates."""
        data = body if isinstance(body, bytes) or body is None else orjson.dumps(body)
        if user is None:
            user, groups = self._user, (*self._groups, *groups)
        headers = [("Impersonate-User", user), *(("Impersonate-Group", group) for group in groups)] if user else []
        return self._https.send(method, path, data, content_type, headers)

    # ------------------------------------------------------------ objects

    def load(self, *sources: Source) -> Self:
        """Objects that are to be there, made or changed by requests like any other; with their namespaces. Raises Denied."""
        found = [manifest for source in sources for manifest in self._sources.read(source)]
        admin = self.raising
        admin._user, admin._groups = None, ()
        for manifest in sorted(found, key=lambda m: _FIRST.get(m.kind.kind, 2)):
            admin._make_namespace(manifest)
            admin.apply(manifest.value)
        return self

    def _make_namespace(self, manifest: Manifest) -> None:
        name = str(manifest.metadata.get("namespace") or "")
        if name and self.request("GET", f"/api/v1/namespaces/{quote(name, safe='')}").status == 404:
            self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def get(self, obj: Source) -> Json | None:
        manifest = self._sources.one(obj)
        response = self.request("GET", self._path(manifest))
        return response.json if response.status == 200 else None

    # ------------------------------------------------------------ verbs

    def _create(self, obj: Source, asked: Asked) -> Result:
        manifest = self._sources.one(obj)
        at = self._path(manifest, asked.subresource) if asked.subresource else self._path(manifest, collection=True)
        return self._done("POST", at, manifest, manifest.body, asked)

    def _update(self, obj: Source, asked: Asked) -> Result:
        manifest = self._sources.one(obj)
        path = self._path(manifest, asked.subresource)
        return self._done("PUT", path, manifest, self._over_what_is_there(manifest, path), asked)

    def _over_what_is_there(self, manifest: Manifest, path: str) -> bytes:
        """As kubectl replaces: an object that names no version gets the one that is there."""
        if manifest.metadata.get("resourceVersion"):
            return manifest.body
        live = self._https.send("GET", path)
        version = live.json["metadata"].get("resourceVersion") if live.status == 200 else None
        return orjson.dumps(with_metadata(manifest.value, resourceVersion=version))

    def _apply(self, obj: Source, asked: Asked) -> Result:
        manifest = self._sources.one(obj)
        return self._done("PATCH", self._path(manifest, asked.subresource), manifest, manifest.body, asked, APPLY_PATCH)

    def _patch(self, obj: Source, patch: Any, patch_type: str, asked: Asked) -> Result:
        manifest = self._sources.one(obj)
        return self._done("PATCH", self._path(manifest, asked.subresource), manifest, orjson.dumps(patch), asked, patch_type)

    def _delete(self, obj: Source, asked: Asked) -> Result:
        manifest = self._sources.one(obj)
        return self._done("DELETE", self._path(manifest), manifest, None, asked)

    def _done(
        self, method: str, path: str, manifest: Manifest, body: bytes | None, asked: Asked, content_type: str = "application/json"
    ) -> Result:
        url = f"{path}?{urlencode(_query(method, asked, content_type))}"
        response = self.request(method, url, body, content_type=content_type, user=asked.user, groups=asked.groups)
        answer = response.json
        refused = response.status >= 400
        made = None if refused or method == "DELETE" else answer
        _, plural, namespaced = self._place(manifest)
        group = manifest.kind.group
        return Result(
            "CREATE" if response.status == 201 else _OPERATIONS[method],
            f"{manifest.kind.kind.lower()}.{group}" if group else manifest.kind.kind.lower(),
            str(((made or {}).get("metadata") or {}).get("name") or manifest.name),
            _namespace(manifest) if namespaced else "",
            made,
            status=answer if refused else None,
            warnings=response.warnings,
            teller=lambda: self._told(method, url, response, plural),
            shape=shapes.for_kind(manifest.kind),
        )

    def _told(self, method: str, url: str, response: Response, plural: str) -> str:
        lines = [f"{method} {url}: {response.status}", *(f"  warning: {text}" for text in response.warnings)]
        lines.append(f"  {response.json.get('message')}" if response.status >= 400 else f"  {plural}: done")
        return "\n".join([*lines, "kadmit serve:", *(f"  {line}" for line in self.log_tail().splitlines())])

    # ------------------------------------------------------------ paths

    def _path(self, manifest: Manifest, subresource: str = "", *, collection: bool = False) -> str:
        root, plural, namespaced = self._place(manifest)
        parts = ["namespaces", _namespace(manifest)] if namespaced else []
        parts += [plural] if collection else [plural, manifest.name]
        parts += [subresource] if subresource else []
        return root + "/" + "/".join(quote(part, safe="") for part in parts)

    def _place(self, manifest: Manifest) -> tuple[str, str, bool]:
        """Where objects of this kind are, as the server itself says. Raises LookupError."""
        version, kind = str(manifest.value.get("apiVersion") or ""), manifest.kind.kind
        if (version, kind) not in self._places:
            root = f"/apis/{version}" if "/" in version else f"/api/{version}"
            found = self._https.send("GET", root)
            for resource in (found.json.get("resources") or ()) if found.status == 200 else ():
                if "/" not in resource["name"]:
                    self._places[version, resource["kind"]] = root, resource["name"], resource["namespaced"]
        if (version, kind) not in self._places:
            raise LookupError(f'{manifest.place()}: no matches for kind "{kind}" in version "{version}"')
        return self._places[version, kind]


def _namespace(manifest: Manifest) -> str:
    return str(manifest.metadata.get("namespace") or "default")


def _query(method: str, asked: Asked, content_type: str) -> Mapping[str, str]:
    made = {} if method == "DELETE" else {"fieldManager": asked.manager}
    if asked.dry_run:
        made["dryRun"] = "All"
    return {**made, "force": "true"} if asked.force and content_type == APPLY_PATCH else made


def kubectl() -> str:
    """Raises FileNotFoundError."""
    beside = Path(sys.executable).with_name("kubectl")
    found = shutil.which("kubectl") or (str(beside) if beside.exists() else None)
    if found is None:
        raise FileNotFoundError("kubectl is not on PATH")
    return found


# ---------------------------------------------------------------- the process


class _Process:
    """`kadmit serve` and what it prints."""

    def __init__(self, folder: Path, flags: Sequence[str]) -> None:
        self._log_path = folder / "log"
        command = [sys.executable, "-m", "kadmit", "serve", *flags]
        with self._log_path.open("wb") as log:
            self._popen = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)  # noqa: S603
        atexit.register(self.stop)
        self._lines = self._printed()
        self.ready = self._first_line()
        threading.Thread(target=self._drain, name="kadmit serve output", daemon=True).start()

    @property
    def log(self) -> str:
        return self._log_path.read_text(errors="replace")

    @property
    def running(self) -> bool:
        return self._popen.poll() is None

    def _printed(self) -> Iterator[bytes]:
        assert self._popen.stdout is not None
        return iter(self._popen.stdout)

    def _first_line(self) -> re.Match[str]:
        patience = threading.Timer(READY_SECONDS, self._popen.kill)
        patience.start()
        try:
            line = next(self._lines, b"").decode(errors="replace").strip()
        finally:
            patience.cancel()
        ready = _READY.fullmatch(line)
        if ready is None:
            self.stop()
            raise CannotStart(f"kadmit serve did not start: {line or f'exit code {self._popen.returncode}'}\n{self.log}")
        return ready

    def _drain(self) -> None:
        """NB: nobody may have to wait because nobody reads what it prints."""
        with self._log_path.open("ab") as log, contextlib.suppress(ValueError):
            for line in self._lines:
                log.write(line)
                log.flush()

    def stop(self) -> None:
        atexit.unregister(self.stop)
        if self.running:
            self._popen.terminate()
            try:
                self._popen.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._popen.kill()
        self._popen.wait()
