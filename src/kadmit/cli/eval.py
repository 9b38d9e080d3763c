"""kadmit eval: one expression, or one a line, evaluated as the expression of a mutation is."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import click

from kadmit.cel import environment, jsonform, trace
from kadmit.cel.library.authorizer import Attributes, AuthorizerValue, Decision, User
from kadmit.cel.source import CompileError
from kadmit.cel.values import CelError, Value
from kadmit.cli import documents

COMPILE_FAILED, RUN_FAILED, BAD_INPUT = 1, 1, 2


@click.command("eval", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("expression", required=False)
@click.option("-f", "--object", "object_file", metavar="FILE", help="Object of the request (YAML or JSON; - for standard input).")
@click.option("--old-object", metavar="FILE", help="Object before the request.")
@click.option("--params", metavar="FILE", help="Params object.")
@click.option("--namespace", metavar="FILE", help="Namespace object of the request.")
@click.option("--kube-version", default=f"1.{environment.NEWEST}", show_default=True, help="Kubernetes version whose CEL to use.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--trace", "traced", is_flag=True, help="Show each sub-expression with its value.")
@click.option("--stdin", "from_stdin", is_flag=True, help="Read one expression a line; print one JSON object a line (-o json).")
def command(
    expression: str | None,
    object_file: str | None,
    old_object: str | None,
    params: str | None,
    namespace: str | None,
    kube_version: str,
    output: str,
    *,
    traced: bool,
    from_stdin: bool,
) -> None:
    """Evaluate a CEL EXPRESSION with kube-apiserver's value, error text and cost.

    The identifiers are those of a mutation: object, oldObject, request, params, namespaceObject, variables, authorizer, Object
    and JSONPatch. Without -f, object is null.

    \b
      kadmit eval 'object.spec.replicas > 3' -f deployment.yaml
      kadmit eval --stdin -o json < expressions.txt

    Exit code: 0 evaluated, 1 the expression failed to compile or to run, 2 bad input.
    """
    env = environment.mutation(_minor(kube_version))
    files = {"object": object_file, "oldObject": old_object, "params": params, "namespaceObject": namespace}
    bindings = _bindings({name: _read(path) for name, path in files.items()})
    if from_stdin:
        if expression is not None or traced:
            _bad_input("--stdin takes its expressions from standard input, and no --trace")
        _print_lines(_records(env, bindings, sys.stdin))
        return
    if expression is None:
        _bad_input("give an EXPRESSION, or --stdin")
    sys.exit(_one(env, expression, bindings, output=output, traced=traced))


def _minor(text: str) -> int:
    major, _, minor = text.removeprefix("v").partition(".")
    number = minor.split(".")[0]
    if major != "1" or not number.isdecimal() or not environment.OLDEST <= int(number) <= environment.NEWEST:
        _bad_input(f'kube-version "{text}": must be 1.{environment.OLDEST} to 1.{environment.NEWEST}')
    return int(number)


def _bad_input(message: str) -> NoReturn:
    click.echo(f"kadmit eval: {message}", err=True)
    sys.exit(BAD_INPUT)


def _read(path: str | None) -> Value:
    """The one object of a file."""
    if path is None:
        return None
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as e:
        _bad_input(f"{path}: {e.strerror}")
    try:
        return documents.one(data)
    except ValueError as e:
        _bad_input(f"{path}: {e}")


def _bindings(objects: Mapping[str, Value]) -> dict[str, Value]:
    """The variables of a request that would bring these objects, by nobody in particular."""
    brought = objects["object"] or objects["oldObject"] or {}
    nobody = User("system:anonymous", groups=("system:unauthenticated",))
    return {
        **objects,
        "request": _request(brought, objects),
        "authorizer": AuthorizerValue(nobody, NobodyMay()),
    }


def _request(brought: Mapping[str, Any], objects: Mapping[str, Value]) -> dict[str, Value]:
    group, _, version = str(brought.get("apiVersion", "")).rpartition("/")
    metadata = brought.get("metadata") if isinstance(brought.get("metadata"), dict) else {}
    kind = {"group": group, "version": version, "kind": str(brought.get("kind", ""))}
    operation = "CREATE" if objects["oldObject"] is None else "DELETE" if objects["object"] is None else "UPDATE"
    names = {k: metadata[k] for k in ("name", "namespace") if metadata and metadata.get(k)}
    user = {"username": "system:anonymous", "groups": ["system:unauthenticated"]}
    return {"kind": kind, "requestKind": kind, "operation": operation, **names, "userInfo": user, "dryRun": False}


class NobodyMay:
    """The authorizer of a command line without a cluster: it denies, and says why."""

    def check(self, attributes: Attributes) -> Decision:
        return Decision(is_allowed=False, reason="kadmit eval knows no roles")


def _dump(record: Mapping[str, object]) -> str:
    import json

    return json.dumps(record, ensure_ascii=False)


def _print_lines(records: Iterable[Mapping[str, object]]) -> None:
    for record in records:
        sys.stdout.write(_dump(record) + "\n")
        sys.stdout.flush()


def _records(env: environment.Environment, bindings: Mapping[str, Value], lines: Iterable[str]) -> Iterator[dict[str, object]]:
    for line in lines:
        text = line.rstrip("\n")
        if text.strip():
            yield _record(env, text, bindings)


def _record(env: environment.Environment, text: str, bindings: Mapping[str, Value]) -> dict[str, Any]:
    """{"expr", "value", "type", "cost"} or {"expr", "error", "stage", …}."""
    try:
        program = env.compile(text)
    except CompileError as e:
        return {"expr": text, "error": str(e), "stage": "compile", "cost": 0}
    value, cost = program.evaluate(bindings)
    if value.__class__ is CelError:
        return {"expr": text, "error": value.message, "stage": "run", "cost": cost, "type": str(program.output_type)}
    return {"expr": text, "value": jsonform.to_json(value), "type": str(program.output_type), "cost": cost}


def _one(env: environment.Environment, text: str, bindings: Mapping[str, Value], *, output: str, traced: bool) -> int:
    record = _record(env, text, bindings)
    steps = trace.steps(env.compile(text), bindings) if traced and record.get("stage") != "compile" else []
    if output == "json":
        shown = {"trace": [s.as_json() for s in steps]} if traced else {}
        click.echo(_dump({**record, **shown}))
    else:
        _print_text(record, steps)
    return COMPILE_FAILED if "error" in record else 0


def _print_text(record: Mapping[str, Any], steps: "list[trace.Step]") -> None:
    for step in steps:
        click.echo(f"{'  ' * step.depth}{step.text}  →  {step.value_text()}", err=True)
    if "error" in record:
        click.echo(record["error"], err=True)
        return
    click.echo(_dump_value(record["value"]))
    click.echo(f"type {record['type']}, cost {record['cost']}", err=True)


def _dump_value(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, indent=2 if isinstance(value, dict | list) else None)
