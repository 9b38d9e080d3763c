"""The pytest plugin: fixtures `kadmit_cluster`, `kadmit_server`, `kadmit_webhook` and their factories, and policy coverage.

NB: it is loaded by every pytest run of a project that has Kadmit, so it imports the engine in fixtures only.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kadmit.testing.cluster import Cluster
    from kadmit.testing.covering import Covering
    from kadmit.testing.hooking import Serve
    from kadmit.testing.server import Server
    from kadmit.testing.webhook import Certificate

_SCOPE = "kadmit_server_scope"
_SCOPES = ("function", "class", "module", "package", "session")
_TOLD = "kadmit_coverage"

_servers = pytest.StashKey["list[Server]"]()
_covering = pytest.StashKey["Covering"]()


def _leave_the_engine_as_it_is() -> None:
    """pytest rewrites the assertions of all modules of a package that has a plugin. Ours has hundreds, and asserts in hot places:
    they would load and run slower in every test, and gain nothing."""
    for finder in sys.meta_path:
        with contextlib.suppress(AttributeError):
            finder._must_rewrite.discard("kadmit")  # type: ignore[attr-defined]  # pytest has no other way to say so


_leave_the_engine_as_it_is()


# ---------------------------------------------------------------- options


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kadmit", "Kubernetes admission policies")
    group.addoption(
        "--kadmit-coverage",
        metavar="PATH",
        action="append",
        nargs="?",
        const="",
        help="Report which expressions of policies no test decided by: of those in PATH (repeatable), or of all that tests load.",
    )
    group.addoption(
        "--kadmit-coverage-min", metavar="PERCENT", type=float, help="Fail if policy coverage is below this many percent."
    )
    parser.addini(_SCOPE, "How long a kadmit_server lives: function, class, module, package or session.", default="function")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(args: list[str]) -> None:
    """NB: what follows a bare --kadmit-coverage is a test, not its value."""
    args[:] = ["--kadmit-coverage=" if argument == "--kadmit-coverage" else argument for argument in args]


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_servers] = []
    if config.getini(_SCOPE) not in _SCOPES:
        raise pytest.UsageError(f"{_SCOPE}: must be one of {', '.join(_SCOPES)}, is {config.getini(_SCOPE)!r}")
    least = config.getoption("--kadmit-coverage-min")
    if least is not None and not 0 <= least <= 100:
        raise pytest.UsageError(f"--kadmit-coverage-min: must be 0 to 100, is {least:g}")
    paths = _coverage_paths(config)
    if paths is not None:
        config.stash[_covering] = _made_covering(config, paths)


def _coverage_paths(config: pytest.Config) -> list[str] | None:
    """None: nobody asked for coverage."""
    given = config.getoption("--kadmit-coverage")
    if given is None:
        return [] if config.getoption("--kadmit-coverage-min") is not None else None
    return [path for path in given if path]


def _made_covering(config: pytest.Config, paths: Sequence[str]) -> "Covering":
    from kadmit.authoring.manifests import Unreadable
    from kadmit.testing.covering import Covering

    try:
        return Covering(config.rootpath, [str(config.invocation_params.dir / path) for path in paths])
    except Unreadable as e:
        raise pytest.UsageError(f"--kadmit-coverage: {e}") from None


# ---------------------------------------------------------------- clusters


@pytest.fixture
def kadmit_cluster(request: pytest.FixtureRequest) -> "Cluster":
    """A cluster in this process, with nothing in it but its first namespaces."""
    return _new_cluster(request.config, request.path.parent)


@pytest.fixture(scope="session")
def kadmit_cluster_factory(request: pytest.FixtureRequest) -> "Callable[[], Cluster]":
    """Makes clusters for fixtures of any scope."""
    return lambda: _new_cluster(request.config, request.config.rootpath)


def _new_cluster(config: pytest.Config, folder: Path) -> "Cluster":
    from kadmit.testing.cluster import Cluster
    from kadmit.testing.sources import Sources

    covering = config.stash.get(_covering, None)
    return Cluster(Sources(folder, config.rootpath), None if covering is None else covering.watcher())


# ---------------------------------------------------------------- servers


def _server_scope(fixture_name: str, config: pytest.Config) -> Any:
    return config.getini(_SCOPE)


@pytest.fixture(scope="session")
def kadmit_server_flags() -> Sequence[str]:
    """More flags for `kadmit serve`. Override it to have some."""
    return ()


@pytest.fixture(scope="session")
def kadmit_server_factory(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> "Iterator[Callable[..., Server]]":
    """Starts servers: kadmit_server_factory("--flag=value", ...). Each ends with the session, or before by `stop` or `with`."""
    started: list[Server] = []

    def start(*flags: str) -> "Server":
        server = _started(request.config, tmp_path_factory, flags)
        started.append(server)
        return server

    yield start
    for server in started:
        _stopped(request.config, server)


@pytest.fixture(scope=_server_scope)
def kadmit_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, kadmit_server_flags: Sequence[str]
) -> "Iterator[Server]":
    """A `kadmit serve` of its own, ready. How long it lives is said by the ini option kadmit_server_scope."""
    server = _started(request.config, tmp_path_factory, kadmit_server_flags)
    yield server
    _stopped(request.config, server)


def _started(config: pytest.Config, folders: pytest.TempPathFactory, flags: Sequence[str]) -> "Server":
    from kadmit.testing.server import CannotStart, Server
    from kadmit.testing.sources import Sources

    try:
        server = Server(folders.mktemp("kadmit"), flags, Sources(config.rootpath))
    except CannotStart as e:
        pytest.fail(str(e), pytrace=False)
    config.stash[_servers].append(server)
    return server


def _stopped(config: pytest.Config, server: "Server") -> None:
    server.stop()
    config.stash[_servers].remove(server)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """A test that failed shows what the servers of that moment said last."""
    report: pytest.TestReport = yield  # type: ignore[assignment]
    if report.failed:
        for server in item.config.stash.get(_servers, ()):
            tail = server.log_tail()
            if tail:
                report.sections.append((f"kadmit serve at {server.url}", tail))
    return report  # type: ignore[return-value]


# ---------------------------------------------------------------- webhooks


@pytest.fixture
def kadmit_webhook(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Serve]":
    """Serves a function as a TLS webhook and registers it with a cluster or a server, for as long as the test runs."""
    from kadmit.testing.hooking import Hooks

    with Hooks(lambda: tmp_path_factory.mktemp("webhook")) as hooks:
        yield hooks.serve


@pytest.fixture
def kadmit_certificate(tmp_path_factory: pytest.TempPathFactory) -> "Certificate":
    """Files of a certificate for 127.0.0.1 and localhost, for webhooks that are programs of their own."""
    from kadmit.testing.webhook import certificate

    return certificate(tmp_path_factory.mktemp("certificate"))


# ---------------------------------------------------------------- coverage


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    covering = config.stash.get(_covering, None)
    if covering is None:
        return
    output: dict[str, Any] | None = getattr(config, "workeroutput", None)
    if output is not None:
        output[_TOLD] = covering.told()
    elif _is_too_little(config, covering) and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """pytest-xdist: a worker is done, and tells what it met."""
    told: Mapping[str, Any] | None = getattr(node, "workeroutput", {}).get(_TOLD)
    if told is not None:
        node.config.stash[_covering].add(told)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    covering = config.stash.get(_covering, None)
    if covering is None:
        return
    terminalreporter.section("policy coverage")
    for line in covering.report().lines():
        terminalreporter.write_line(line)
    if _is_too_little(config, covering):
        least = config.getoption("--kadmit-coverage-min")
        terminalreporter.write_line(f"policy coverage is below {least:g}%", red=True, bold=True)


def _is_too_little(config: pytest.Config, covering: "Covering") -> bool:
    least = config.getoption("--kadmit-coverage-min")
    return least is not None and covering.report().percent < least
