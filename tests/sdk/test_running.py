"""kadmit webhook run: a file of functions, served over TLS and registered with a real `kadmit serve` for as long as it runs."""

import asyncio
import contextlib
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from click.testing import CliRunner
from tests.server import process
from tests.server.process import Answer, Running

from kadmit.cli import main
from kadmit.webhook.sdk import address

SECONDS = 30.0
PODS = "/api/v1/namespaces/default/pods?dryRun=All"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
NAME = "webhooks.example.com"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "web", "image": "web:1"}]},
}
HOOKS = f"""
import kadmit

app = kadmit.App("{NAME}")


@app.mutating("pods", operations="CREATE")
def label(request: kadmit.Request, pod: kadmit.Object) -> None:
    if pod["metadata"]["name"] == "bad":
        raise kadmit.Deny("not this one")
    pod["metadata"].setdefault("labels", {{}})["team"] = "shop"
    request.warn(f"labelled for {{request.user.username}}")
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with process.running(tmp_path_factory.mktemp("cluster")) as found:
        yield found


class Lines:
    """What a process tells, as it comes."""

    def __init__(self, running: "subprocess.Popen[str]") -> None:
        self.process = running
        self.told: list[str] = []
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._lines.put(line)

    def until(self, text: str) -> str:
        while True:
            try:
                line = self._lines.get(timeout=SECONDS)
            except queue.Empty:
                raise AssertionError(f"never told {text!r}, but: {self.told}") from None
            self.told.append(line)
            if text in line:
                return line


@contextlib.contextmanager
def run(file: Path, cluster: Running, *options: str) -> Iterator[Lines]:
    """The command, ready."""
    command = [sys.executable, "-m", "kadmit", "webhook", "run", file.name, *options]
    environment = {**os.environ, "KUBECONFIG": str(cluster.data / "admin.kubeconfig"), "PYTHONDONTWRITEBYTECODE": "1"}
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=file.parent, env=environment, **pipes) as running:
        lines = Lines(running)
        try:
            lines.until("ready at https://127.0.0.1:")
            yield lines
        finally:
            running.terminate()
            running.wait(SECONDS)


def ask(cluster: Running, method: str, path: str, body: Any = None) -> Answer:
    return asyncio.run(cluster.ask(method, path, orjson.dumps(body) if body is not None else b""))


@pytest.fixture
def hooks(tmp_path: Path) -> Path:
    file = tmp_path / "hooks.py"
    file.write_text(HOOKS)
    return file


def test_functions_are_called_by_the_cluster_while_they_are_served(cluster: Running, hooks: Path) -> None:
    with run(hooks, cluster) as lines:
        made = ask(cluster, "POST", PODS, POD)
        assert made.json["metadata"]["labels"] == {"team": "shop"}
        assert made.headers["warning"] == '299 - "labelled for admin"'
        lines.until("label: CREATE Pod default/web (dry run): patched, 1 operations, ")
        refused = ask(cluster, "POST", PODS, {**POD, "metadata": {"name": "bad"}})
        assert refused.told == (403, "Forbidden", f'admission webhook "label.{NAME}" denied the request: not this one')
        lines.until("label: CREATE Pod default/bad (dry run): denied: not this one, ")
        assert ask(cluster, "GET", f"{CONFIGURATIONS}/{NAME}").status == 200
    assert lines.process.returncode == 0
    assert ask(cluster, "GET", f"{CONFIGURATIONS}/{NAME}").status == 404
    assert "labels" not in ask(cluster, "POST", PODS, POD).json["metadata"]


def test_new_source_takes_over_and_broken_source_does_not(cluster: Running, hooks: Path) -> None:
    def labels() -> Any:
        return ask(cluster, "POST", PODS, POD).json["metadata"]["labels"]

    with run(hooks, cluster, "--reload", "--quiet") as lines:
        assert labels() == {"team": "shop"}
        hooks.write_text(HOOKS.replace('"shop"', '"toys"'))
        lines.until("hooks.py changed; label registered")
        assert labels() == {"team": "toys"}
        hooks.write_text("raise RuntimeError('oops')")
        lines.until("hooks.py changed, but the old code goes on: module 'hooks' cannot be loaded: RuntimeError: oops")
        assert labels() == {"team": "toys"}
        hooks.write_text(HOOKS.replace("def label", "def other"))
        lines.until("hooks.py changed; other registered")
        names = [each["name"] for each in ask(cluster, "GET", f"{CONFIGURATIONS}/{NAME}").json["webhooks"]]
        assert (names, labels()) == ([f"other.{NAME}"], {"team": "shop"})


def test_what_somebody_else_registered_is_not_touched(cluster: Running, hooks: Path) -> None:
    theirs = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": {"name": NAME}}
    assert ask(cluster, "POST", CONFIGURATIONS, theirs).status == 201
    try:
        command = [sys.executable, "-m", "kadmit", "webhook", "run", str(hooks)]
        environment = {**os.environ, "KUBECONFIG": str(cluster.data / "admin.kubeconfig")}
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS)
        told = f"there is a MutatingWebhookConfiguration {NAME!r} that is not ours; give the App another name, or remove it"
        assert (ended.returncode, ended.stderr) == (1, f"error: {told}\n")
        assert ask(cluster, "GET", f"{CONFIGURATIONS}/{NAME}").status == 200
    finally:
        ask(cluster, "DELETE", f"{CONFIGURATIONS}/{NAME}")


def test_without_registration_the_configuration_is_printed_and_works(cluster: Running, hooks: Path) -> None:
    with run(hooks, cluster, "--no-register") as lines:
        assert lines.process.stdout is not None
        text = ""
        while "reinvocationPolicy" not in text:
            text += lines.process.stdout.readline()
        printed = yaml.safe_load(text)
        assert ask(cluster, "GET", f"{CONFIGURATIONS}/{NAME}").status == 404
        assert ask(cluster, "POST", CONFIGURATIONS, printed).status == 201
        try:
            assert ask(cluster, "POST", PODS, POD).json["metadata"]["labels"] == {"team": "shop"}
        finally:
            ask(cluster, "DELETE", f"{CONFIGURATIONS}/{NAME}")


# ---------------------------------------------------------------- without a process


def command(*arguments: str) -> tuple[int, str, str]:
    ended = CliRunner().invoke(main, ["webhook", "run", *arguments])
    return ended.exit_code, ended.stdout, ended.stderr


def test_a_dry_run_prints_what_would_be_registered(hooks: Path) -> None:
    code, out, _ = command(str(hooks), "--dry-run", "-o", "json", "--url", "https://tunnel.example.com/x")
    (made,) = orjson.loads(out)["items"]
    assert (code, made["kind"]) == (0, "MutatingWebhookConfiguration")
    assert made["webhooks"][0]["clientConfig"] == {"url": "https://tunnel.example.com/x/label"}


BAD: dict[str, tuple[str, list[str], str]] = {
    "no module": ("", ["nowhere"], "there is no module 'nowhere' in {cwd}"),
    "no app": ("app = 1\n", ["{file}"], "{stem}:app is no kadmit.App"),
    "no such app": ("", ["{file}:other"], "{stem}:other is no kadmit.App"),
    "no handlers": ("import kadmit\napp = kadmit.App()\n", ["{file}"], "{stem}:app has no handlers"),
    "a broken module": ("import nosuchmodule\n", ["{file}"], "module '{stem}' cannot be loaded: No module named 'nosuchmodule'"),
    "no name": ("", [":app"], "'' is no name of a module: give module:app or file.py:app"),
    "a folder": ("", ["."], "'.' is no name of a module: give module:app or file.py:app"),
    "a script that ends": ("import sys\nsys.exit()\n", ["{file}"], "module '{stem}' cannot be loaded: SystemExit: "),
    "time that runs back": (HOOKS, ["{file}", "--drain-delay", "-1"], "--drain-delay: must be a number of seconds, is -1"),
    "no time": (HOOKS, ["{file}", "--drain-delay", "nan"], "--drain-delay: must be a number of seconds, is nan"),
    "no kubeconfig": (HOOKS, ["{file}", "--kubeconfig", "/nowhere"], "cannot read '/nowhere': No such file or directory"),
    "half a certificate": (
        HOOKS,
        ["{file}", "--dry-run", "--tls-cert-file", "x"],
        "--tls-cert-file and --tls-private-key-file go together",
    ),
    "a name without authority": (
        HOOKS,
        ["{file}", "--no-register", "--client-name", "x"],
        "--client-name needs --client-ca-file",
    ),
    "a URL without TLS": (HOOKS, ["{file}", "--dry-run", "--url", "http://x"], "--url: must begin with https://, not 'http://x'"),
    "an unknown resource": (
        HOOKS.replace('"pods"', '"widgets"'),
        ["{file}", "--dry-run"],
        "resource 'widgets' is none of Kubernetes' own: write it with its group, such as widgets.example.com",
    ),
}


@pytest.mark.parametrize(("source", "arguments", "text"), BAD.values(), ids=BAD)
def test_bad_input_ends_with_two(source: str, arguments: list[str], text: str, tmp_path: Path) -> None:
    file = tmp_path / f"m{abs(hash((source, text)))}.py"
    file.write_text(source)
    names = {"file": str(file), "stem": file.stem, "cwd": str(Path.cwd())}
    code, _, err = command(*(argument.format(**names) for argument in arguments))
    assert (code, err.splitlines()[-1]) == (2, f"error: {text.format(**names)}")


@pytest.mark.parametrize("arguments", [["--port", "65536"], ["--port", "-1"], ["--max-reviews", "0"], ["--max-body-bytes", "0"]])
def test_numbers_that_nobody_could_serve_with_end_with_two(arguments: list[str], hooks: Path) -> None:
    code, _, err = command(str(hooks), "--no-register", *arguments)
    assert (code, f"Invalid value for '{arguments[0]}'" in err) == (2, True)


ADDRESSES = {
    "a server on this machine": ("https://127.0.0.1:6443", "kadmit", "127.0.0.1"),
    "by its name": ("https://localhost:6443", "", address.reachable("https://localhost:6443")),
    "Docker Desktop": ("https://127.0.0.1:6443", "docker-desktop", "host.docker.internal"),
    "k3d": ("https://0.0.0.0:6443", "k3d-dev", "host.k3d.internal"),
    "minikube": ("https://192.168.49.2:8443", "minikube", "host.minikube.internal"),
}


@pytest.mark.parametrize(("server", "context", "found"), ADDRESSES.values(), ids=ADDRESSES)
def test_an_address_is_found_that_the_cluster_can_call(server: str, context: str, found: str) -> None:
    assert address.reachable(server, context) == found


@pytest.mark.parametrize(
    ("advertised", "expected"),
    [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("localhost", "127.0.0.1"), ("10.0.0.7", ""), ("x.y", "")],
)
def test_no_more_is_listened_on_than_callers_need(advertised: str, expected: str) -> None:
    assert address.listening(advertised) == expected
