"""What a mutating policy of one row does, with the CEL library alone: no server, no patching, no decoding.

It compiles variables, match conditions and the mutation in the environments that they stand in, evaluates them in the
order in which a policy does, and gives an answer in the words of `tables`. What only a server can say (a patch that does
not apply, a value that cannot become JSON, names that are not allowed) is left to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.conformance import tables
from tests.conformance.tables import Failed, Gave, Refused, Row

from kadmit.cel import cost, environment, jsonform, types
from kadmit.cel.environment import Environment
from kadmit.cel.library import mutation
from kadmit.cel.program import Program
from kadmit.cel.source import CompileError
from kadmit.cel.values import CelError, Value

MINOR = 36
OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"
GROUPS = {"admin": ["system:masters"], "alice": ["developers"], "bob": ["operators", "auditors"]}
MAX_EXACT = 2**53 - 1


@dataclass(slots=True)
class Unevaluated:
    """The mutation was evaluated and gave a value that only a server can go on with."""

    value: Value


def answer(row: Row) -> Refused | Failed | Gave | Unevaluated:
    compiled = _compiled(row)
    return compiled if isinstance(compiled, Refused) else _evaluated(row, compiled)


# Compiling


@dataclass(frozen=True, slots=True)
class _Policy:
    variables: Mapping[str, Program]
    conditions: Mapping[str, Program]  # by their text
    mutation: Program


def _mutation_of(row: Row) -> tuple[str, str, types.Type]:
    """The field that the expression stands in, its text, and the type that it must have."""
    for given in row.policy.get("mutations", ()):
        if "applyConfiguration" in given:
            field = "spec.mutations[0].applyConfiguration.expression"
            return field, given["applyConfiguration"]["expression"], mutation.OBJECT_TYPE
        return tables.EXPRESSION_FIELD, given["jsonPatch"]["expression"], types.list_of(mutation.JSON_PATCH_TYPE)
    return tables.EXPRESSION_FIELD, row.text, types.list_of(mutation.JSON_PATCH_TYPE)


def _compiled(row: Row) -> _Policy | Refused:
    params = "paramKind" in row.policy
    causes: list[tuple[str, str]] = []

    def attempt(env: Environment, field: str, text: str, *returns: types.Type) -> Program | None:
        try:
            return env.compile(text.strip(), returns=returns)
        except CompileError as e:
            causes.append((field, str(e)))
            return None

    plain = environment.admission(MINOR, params=params)
    conditions = {}
    for i, c in enumerate(row.policy.get("matchConditions", ())):
        conditions[c["expression"]] = attempt(plain, f"spec.matchConditions[{i}].expression", c["expression"], types.BOOL)
    known: dict[str, types.Type] = {}
    variables = {}
    for i, v in enumerate(row.policy.get("variables", ())):
        env = environment.with_policy_variables(plain, known)
        program = attempt(env, f"spec.variables[{i}].expression", v["expression"])
        variables[v["name"]] = program
        known[v["name"]] = types.DYN if program is None else program.output_type
    env = environment.with_policy_variables(environment.admission(MINOR, mutating=True, params=params), known)
    field, text, returns = _mutation_of(row)
    mutating = attempt(env, field, text, returns)
    if causes or mutating is None:
        return Refused(tuple(causes))
    return _Policy(
        {name: p for name, p in variables.items() if p is not None},
        {text: p for text, p in conditions.items() if p is not None},
        mutating,
    )


# Evaluating


class _Variables:
    """`variables`: each evaluated when it is first asked for, on the budget of the mutation."""

    cel_type = types.struct(environment.VARIABLES_TYPE)

    def __init__(self, programs: Mapping[str, Program], bindings: Mapping[str, Value]) -> None:
        self.programs = programs
        self.bindings = {**bindings, "variables": self}
        self.known: dict[str, Value] = {}
        self.cost = 0

    def find(self, name: Value) -> Value:
        if name not in self.known:
            result = self.programs[name].evaluate(self.bindings)
            self.cost += result.cost
            failed = isinstance(result.value, CelError)
            text = f'composited variable "{name}" fails to evaluate: {result.value.message}' if failed else ""
            self.known[name] = CelError(text) if failed else result.value
        return self.known[name]

    def equals(self, other: Value) -> bool:
        return self is other


def _evaluated(row: Row, policy: _Policy) -> Failed | Gave | Unevaluated:
    ignore = row.policy.get("failurePolicy") == "Ignore"
    bindings = _bindings(row)
    stopped = _conditions(policy, {**bindings, "namespaceObject": None}, ignore=ignore)
    if stopped is not None:
        return stopped
    variables = _Variables(policy.variables, bindings)
    result = policy.mutation.evaluate({**bindings, "variables": variables})
    if isinstance(result.value, CelError):
        return Gave(None) if ignore else Failed(_resulted(policy.mutation.text, result.value))
    if result.cost + variables.cost > cost.PER_BINDING_BUDGET:
        return Gave(None) if ignore else Failed(OUT_OF_BUDGET)
    if "mutations" in row.policy:
        return Unevaluated(result.value)
    return _patched(result.value[0].value)


def _conditions(policy: _Policy, bindings: Mapping[str, Value], *, ignore: bool) -> Failed | Gave | None:
    """Why the mutation does not run: a false condition, else errors."""
    errors = []
    budget = cost.MATCH_CONDITIONS_BUDGET
    for text, program in policy.conditions.items():
        result = program.evaluate(bindings)
        budget -= result.cost
        if budget < 0:
            errors = [OUT_OF_BUDGET]
            break
        if result.value is False:
            return Gave(None)
        if isinstance(result.value, CelError):
            errors.append(_resulted(text, result.value))
    if not errors:
        return None
    joined = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
    return Gave(None) if ignore else Failed(joined)


def _resulted(text: str, error: CelError) -> str:
    return f"expression '{text}' resulted in error: {error.message}"


def _patched(value: Value) -> Gave | Unevaluated:
    """The value as the patched object shows it."""
    if isinstance(value, mutation.ObjectValue):
        return Unevaluated(value)
    return Gave(tables.masked(_exact(jsonform.to_json(value))))


def _exact(value: Any) -> Any:
    """Integers that a double cannot hold become text on their way through JSON."""
    if isinstance(value, list):
        return [_exact(item) for item in value]
    if isinstance(value, dict):
        return {k: _exact(v) for k, v in value.items()}
    return str(value) if type(value) is int and abs(value) > MAX_EXACT else value


# What expressions are evaluated with


def _bindings(row: Row) -> dict[str, Value]:
    return {
        "object": row.object,
        "oldObject": None,
        "request": _request(row),
        "namespaceObject": _namespace(row),
        "params": None,
    }


def _request(row: Row) -> dict[str, Value]:
    kind = {"group": "probe.example.com", "version": "v1", "kind": "Probe"}
    resource = {"group": "probe.example.com", "version": "v1", "resource": "probes"}
    return {
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": row.name,
        "namespace": row.namespace,
        "operation": "CREATE",
        "userInfo": {
            "username": row.user,
            "uid": f"{row.user}-uid",
            "groups": [*GROUPS[row.user], "system:authenticated"],
        },
        "object": None,
        "oldObject": None,
        "uid": "",
        "dryRun": True,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "dryRun": ["All"]},
    }


def _namespace(row: Row) -> dict[str, Value]:
    return {
        "metadata": {
            "name": row.namespace,
            "labels": {**row.labels, "kubernetes.io/metadata.name": row.namespace},
            "resourceVersion": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }
