"""How long thirteen policy expressions take to compile and to evaluate, beside the other CEL engines for Python.

    python bench/cel.py [--json] [--seconds 0.2]       (the other engines come with the dependency group `bench`)

Every engine gets the same Deployment of about 9.4 kB with five containers, converted once where it wants its own values;
times are the best of many runs, in microseconds. Only ours counts cost and knows Kubernetes' functions; what an engine
cannot do is left blank. Each engine runs in a process of its own: cel-expr-python aborts the process on CPython 3.11 after
it has handed out many nulls.
"""

import argparse
import functools
import importlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

EXPRESSIONS: dict[str, str] = {
    "field": "object.spec.replicas <= 5",
    "all": "object.spec.template.spec.containers.all(c, c.image.startsWith('registry.example.com/'))",
    "has": "has(object.metadata.labels) && 'app' in object.metadata.labels",
    "map, exists": "object.spec.template.spec.containers.map(c, c.name).exists(n, n == 'container-4')",
    "format": "'%s-%d'.format([object.metadata.name, object.spec.replicas])",
    "nested ?:": "object.spec.replicas > 10 ? 'large' : object.spec.replicas > 5 ? 'middle' : object.spec.paused ? '' : 'small'",
    "quantity": "object.spec.template.spec.containers.all(c, quantity(c.resources.limits.memory).isLessThan(quantity('8Gi')))",
    "optional": "object.?spec.?nosuch.orValue(1)",
    "absorbed": "object.spec.nosuch == 1 || object.spec.replicas == 3",
    "security": (
        "object.spec.template.spec.containers.all(c, has(c.securityContext) && has(c.securityContext.runAsNonRoot) && "
        "c.securityContext.runAsNonRoot && (!has(c.securityContext.capabilities) || "
        "c.securityContext.capabilities.drop.exists(d, d == 'ALL')))"
    ),
    "matches": "object.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
    "error": "object.spec.nosuch == 1",
    "Object": "Object{spec: Object.spec{replicas: object.spec.replicas + 1}}",
}


def deployment() -> dict[str, Any]:
    """A Deployment as people write them: five containers with variables, probes, mounts and limits."""
    containers = [
        {
            "name": f"container-{i}",
            "image": f"registry.example.com/team/application-{i}:1.{i}.0",
            "imagePullPolicy": "IfNotPresent",
            "args": [f"--listen=:{8000 + i}", "--log-format=json", "--verbosity=2"],
            "ports": [{"containerPort": 8000 + i, "name": "http", "protocol": "TCP"}],
            "env": [{"name": f"SETTING_{n}", "value": f"value-{n}-of-container-{i}-{'x' * 50}"} for n in range(8)],
            "resources": {"limits": {"cpu": "500m", "memory": f"{i + 1}Gi"}, "requests": {"cpu": "250m", "memory": "512Mi"}},
            "readinessProbe": {"httpGet": {"path": "/ready", "port": 8000 + i, "scheme": "HTTP"}, "periodSeconds": 10},
            "livenessProbe": {"httpGet": {"path": "/live", "port": 8000 + i, "scheme": "HTTP"}, "failureThreshold": 3},
            "securityContext": {"runAsNonRoot": True, "capabilities": {"drop": ["NET_RAW", "ALL"]}},
            "volumeMounts": [{"name": f"volume-{n}", "mountPath": f"/var/lib/volume-{n}"} for n in range(4)],
        }
        for i in range(5)
    ]
    labels = {"app": "web", "team": "platform", "example.com/tier": "front"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "prod", "labels": labels, "annotations": {"note": "n" * 400}},
        "spec": {
            "replicas": 3,
            "paused": False,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": containers,
                    "volumes": [{"name": f"volume-{n}", "configMap": {"name": f"settings-{n}"}} for n in range(4)],
                },
            },
        },
    }


# One function an engine: it gives a compiler, whose programs evaluate with the Deployment at hand.
Program = Callable[[], object]
Compiler = Callable[[str], Program]


def kadmit(bound: dict[str, Any]) -> Compiler:
    from kadmit.cel import environment

    env = environment.mutation(minor=36)
    bindings = {"object": bound}

    def compile_(text: str) -> Program:
        program = env.compile(text)
        return lambda: program.run(bindings)

    return compile_


def cel_expr_python(bound: dict[str, Any]) -> Compiler:
    from cel_expr_python import cel
    from cel_expr_python.ext import ext_optional, ext_strings

    env = cel.NewEnv(variables={"object": cel.Type.DYN}, extensions=[ext_strings.ExtStrings(), ext_optional.ExtOptional()])
    activation = env.Activation({"object": bound})

    def compile_(text: str) -> Program:
        expression = env.compile(text)
        return lambda: expression.eval(activation)

    return compile_


def cel_python(bound: dict[str, Any]) -> Compiler:
    celpy: Any = importlib.import_module("celpy")

    env = celpy.Environment()
    bindings = {"object": celpy.json_to_cel(bound)}

    def compile_(text: str) -> Program:
        program = env.program(env.compile(text))

        def run() -> object:
            try:
                return program.evaluate(bindings)
            except celpy.CELEvalError as e:
                return e

        if isinstance(outcome := run(), Exception) and text != EXPRESSIONS["error"]:  # a function that it does not have
            raise NotImplementedError(str(outcome))
        return run

    return compile_


ENGINES: dict[str, Callable[[dict[str, Any]], Compiler]] = {
    "kadmit": kadmit,
    "cel-expr-python": cel_expr_python,
    "cel-python": cel_python,
}


def best(call: Callable[[], object], seconds: float) -> float:
    """Microseconds of one call: the best of many rounds, each long enough for the clock."""
    calls = 1
    while (taken := _timed(call, calls)) < 0.002:
        calls *= 2
    fastest, end = taken, time.perf_counter() + seconds
    while time.perf_counter() < end:
        fastest = min(fastest, _timed(call, calls))
    return fastest / calls * 1e6


def _timed(call: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return time.perf_counter() - start


def measure(engine: str, seconds: float) -> dict[str, dict[str, float]]:
    """Microseconds to compile and to evaluate, by expression, of all that the engine can do."""
    compile_ = ENGINES[engine](deployment())
    found: dict[str, dict[str, float]] = {}
    for name, text in EXPRESSIONS.items():
        try:
            program = compile_(text)
            program()
        except Exception as e:
            print(f"{engine} cannot run {name!r}: {type(e).__name__}: {str(e).splitlines()[0][:100]}", file=sys.stderr)
            continue
        found[name] = {"compile": best(functools.partial(compile_, text), seconds / 2), "evaluate": best(program, seconds)}
    return found


def measured_apart(engine: str, seconds: float) -> dict[str, dict[str, float]]:
    command = [sys.executable, __file__, "--engine", engine, "--seconds", str(seconds)]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        print(f"{engine} did not finish ({run.returncode})", file=sys.stderr)
        return {}
    measured: dict[str, dict[str, float]] = json.loads(run.stdout)
    return measured


def table(results: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """A row an expression: microseconds of each engine, and how many times ours the others take."""
    lines = [f"{'expression':12}" + "".join(f"{e + ' ' + w:>26}{'x':>8}" for w in ("evaluate", "compile") for e in ENGINES)]
    for name in EXPRESSIONS:
        cells = [_cell(results, name, engine, what) for what in ("evaluate", "compile") for engine in ENGINES]
        lines.append(f"{name:12}" + "".join(cells))
    return "\n".join(lines)


def _cell(results: Mapping[str, Mapping[str, Mapping[str, float]]], name: str, engine: str, what: str) -> str:
    ours = results["kadmit"].get(name, {}).get(what)
    theirs = results[engine].get(name, {}).get(what)
    ratio = f"{theirs / ours:.1f}" if ours and theirs else ""
    return f"{'' if theirs is None else f'{theirs:.2f}':>26}{ratio:>8}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print all numbers as JSON instead of a table")
    parser.add_argument("--seconds", type=float, default=0.2, help="how long each expression is evaluated")
    parser.add_argument("--engine", choices=ENGINES, help="measure one engine in this process and print its numbers")
    options = parser.parse_args()
    if options.engine:
        print(json.dumps(measure(options.engine, options.seconds)))
        return
    results = {engine: measured_apart(engine, options.seconds) for engine in ENGINES}
    size = len(json.dumps(deployment(), separators=(",", ":")))
    print(json.dumps(results, indent=1) if options.json else f"Deployment of {size} bytes, microseconds\n{table(results)}")


if __name__ == "__main__":
    main()
