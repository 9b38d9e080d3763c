"""kadmit eval: one expression, or one a line, evaluated as the expression of a mutation is."""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import click

from kadmit.cel import environment, jsonform, room, trace
from kadmit.cel.environment import Environment
from kadmit.cel.source import CompileError
from kadmit.cel.values import CelError, Value
from kadmit.cli import documents

FAILED, BAD_INPUT = 1, 2
MAX_TRACED = 100  # characters of a value in a trace; a whole object would bury the rest

_NEGATIVE = re.compile(r"-[^a-zA-Z-]")
_ASKS_FOR_MORE = re.compile(r"request|authorizer|namespaceObject")

# The variables that an expression may name.
Bindings = Callable[[str], Mapping[str, Value]]
Record = dict[str, Any]


class _Command(click.Command):
    """Takes -1 for an expression, not for options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        negative = [] if "--" in args else [a for a in args if _NEGATIVE.match(a)]
        return super().parse_args(ctx, [*(a for a in args if a not in negative), *(["--"] if negative else []), *negative])


@click.command("eval", cls=_Command, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("expression", required=False)
@click.option("-f", "--object", "object", metavar="FILE", help="Object of the request, as YAML or JSON; - is standard input.")
@click.option("--old-object", "oldObject", metavar="FILE", help="Object before the request: with -f an UPDATE, else a DELETE.")
@click.option("--params", "params", metavar="FILE", help="Params object.")
@click.option("--namespace", "namespaceObject", metavar="FILE", help="Namespace object of the request.")
@click.option(
    "--kube-version",
    metavar="VERSION",
    default=f"1.{environment.NEWEST}",
    show_default=True,
    help=f"Kubernetes version whose CEL to use: 1.{environment.OLDEST} to 1.{environment.NEWEST}.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="The value on standard output and the rest on standard error, or all in one JSON object.",
)
@click.option("--trace", "traced", is_flag=True, help="Show each sub-expression with its value.")
@click.option("--stdin", "from_stdin", is_flag=True, help="Read one expression a line; print one JSON object a line.")
def command(
    expression: str | None, *, kube_version: str, output: str, traced: bool, from_stdin: bool, **files: str | None
) -> None:
    """Evaluate a CEL EXPRESSION with kube-apiserver's value, error text and cost.

    The identifiers are those of a mutation: object, oldObject, request, params, namespaceObject, variables, authorizer, Object
    and JSONPatch. Without -f, object is null. An EXPRESSION that begins with a minus and a letter goes last, after --.

    \b
      kadmit eval 'object.spec.replicas > 3' -f deployment.yaml
      kadmit eval --stdin -o json < expressions.txt

    Exit code: 0 evaluated, 1 the expression failed to compile or to run, 2 bad input. With --stdin failures are told in the
    output, and the exit code stays 0.
    """
    env = environment.mutation(_minor(kube_version))
    _check_inputs(expression, list(files.values()), from_stdin=from_stdin)
    bindings = _bindings({name: _read(path) for name, path in files.items()})
    if expression is None:
        for text in _lines(sys.stdin.buffer):
            sys.stdout.write(_dumped(_record(env, text, bindings(text), traced=traced)) + "\n")
            sys.stdout.flush()
        return
    record = _record(env, expression, bindings(expression), traced=traced)
    if output == "json":
        click.echo(_dumped(record))
    else:
        _print_text(record)
    sys.exit(FAILED if "error" in record else 0)


# ---------------------------------------------------------------- input


def _bad_input(message: str) -> NoReturn:
    click.echo(f"kadmit eval: {message}", err=True)
    sys.exit(BAD_INPUT)


def _minor(text: str) -> int:
    """36 of 1.36, v1.36 or 1.36.4."""
    found = re.fullmatch(r"v?1\.([0-9]{1,3})(\.[0-9]+)?", text)
    if not found or not environment.OLDEST <= int(found[1]) <= environment.NEWEST:
        _bad_input(f'--kube-version "{text}": must be 1.{environment.OLDEST} to 1.{environment.NEWEST}')
    return int(found[1])


def _check_inputs(expression: str | None, paths: list[str | None], *, from_stdin: bool) -> None:
    if (expression is None) is not from_stdin:
        _bad_input("give one EXPRESSION, or --stdin and one expression a line")
    if expression is not None and not _is_utf8(expression):
        _bad_input("EXPRESSION: must be UTF-8")
    if paths.count("-") + from_stdin > 1:
        _bad_input("standard input can be read once: give all but one as files")


def _is_utf8(text: str) -> bool:
    """NB: Python hands over other bytes of the command line as lone surrogates."""
    return not re.search("[\ud800-\udfff]", text)


def _read(path: str | None) -> dict[str, Value] | None:
    """The one object of a file."""
    if path is None:
        return None
    name = "standard input" if path == "-" else path
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as e:
        _bad_input(f"{name}: {e.strerror}")
    try:
        return documents.one(data)
    except ValueError as e:
        from kadmit.authoring import positions

        at = positions.fault(data)
        _bad_input(f"{name}:{f'{at.line}:{at.column}:' if at else ''} {e}")


def _lines(data: Iterable[bytes]) -> Iterator[str]:
    """The expressions: every line that is not blank."""
    for number, line in enumerate(data, 1):
        try:
            text = line.decode().rstrip("\r\n")
        except UnicodeDecodeError:
            _bad_input(f"standard input, line {number}: must be UTF-8")
        if text.strip():
            yield text


def _bindings(objects: Mapping[str, dict[str, Value] | None]) -> Bindings:
    """Most expressions look at objects only; the request around them is loaded when one names it."""

    @cache
    def all_variables() -> Mapping[str, Value]:
        from kadmit.cli import request

        return request.variables(objects)

    return lambda text: all_variables() if _ASKS_FOR_MORE.search(text) else objects


# ---------------------------------------------------------------- output


def _record(env: Environment, text: str, bindings: Mapping[str, Value], *, traced: bool) -> Record:
    """{"expr", "value", "type", "cost"} or {"expr", "error", "stage", …}."""
    try:
        program = env.compile(text)
    except CompileError as e:
        return {"expr": text, "error": str(e), "stage": "compile", "cost": 0}
    value, cost = program.evaluate(bindings)
    shown = {"trace": trace.steps(program, bindings)} if traced else {}
    if value.__class__ is CelError:
        said = {"error": value.message, "stage": "run", "cost": cost, "type": str(program.output_type)}
    else:
        said = {"value": value, "type": str(program.output_type), "cost": cost}
    return {"expr": text, **said, **shown}


def _dumped(record: Record) -> str:
    return room.for_depth(lambda: json.dumps(_as_json(record), ensure_ascii=False))


def _as_json(record: Record) -> Record:
    made = dict(record)
    if "value" in made:
        made["value"] = jsonform.to_json(made["value"])
    if "trace" in made:
        made["trace"] = [step.as_json() for step in made["trace"]]
    return made


def _print_text(record: Record) -> None:
    for step in _worth_showing(record.get("trace", ())):
        click.echo(f"{'  ' * step.depth}{step.text}  →  {_shortened(room.for_depth(step.value_text))}", err=True)
    if "error" in record:
        click.echo(record["error"], err=True)
        return
    click.echo(room.for_depth(_value_text, record["value"]))
    click.echo(f"type {record['type']}, cost {record['cost']}", err=True)


def _worth_showing(steps: Iterable[trace.Step]) -> Iterator[trace.Step]:
    """All but the beginnings of paths that could be followed: of object.spec.replicas, neither object.spec nor object."""
    return (step for step in steps if not step.link)


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_TRACED else text[:MAX_TRACED] + "…"


def _value_text(value: Value) -> str:
    shown = jsonform.to_json(value)
    return json.dumps(shown, ensure_ascii=False, indent=2 if isinstance(shown, dict | list) else None)
