"""Starting and ending: what is refused in which words, the log, the ready line, and an end without haste."""

import asyncio
import io
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kadmit.server import lifecycle, logs, startup
from kadmit.server.lifecycle import Inflight, Shutdown
from kadmit.server.startup import StartupError

# ---------------------------------------------------------------- files and addresses


def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("é")
    assert startup.text_of("token-auth-file", tmp_path / "a") == "é"


def test_what_cannot_be_read_is_told_with_its_flag(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff")
    with pytest.raises(StartupError, match=r"^--token-auth-file: cannot read '/no/file': no such file or directory$"):
        startup.text_of("token-auth-file", Path("/no/file"))
    with pytest.raises(StartupError, match=r"^--token-auth-file: cannot read '.*': is a directory$"):
        startup.text_of("token-auth-file", tmp_path)
    with pytest.raises(StartupError, match=r"^--token-auth-file: '.*binary' is not UTF-8 text$"):
        startup.text_of("token-auth-file", tmp_path / "binary")


def test_a_huge_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "MAX_FILE", 3)
    (tmp_path / "a").write_text("long")
    with pytest.raises(StartupError, match=r"is larger than 3 bytes$"):
        startup.file_of("config", tmp_path / "a")


def test_any_free_port_can_be_taken() -> None:
    with startup.listener("127.0.0.1", 0) as made:
        assert made.getsockname()[1] > 0


def test_a_port_that_is_taken_is_told() -> None:
    with startup.listener("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        expected = (
            rf"^cannot listen on 127.0.0.1:{port}: address already in use; stop what listens there, or choose another --sec"
        )
        with pytest.raises(StartupError, match=expected):
            startup.listener("127.0.0.1", port)


def test_an_address_of_another_machine_is_told() -> None:
    with pytest.raises(StartupError, match=r"; --bind-address must be an address of this machine$"):
        startup.listener("192.0.2.1", 0)


def test_workers_can_share_a_port() -> None:
    with startup.listener("127.0.0.1", 0, shared=True) as one:
        startup.listener("127.0.0.1", one.getsockname()[1], shared=True).close()


@pytest.mark.parametrize("address", ["::1", "::"])
def test_other_families_can_be_listened_on(address: str) -> None:
    try:
        socket.socket(socket.AF_INET6).close()
        made = startup.listener(address, 0)
    except (OSError, StartupError):
        pytest.skip("this machine has no IPv6")
    made.close()


# ---------------------------------------------------------------- the data folder


def test_a_folder_has_one_server(tmp_path: Path) -> None:
    claimed = lifecycle.claim(tmp_path / "data")
    with pytest.raises(StartupError, match=rf"^--data-dir: '.*/data' is in use by process {os.getpid()}; stop it, or choose"):
        lifecycle.claim(tmp_path / "data")
    claimed.release()
    lifecycle.claim(tmp_path / "data").release()


def test_the_process_id_is_in_the_folder(tmp_path: Path) -> None:
    claimed = lifecycle.claim(tmp_path)
    assert int((tmp_path / "kadmit.pid").read_text()) == os.getpid()
    claimed.release()
    assert (tmp_path / "kadmit.pid").read_text() == ""


def test_a_server_that_was_killed_leaves_its_folder_free(tmp_path: Path) -> None:
    program = f"""if True:
        import os, pathlib
        from kadmit.server import lifecycle
        claimed = lifecycle.claim(pathlib.Path({str(tmp_path)!r}))
        os.kill(os.getpid(), 9)"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9
    lifecycle.claim(tmp_path).release()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StartupError, match=r"^--data-dir: cannot use '.*/file/data': not a directory$"):
        lifecycle.claim(tmp_path / "file" / "data")


# ---------------------------------------------------------------- ready


@pytest.mark.parametrize(
    ("path", "shown"), [("/data/admin.kubeconfig", "/data/admin.kubeconfig"), ("/my data/it's", "'/my data/it'\\''s'")]
)
def test_the_ready_line_can_be_pasted_into_a_shell(path: str, shown: str) -> None:
    line = lifecycle.ready_line("https://127.0.0.1:6443", Path(path))
    assert line == f"kadmit is ready at https://127.0.0.1:6443; export KUBECONFIG={shown}"


# ---------------------------------------------------------------- the end


async def test_a_signal_begins_the_end_and_a_second_hurries_it() -> None:
    with Shutdown().on_signals([signal.SIGUSR1]) as shutdown:
        os.kill(os.getpid(), signal.SIGUSR1)
        await asyncio.wait_for(shutdown.begun.wait(), 5)
        assert not shutdown.hurried.is_set()
        os.kill(os.getpid(), signal.SIGUSR1)
        await asyncio.wait_for(shutdown.hurried.wait(), 5)


async def test_requests_may_finish() -> None:
    shutdown, inflight = Shutdown(), Inflight()
    finish = asyncio.Event()

    async def _request() -> None:
        with inflight:
            await finish.wait()

    running = [asyncio.create_task(_request()) for _ in range(2)]
    await asyncio.sleep(0)
    waiting = asyncio.create_task(shutdown.drained(inflight, 60))
    await asyncio.sleep(0)
    assert not waiting.done()
    finish.set()
    assert await asyncio.wait_for(waiting, 5)
    await asyncio.gather(*running)


async def test_requests_that_do_not_finish_are_given_up_at_the_limit() -> None:
    inflight = Inflight()
    with inflight:
        assert not await Shutdown().drained(inflight, 0.001)


async def test_a_second_signal_ends_all_waiting() -> None:
    shutdown, inflight = Shutdown(), Inflight()
    shutdown.begin()
    with inflight:
        waiting = asyncio.gather(shutdown.drained(inflight, 60), shutdown.delay(60))
        await asyncio.sleep(0)
        shutdown.begin()
        drained, _ = await asyncio.wait_for(waiting, 5)
        assert not drained


async def test_an_idle_server_need_not_wait() -> None:
    assert await Shutdown().drained(Inflight(), 60)


# ---------------------------------------------------------------- the log


def _logged(form: str, message: str, level: str = "info", **values: Any) -> str:
    stream = io.StringIO()
    getattr(logs.configured(form, 0, stream), level)(message, **values)
    return stream.getvalue()


def test_text_is_for_people() -> None:
    line = _logged(logs.TEXT, "listening", address="127.0.0.1:6443", workers=2, note="two words")
    assert line.split(" ", 1)[1] == 'INFO    listening address=127.0.0.1:6443 workers=2 note="two words"\n'


def test_json_is_for_machines() -> None:
    record = json.loads(_logged(logs.JSON, "failed", "error", error=ValueError("x"), count=3, path=Path("/a")))
    assert record.pop("ts").endswith("Z")
    assert record == {"level": "error", "msg": "failed", "error": "x", "count": 3, "path": "/a"}


SECRETS: list[dict[str, Any]] = [
    {"token": "hunter2"},
    {"Authorization": "Bearer hunter2"},
    {"client_key": "hunter2"},
    {"tls_private_key": "hunter2"},
    {"headers": {"Cookie": "hunter2", "password": "hunter2"}},
    {"uri": "/api?access_token=hunter2&x=1"},
    {"body": b"hunter2"},
]


@pytest.mark.parametrize("form", [logs.TEXT, logs.JSON])
@pytest.mark.parametrize("values", SECRETS)
def test_secrets_are_not_written(form: str, values: dict[str, Any]) -> None:
    line = _logged(form, "request", **values)
    assert "hunter2" not in line
    assert "<" in line


@pytest.mark.parametrize("form", [logs.TEXT, logs.JSON])
@pytest.mark.parametrize("text", ["a\nINFO forged", "a\r\x1b[31m", "\udcff", 'quote"d'])
def test_nothing_can_begin_a_line_but_the_log(form: str, text: str) -> None:
    line = _logged(form, text, value=text)
    assert line.endswith("\n")
    assert len(line.splitlines()) == 1
    assert "\x1b" not in line


def test_long_values_are_cut() -> None:
    assert len(_logged(logs.TEXT, "x", value="y" * 100_000)) < 5_000


@pytest.mark.parametrize(("verbosity", "lines"), [(0, 1), (3, 1), (4, 2)])
def test_detail_is_for_those_who_ask(verbosity: int, lines: int) -> None:
    stream = io.StringIO()
    log = logs.configured(logs.TEXT, verbosity, stream).bind(worker=1)
    log.debug("detail")
    log.warning("trouble")
    assert stream.getvalue().count("worker=1\n") == lines


def test_a_log_that_cannot_be_written_stops_nothing() -> None:
    stream = io.StringIO()
    stream.close()
    logs.configured(logs.TEXT, 0, stream).info("hello")
