"""What a mutating policy of one row does, with the CEL library alone: no server, no patching, no decoding.

It compiles variables, match conditions and the mutation in the environments that they stand in, evaluates them in the
order in which a policy does, and gives an answer in the words of `tables`. What only a server can say (a patch that does
not apply, a value that cannot become JSON, names that are not allowed) is left to it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tests.conformance import tables
from tests.conformance.tables import Failed, Gave, Refused, Row

from kadmit.cel import composition, cost, environment, gotime, jsonform, operators, types
from kadmit.cel.composition import Composition
from kadmit.cel.environment import Environment
from kadmit.cel.library import authorizer, mutation
from kadmit.cel.program import Program
from kadmit.cel.source import CompileError
from kadmit.cel.types import Kind
from kadmit.cel.values import CelError, MapValue, Optional, Timestamp, Value, type_of

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
    variables: Composition
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
    written = [(v["name"], v["expression"]) for v in row.policy.get("variables", ())]
    target = environment.admission(MINOR, mutating=True, params=params)
    variables, env = composition.compose(written, plain, target)
    for i, (name, _) in enumerate(written):
        if isinstance(failed := variables.programs[name], CompileError):
            causes.append((f"spec.variables[{i}].expression", str(failed)))
    field, text, returns = _mutation_of(row)
    mutating = attempt(env, field, text, returns)
    if causes or mutating is None:
        return Refused(tuple(causes))
    return _Policy(variables, {text: p for text, p in conditions.items() if p is not None}, mutating)


# Evaluating


def _evaluated(row: Row, policy: _Policy) -> Failed | Gave | Unevaluated:
    ignore = row.policy.get("failurePolicy") == "Ignore"
    bindings = _bindings(row)
    stopped = _conditions(policy, {**bindings, "namespaceObject": None}, ignore=ignore)
    if stopped is not None:
        return stopped
    bound = policy.variables.bind(bindings)
    result = policy.mutation.evaluate(bound)
    if isinstance(result.value, CelError):
        return Gave(None) if ignore else Failed(_resulted(policy.mutation.text, result.value))
    if result.cost + bound["variables"].take_cost() > cost.PER_BINDING_BUDGET:
        return Gave(None) if ignore else Failed(OUT_OF_BUDGET)
    if "mutations" in row.policy or len(result.value) != 1:
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
    """The value as the patched object shows it, where it has a form in JSON."""
    if isinstance(value, Optional):
        return _patched(value.value) if value.present else Unevaluated(value)
    if type_of(value).kind in (Kind.OPAQUE, Kind.STRUCT, Kind.TYPE):
        return Unevaluated(value)
    return Gave(tables.masked(_sent(value)))


def _sent(value: Value) -> Any:
    """JSON as the server sends it: whole doubles without a point, integers that a double cannot hold as text."""
    match value:
        case list():
            return [_sent(item) for item in value]
        case dict() | MapValue():
            return {jsonform.key_text(key): _sent(item) for key, item in operators.items(value)}
        case Optional(present=True):
            return _sent(value.value)
        case Timestamp():
            return gotime.format_timestamp(value)
        case float() if value.is_integer() and abs(value) < 1e21:
            return int(Decimal(repr(value)))
        case int() if not isinstance(value, bool) and abs(value) > MAX_EXACT:
            return str(int(value))
    return jsonform.to_json(value)


# What expressions are evaluated with


def _bindings(row: Row) -> dict[str, Value]:
    return {
        "object": row.object,
        "oldObject": None,
        "request": _request(row),
        "namespaceObject": _namespace(row),
        "params": None,
        "authorizer": authorizer.AuthorizerValue(_user(row), Roles(row.given)),
        "authorizer.requestResource": _request_resource(row),
    }


def _user(row: Row) -> authorizer.User:
    return authorizer.User(row.user, f"{row.user}-uid", (*GROUPS[row.user], "system:authenticated"))


def _request_resource(row: Row) -> Value:
    probes = {"group": "probe.example.com", "resource": "probes", "namespace": row.namespace, "name": row.name}
    return authorizer.request_resource(_user(row), Roles(row.given), **probes)


class Roles:
    """An authorizer that knows the cluster roles of a case, and what the recorded server granted to everybody."""

    PUBLIC = ("/healthz", "/livez", "/readyz", "/version")

    def __init__(self, given: Sequence[Mapping[str, Any]]) -> None:
        self.roles = {o["metadata"]["name"]: o["rules"] for o in given if o["kind"] == "ClusterRole"}
        self.bindings = [o for o in given if o["kind"] == "ClusterRoleBinding"]

    def check(self, attributes: authorizer.Attributes) -> authorizer.Decision:
        user = attributes.user
        mine = [b for b in self.bindings if any(s["name"] in (user.name, *user.groups) for s in b["subjects"])]
        rules = [rule for binding in mine for rule in self.roles[binding["roleRef"]["name"]]]
        public = attributes.verb == "get" and attributes.path in self.PUBLIC and "system:authenticated" in user.groups
        granted = "system:masters" in user.groups or public or any(self._grants(rule, attributes) for rule in rules)
        return authorizer.Decision(granted)

    @staticmethod
    def _grants(rule: Mapping[str, Any], asked: authorizer.Attributes) -> bool:
        if asked.verb not in rule["verbs"]:
            return False
        if not asked.resource_request:
            return asked.path in rule.get("nonResourceURLs", ())
        named = "resourceNames" not in rule or asked.name in rule["resourceNames"]
        return named and asked.group in rule.get("apiGroups", ()) and asked.resource in rule.get("resources", ())


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
