"""kadmit audit-replay as users call it."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.authoring.test_replaying import mutation, policy
from tests.authoring.test_replaying_log import event

from kadmit.cli import main
from kadmit.testing import Server

DENYING = policy('object.data.x != "1"')
CHANGING = mutation('[JSONPatch{op: "add", path: "/data/y", value: "2"}]')


def run(*arguments: str | Path, given: bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["audit-replay", *map(str, arguments)], input=given)


def lines(*events: object) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in events)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "audit.log"
    path.write_bytes(lines(event(), event("get"), event(level="Metadata")))
    return path


@pytest.fixture
def denying(tmp_path: Path) -> Path:
    path = tmp_path / "denying.yaml"
    path.write_text(DENYING)
    return path


@pytest.fixture
def changing(tmp_path: Path) -> Path:
    path = tmp_path / "changing.yaml"
    path.write_text(CHANGING)
    return path


def test_the_report_tells_what_would_happen_and_what_is_not_known(log: Path, denying: Path) -> None:
    told = run(log, "-f", denying)
    assert told.exit_code == 1
    assert told.output == (
        "1 request replayed: 1 denied, 0 changed, 0 warned of, 0 audited, 0 unaffected; 1 could not be\n"
        "\n"
        "denied by ValidatingAdmissionPolicy p (binding p)\n"
        "  1 configmaps: not this\n"
        "    users: alice 1\n"
        "    namespaces: shop 1\n"
        "    for example CREATE shop/a (2026-01-01T00:00:00.000000Z, id-1)\n"
        "\n"
        "could not be judged\n"
        "  1: level Metadata: the log has no objects (Request or RequestResponse is needed)\n"
        "\n"
        "nothing to judge\n"
        "  1: nothing is written (get, list, watch)\n"
    )


def test_json_has_it_all(log: Path, denying: Path) -> None:
    told = json.loads(run(log, "-f", denying, "-o", "json", "--examples", "0").output)
    assert (told["logs"], told["events"], told["replayed"], told["denied"], told["lost"]) == ([str(log)], 3, 1, 1, 1)
    (finding,) = told["findings"]
    assert (finding["policy"], finding["message"], finding["count"], finding["examples"]) == ("p", "not this", 1, [])


@pytest.mark.parametrize(
    ("fail_on", "denied", "changed"), [("denied", 1, 0), ("changed", 1, 1), ("never", 0, 0)]
)  # fmt: skip
def test_the_exit_code_is_as_asked_for(log: Path, denying: Path, changing: Path, fail_on: str, denied: int, changed: int) -> None:
    assert run(log, "-f", denying, "--fail-on", fail_on).exit_code == denied
    assert run(log, "-f", changing, "--fail-on", fail_on).exit_code == changed


def test_logs_may_be_several_gzipped_or_piped(log: Path, denying: Path, tmp_path: Path) -> None:
    zipped = tmp_path / "audit.log.gz"
    zipped.write_bytes(gzip.compress(lines(event())))
    assert json.loads(run(zipped, log, "-f", denying, "-o", "json").output)["replayed"] == 2
    assert json.loads(run("-", "-f", denying, "-o", "json", given=gzip.compress(lines(event()))).output)["replayed"] == 1
    assert json.loads(run(log, "-f", "-", "-o", "json", given=DENYING.encode()).output)["denied"] == 1


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"{}\n", "holds no audit event (audit.k8s.io/v1, one JSON object a line)"),
        (b"nonsense\n", "holds no audit event (audit.k8s.io/v1, one JSON object a line)"),
        (gzip.compress(lines(event()))[:-20], "broken gzip: Compressed file ended before the end-of-stream marker was reached"),
        (gzip.compress(lines(event()))[:12] + b"\x00" * 40, "broken gzip: "),
    ],
    ids=["another object", "no JSON", "cut short", "garbled"],
)
def test_a_log_that_is_none_is_bad_input(content: bytes, told: str, denying: Path, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(content)
    found = run(path, "-f", denying)
    assert found.exit_code == 2
    assert f"kadmit audit-replay: {path}: {told}" in found.output


def test_an_empty_log_is_a_log_without_requests(denying: Path, tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    assert run(tmp_path / "log", "-f", denying).output.startswith("0 requests replayed: ")


def test_an_empty_log_may_come_after_another(log: Path, denying: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.log"
    empty.touch()
    for logs in ((log, empty), (empty, log)):
        assert json.loads(run(*logs, "-f", denying, "-o", "json").output)["events"] > 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "give at least one LOG"),
        (["log"], "give policies with -f"),
        (["-", "-f", "-"], "standard input can be read once: give all but one as files"),
        (["log", "-f", "nowhere.yaml"], "nowhere.yaml: No such file or directory"),
        (["nowhere.log", "-f", "POLICIES"], "nowhere.log: No such file or directory"),
    ],
)
def test_bad_input_is_told(arguments: list[str], told: str, denying: Path) -> None:
    found = run(*(str(denying) if a == "POLICIES" else a for a in arguments))
    assert (found.exit_code, found.output) == (2, f"kadmit audit-replay: {told}\n")


def test_a_policy_that_is_wrong_is_told_with_its_place(log: Path, tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(policy("objekt"))
    found = run(log, "-f", path)
    assert found.exit_code == 2
    assert found.output.startswith(f"kadmit audit-replay: {path}:8:31: ValidatingAdmissionPolicy")


def test_the_log_of_a_real_server_is_replayed(
    kadmit_server_factory: Callable[..., Server], denying: Path, changing: Path, tmp_path: Path
) -> None:
    rules = tmp_path / "audit.yaml"
    rules.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]\n")
    log = tmp_path / "audit.log"
    one = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}}
    with kadmit_server_factory(f"--audit-log-path={log}", f"--audit-policy-file={rules}") as server:
        alice = server.as_user("alice", ["system:masters"]).raising
        alice.create(one)
        alice.patch(one, {"data": {"x": "2"}})
        alice.update({**one, "data": {"x": "1"}})
        alice.delete(one)
    told = json.loads(run(log, "-f", denying, "-o", "json").output)
    assert (told["replayed"], told["lost"], told["assumed"]) == (4, 0, [])
    assert [(f["effect"], f["count"], f["users"]) for f in told["findings"]] == [
        ("denied", 2, {"alice": 2}),
        ("denied", 1, {"alice": 1}),
    ]
    assert json.loads(run(log, "-f", changing, "-o", "json").output)["changed"] == 3
