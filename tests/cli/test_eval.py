"""kadmit eval as users call it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kadmit.cli import main

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: prod
  labels: {app: web}
spec:
  replicas: 3
  paused: no
"""


def kadmit(*arguments: str, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(main, ["eval", *arguments], input=stdin)


def answer(*arguments: str, stdin: str | bytes = "") -> dict[str, Any]:
    """The JSON object of `-o json`."""
    found: dict[str, Any] = json.loads(kadmit(*arguments, "-o", "json", stdin=stdin).stdout)
    return found


def answers(*arguments: str, stdin: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in kadmit("--stdin", *arguments, stdin=stdin).stdout.splitlines()]


@pytest.fixture
def deployment(tmp_path: Path) -> str:
    path = tmp_path / "deployment.yaml"
    path.write_text(DEPLOYMENT)
    return str(path)


def _file(folder: Path, text: str | bytes) -> str:
    path = folder / "object"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


# ---------------------------------------------------------------- values

VALUES: list[tuple[str, object, str]] = [
    ("1 + 1", 2, "int"),
    ("2u", 2, "uint"),
    ("1.0 / 4.0", 0.25, "double"),
    ("1e3", 1000.0, "double"),
    ("0.0 / 0.0", "NaN", "double"),
    ("1.0 / 0.0", "Infinity", "double"),
    ("-1.0 / 0.0", "-Infinity", "double"),
    ("'grün' + '✓'", "grün✓", "string"),
    ("null", None, "null_type"),
    ("b'\\xff\\x00'", "/wA=", "bytes"),
    ("timestamp('2024-02-29T12:00:00+02:00')", "2024-02-29T10:00:00Z", "google.protobuf.Timestamp"),
    ("duration('1h30m')", "5400s", "google.protobuf.Duration"),
    ("type(1u)", "uint", "type(uint)"),
    ("type(type(1))", "type", "type(type(int))"),
    ("optional.of([1])", {"optional": [[1]]}, "optional_type(list(int))"),
    ("optional.of(null)", {"optional": [None]}, "optional_type(null_type)"),
    ("optional.none()", {"optional": []}, "optional_type(dyn)"),
    ("{1: 'a', -2: 'b'}", {"1": "a", "-2": "b"}, "map(int, string)"),
    ("{true: [1.5]}", {"true": [1.5]}, "map(bool, list(double))"),
    ("{3u: duration('1ms')}", {"3": "0.001s"}, "map(uint, google.protobuf.Duration)"),
    ("quantity('1.50Gi')", "1536Mi", "kubernetes.Quantity"),
    ("ip('::0001')", "::1", "net.IP"),
    ("cidr('10.0.0.0/8')", "10.0.0.0/8", "net.CIDR"),
    ("semver('1.2.3')", "1.2.3", "kubernetes.Semver"),
    ("url('https://example.com/a')", "https://example.com/a", "kubernetes.URL"),
    ("Object{spec: Object.spec{replicas: 1}}", {"spec": {"replicas": 1}}, "Object"),
    ("[JSONPatch{op: 'add', path: '/a', value: {'b': 1}}]", [{"op": "add", "path": "/a", "value": {"b": 1}}], "list(JSONPatch)"),
    ("JSONPatch{op: 'move', from: '/a', path: '/b'}", {"op": "move", "path": "/b", "from": "/a"}, "JSONPatch"),
]


@pytest.mark.parametrize(("expression", "value", "type_"), VALUES, ids=[row[0] for row in VALUES])
def test_a_value_becomes_json(expression: str, value: object, type_: str) -> None:
    said = answer(expression)
    assert (said["value"], type(said["value"]), said["type"]) == (value, type(value), type_)


def test_the_value_goes_to_standard_output_and_the_rest_to_standard_error() -> None:
    run = kadmit("'a'.size() + 1")
    assert (run.exit_code, run.stdout, run.stderr) == (0, "2\n", "type int, cost 2\n")


def test_lists_and_maps_are_printed_on_many_lines() -> None:
    assert kadmit("{'a': [1]}").stdout == '{\n  "a": [\n    1\n  ]\n}\n'


def test_json_is_one_line_with_expression_value_type_and_cost() -> None:
    run = kadmit("-o", "json", "'é'")
    assert run.stdout == '{"expr": "\'é\'", "value": "é", "type": "string", "cost": 0}\n'
    assert run.stderr == ""


def test_an_expression_may_begin_with_a_minus() -> None:
    assert kadmit("-1").stdout == "-1\n"
    assert kadmit("-(2 + 3)", "-o", "json").stdout.startswith('{"expr": "-(2 + 3)", "value": -5')
    assert kadmit("-f", "-", "--", "-object.a", stdin='{"a": 4}').stdout == "-4\n"


# ---------------------------------------------------------------- errors


def test_a_compile_error_shows_where_and_exits_with_1() -> None:
    run = kadmit("object.spec +")
    assert run.exit_code == 1
    assert run.stdout == ""
    assert run.stderr.startswith("compilation failed: ERROR: <input>:1:14: Syntax error: mismatched input '<EOF>' expecting {")
    assert run.stderr.endswith("\n | object.spec +\n | .............^\n")


def test_a_run_error_shows_its_text_and_exits_with_1() -> None:
    run = kadmit("[1][3]")
    assert (run.exit_code, run.stdout, run.stderr) == (1, "", "index out of bounds: 3\n")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (
            "bad",
            {
                "error": "compilation failed: ERROR: <input>:1:1: undeclared reference to 'bad' (in container '')\n | bad\n | ^",
                "stage": "compile",
                "cost": 0,
            },
        ),
        (
            "int('x')",
            {
                "error": "program instantiation failed: type conversion error from 'string' to 'int'",
                "stage": "compile",
                "cost": 0,
            },
        ),
        ("object.spec.nope == 1", {"error": "no such key: spec", "stage": "run", "cost": 3, "type": "bool"}),
        (
            "lists.range(100).all(x, lists.range(100).all(y, lists.range(100).all(z, x + y + z >= 0)))",
            {"error": "operation cancelled: actual cost limit exceeded", "stage": "run", "type": "bool"},
        ),
    ],
    ids=["unknown name", "constant that fails", "missing key", "too costly"],
)
def test_a_failure_in_json_names_its_stage_and_exits_with_1(expression: str, expected: dict[str, object]) -> None:
    run = kadmit(expression, "-o", "json")
    said = json.loads(run.stdout)
    assert run.exit_code == 1
    assert said["expr"] == expression
    assert {k: said[k] for k in expected} == expected
    assert "value" not in said


# ---------------------------------------------------------------- one expression a line


def test_stdin_gives_one_json_object_a_line_and_goes_on_after_failures() -> None:
    run = kadmit("--stdin", "-o", "json", stdin="1 + 1\n\n  \n1 +\nobject.a\r\n'last'")
    said = [json.loads(line) for line in run.stdout.splitlines()]
    assert run.exit_code == 0
    assert [s["expr"] for s in said] == ["1 + 1", "1 +", "object.a", "'last'"]
    assert [sorted(s) for s in said] == [
        ["cost", "expr", "type", "value"],
        ["cost", "error", "expr", "stage"],
        ["cost", "error", "expr", "stage", "type"],
        ["cost", "expr", "type", "value"],
    ]


def test_stdin_reads_the_object_from_a_file(deployment: str) -> None:
    said = answers("-f", deployment, stdin="object.spec.replicas\nobject.metadata.name\nrequest.operation\n")
    assert [s["value"] for s in said] == [3, "web", "CREATE"]


def test_stdin_may_be_traced() -> None:
    (said,) = answers("--trace", stdin="1 + 1 == 2")
    assert [step["expr"] for step in said["trace"]] == ["1 + 1 == 2", "1 + 1"]


# ---------------------------------------------------------------- trace


def test_a_trace_shows_every_sub_expression_with_its_value(deployment: str) -> None:
    run = kadmit("--trace", "-f", deployment, "[1, 2, 3].exists(x, x == object.spec.replicas)")
    assert (run.exit_code, run.stdout) == (0, "true\n")
    assert run.stderr.splitlines() == [
        "[1, 2, 3].exists(x, x == object.spec.replicas)  →  true",
        "  [1, 2, 3]  →  [1, 2, 3]",
        "  x == object.spec.replicas  →  true (3 times)",
        "    x  →  3 (3 times)",
        "    object.spec.replicas  →  3 (3 times)",
        "type bool, cost 28",
    ]


def test_a_trace_leads_to_the_error() -> None:
    run = kadmit("--trace", "1 + 2 > object.a")
    assert run.exit_code == 1
    assert run.stderr.splitlines() == [
        "1 + 2 > object.a  →  error: no such key: a",
        "  1 + 2  →  3",
        "  object.a  →  error: no such key: a",
        "no such key: a",
    ]


def test_a_trace_shows_how_far_a_path_could_be_followed() -> None:
    run = kadmit("--trace", "-f", "-", "object.a.b.c", stdin='{"a": {"b": {"d": 1}}}')
    assert run.stderr.splitlines() == [
        "object.a.b.c  →  error: no such key: c",
        '  object.a.b  →  {"d": 1}',
        "no such key: c",
    ]


def test_a_trace_cuts_long_values_short(tmp_path: Path) -> None:
    path = _file(tmp_path, json.dumps({"a": "x" * 1000}))
    longest = max(map(len, kadmit("--trace", "-f", path, "size(object.a)").stderr.splitlines()))
    assert longest < 200


def test_a_trace_in_json_has_depth_times_and_value_or_error() -> None:
    assert answer("--trace", "[2].map(x, x * 2) == [object.a]")["trace"] == [
        {"expr": "[2].map(x, x * 2) == [object.a]", "depth": 0, "times": 1, "error": "no such key: a"},
        {"expr": "[2].map(x, x * 2)", "depth": 1, "times": 1, "value": [4]},
        {"expr": "[2]", "depth": 2, "times": 1, "value": [2]},
        {"expr": "x * 2", "depth": 2, "times": 1, "value": 4},
        {"expr": "x", "depth": 3, "times": 1, "value": 2},
        {"expr": "[object.a]", "depth": 1, "times": 1, "error": "no such key: a"},
        {"expr": "object.a", "depth": 2, "times": 1, "error": "no such key: a"},
    ]


def test_what_does_not_compile_has_no_trace() -> None:
    assert "trace" not in answer("--trace", "1 +")


# ---------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("text", "expression", "value"),
    [
        (DEPLOYMENT, "object.spec.paused", False),
        (DEPLOYMENT, "object.spec.replicas", 3),
        ("mode: 0644\ntime: 12:30\nday: 2024-01-01\n", "object", {"mode": 420, "time": "12:30", "day": "2024-01-01"}),
        ('{"a": [1, 2.0, null, true]}', "object.a", [1, 2.0, None, True]),
        ("{a: 1}", "object.a", 1),
        ("---\n# nothing\n---\na: 1\n---\n", "object.a", 1),
        ('{"a": 9223372036854775807, "b": 18446744073709551615}', "[type(object.a), type(object.b)]", ["int", "double"]),
    ],
    ids=["YAML", "whole number", "YAML 1.1", "JSON", "braces of YAML", "empty documents", "long numbers"],
)
def test_an_object_is_read_as_kubernetes_reads_it(tmp_path: Path, text: str, expression: str, value: object) -> None:
    assert answer(expression, "-f", _file(tmp_path, text))["value"] == value


def test_an_object_may_come_from_standard_input() -> None:
    assert answer("object.spec.replicas", "-f", "-", stdin=DEPLOYMENT)["value"] == 3


def test_without_files_all_objects_are_null() -> None:
    assert answer("[object, oldObject, params, namespaceObject] == [null, null, null, null]")["error"].startswith(
        "compilation failed"
    )
    assert answer("object == null && oldObject == null && params == null")["value"] is True


@pytest.mark.parametrize(
    ("given", "operation"), [(("-f",), "CREATE"), (("-f", "--old-object"), "UPDATE"), (("--old-object",), "DELETE")]
)
def test_the_objects_decide_the_operation(deployment: str, given: tuple[str, ...], operation: str) -> None:
    files = [word for option in given for word in (option, deployment)]
    said = answer("request", *files)["value"]
    assert (said["operation"], said["options"]["kind"]) == (operation, f"{operation.capitalize()}Options")
    assert (said["name"], said["namespace"], said["dryRun"]) == ("web", "prod", False)


def test_the_request_names_the_resource_of_the_object(deployment: str, tmp_path: Path) -> None:
    custom = _file(tmp_path, '{"apiVersion": "example.com/v1", "kind": "Policy"}')
    deployments = {"group": "apps", "version": "v1", "resource": "deployments"}
    assert answer("request.resource", "-f", deployment)["value"] == deployments
    assert answer("request.requestResource.resource", "-f", custom)["value"] == "policies"


def test_old_object_params_and_namespace_have_their_names(tmp_path: Path) -> None:
    old, params, namespace = (tmp_path / name for name in ("old.json", "params.yaml", "namespace.yaml"))
    old.write_text('{"spec": {"replicas": 2}}')
    params.write_text("data: {most: 5}\n")
    namespace.write_text("metadata: {name: prod, labels: {tier: front}}\n")
    files = ["--old-object", str(old), "--params", str(params), "--namespace", str(namespace)]
    assert answer("oldObject.spec.replicas", *files)["value"] == 2
    assert answer("params.data.most", *files)["value"] == 5
    assert answer("namespaceObject.metadata.labels", *files)["value"] == {"tier": "front"}
    assert answer("request.namespace", *files)["value"] == "prod"


def test_nobody_is_allowed_anything() -> None:
    said = answer("authorizer.group('apps').resource('deployments').check('get').reason()")
    assert said["value"] == "there is no cluster to ask"
    assert answer("authorizer.requestResource.check('get').allowed()")["value"] is False


def test_a_deep_object_is_printed(tmp_path: Path) -> None:
    depth = 900
    path = _file(tmp_path, '{"a":' * depth + "1" + "}" * depth)
    assert kadmit("object", "-f", path, "-o", "json").stdout.count('"a"') == depth
    assert answer("object == oldObject", "-f", path, "--old-object", path)["value"] is True


BAD_FILES: list[tuple[str, str | bytes, str]] = [
    ("empty", "", " holds no object"),
    ("only comments", "# nothing\n---\n", " holds no object"),
    ("several documents", "a: 1\n---\nb: 2\n", " holds 2 objects: give a file with one"),
    ("a list", "- 1\n", " must hold an object, holds a list"),
    ("a text", "hello", " must hold an object, holds a text"),
    ("broken YAML", "a: [1\n", "2:1: yaml: line 1: did not find expected ',' or ']'"),
    ("broken JSON", '{"a": ]}', "1:7: yaml: "),
    ("not UTF-8", b"a: \xff", "1:4: yaml: "),
    ("too deep", '{"a":' * 2000 + "1" + "}" * 2000, " yaml: exceeded max depth of 254"),
]


@pytest.mark.parametrize(("text", "error"), [row[1:] for row in BAD_FILES], ids=[row[0] for row in BAD_FILES])
def test_a_bad_file_is_named_and_exits_with_2(tmp_path: Path, text: str | bytes, error: str) -> None:
    path = _file(tmp_path, text)
    run = kadmit("object", "-f", path)
    assert run.exit_code == 2
    assert run.stdout == ""
    assert run.stderr.startswith(f"kadmit eval: {path}:{error}")
    assert len(run.stderr.splitlines()) == 1


BAD_CALLS: list[tuple[tuple[str, ...], str]] = [
    ((), "give one EXPRESSION, or --stdin and one expression a line"),
    (("1", "--stdin"), "give one EXPRESSION, or --stdin and one expression a line"),
    (("--stdin", "-f", "-"), "standard input can be read once"),
    (("1", "-f", "-", "--params", "-"), "standard input can be read once"),
    (("1", "-f", "/nonexistent/file"), "/nonexistent/file: No such file or directory"),
    (("1", "-f", "/"), "/: Is a directory"),
    (("1", "--kube-version", "1.29"), '--kube-version "1.29": must be 1.30 to 1.36'),
    (("1", "--kube-version", "1.37"), '--kube-version "1.37": must be 1.30 to 1.36'),
    (("1", "--kube-version", "2.30"), '--kube-version "2.30": must be 1.30 to 1.36'),
    (("1", "--kube-version", "latest"), '--kube-version "latest": must be 1.30 to 1.36'),
    (("1", "--nosuch"), "No such option"),
    (("1", "-o", "yaml"), "Invalid value for '-o'"),
    (("1", "2"), "unexpected extra argument"),
]


@pytest.mark.parametrize(("arguments", "error"), BAD_CALLS, ids=[" ".join(a) or "nothing" for a, _ in BAD_CALLS])
def test_a_bad_call_says_what_to_do_and_exits_with_2(arguments: tuple[str, ...], error: str) -> None:
    run = kadmit(*arguments)
    assert (run.exit_code, run.stdout) == (2, "")
    assert error in run.stderr


def test_bytes_that_are_no_text_are_bad_input() -> None:
    run = kadmit("--stdin", stdin=b"1\n\xff\n2\n")
    assert run.exit_code == 2
    assert len(run.stdout.splitlines()) == 1
    assert run.stderr == "kadmit eval: standard input, line 2: must be UTF-8\n"
    assert kadmit("\udcff").stderr == "kadmit eval: EXPRESSION: must be UTF-8\n"


# ---------------------------------------------------------------- versions


@pytest.mark.parametrize(
    ("expression", "since"),
    [
        ("format.dns1123Label().validate('a').hasValue()", 31),
        ("{'a': 1}.transformMap(k, v, v + 1)", 32),
        ("semver('1.2.3').major()", 33),
        ("[1].sort()", 34),
        ("[2, 1].sortBy(x, -x)", 34),
    ],
)
def test_a_function_does_not_compile_before_its_version(expression: str, since: int) -> None:
    before = answer(expression, "--kube-version", f"1.{since - 1}")
    assert before["stage"] == "compile"
    assert "undeclared reference to" in before["error"]
    assert "value" in answer(expression, "--kube-version", f"1.{since}")


@pytest.mark.parametrize("version", ["1.30", "1.36", "v1.34", "1.36.4"])
def test_a_version_may_be_written_in_several_ways(version: str) -> None:
    assert answer("1 + 1", "--kube-version", version)["value"] == 2


# ---------------------------------------------------------------- the real program


def _run(*arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "kadmit", "eval", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("arguments", "code", "stdout", "stderr"),
    [
        (("'a' + 'b'",), 0, '"ab"\n', "type string, cost 1\n"),
        (("1 / 0",), 1, "", "division by zero\n"),
        (("x",), 1, "", "compilation failed: ERROR: <input>:1:1: undeclared reference to 'x' (in container '')\n | x\n | ^\n"),
        (("1", "-f", "nosuch.yaml"), 2, "", "kadmit eval: nosuch.yaml: No such file or directory\n"),
    ],
    ids=["value", "run error", "compile error", "bad input"],
)
def test_the_program_tells_outcomes_apart_by_exit_code(arguments: tuple[str, ...], code: int, stdout: str, stderr: str) -> None:
    run = _run(*arguments)
    assert (run.returncode, run.stdout, run.stderr) == (code, stdout, stderr)


def test_the_program_answers_lines() -> None:
    run = _run("--stdin", "-o", "json", stdin="'✓'\n1 / 0\n")
    assert run.returncode == 0
    assert run.stdout.splitlines() == [
        '{"expr": "\'✓\'", "value": "✓", "type": "string", "cost": 0}',
        '{"expr": "1 / 0", "error": "division by zero", "stage": "run", "cost": 1, "type": "int"}',
    ]


def test_a_value_that_has_no_text_is_told_by_its_type() -> None:
    run = CliRunner().invoke(main, ["eval", "authorizer.group('').resource('pods')"])
    assert run.stdout == '"(kubernetes.authorization.ResourceCheck)"\n'
