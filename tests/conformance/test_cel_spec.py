"""The specification's own tests, run in an environment with cel-go's defaults.

What needs protobuf messages, libraries that Kubernetes does not load, or an unchecked expression is told by looking at
the test itself, counted and printed. The few that cel-go itself fails are named.
"""

import base64
import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace
from tests.cel import celspec
from tests.conformance import ledger

from kadmit.cel import environment, types
from kadmit.cel.declarations import Function, Overload
from kadmit.cel.environment import Environment
from kadmit.cel.source import CompileError
from kadmit.cel.types import Type
from kadmit.cel.values import CelError, Duration, MapValue, Optional, Timestamp, UInt, Value, map_from

SUITE = "cel-spec"

# The engine that Kubernetes runs does not pass these either.
_BACKQUOTES = "names in backquotes are not switched on"
_LAST_KEY_WINS = "of equal keys in a map literal the last one wins"
_SOFT_SELECTION = "a selection through an optional null or number is none, no error"
_FAR_INDEX = "a search that starts past the end finds nothing, it is no error"
CEL_GO_FAILS: dict[str, str] = {
    "fields/quoted_map_fields/field_access_slash": _BACKQUOTES,
    "fields/quoted_map_fields/field_access_dash": _BACKQUOTES,
    "fields/quoted_map_fields/field_access_dot": _BACKQUOTES,
    "fields/quoted_map_fields/has_field_slash": _BACKQUOTES,
    "fields/quoted_map_fields/has_field_dash": _BACKQUOTES,
    "fields/quoted_map_fields/has_field_dot": _BACKQUOTES,
    "fields/qualified_identifier_resolution/map_key_float": "a double may be a key",
    "fields/qualified_identifier_resolution/map_value_repeat_key": _LAST_KEY_WINS,
    "fields/qualified_identifier_resolution/map_value_repeat_key_heterogeneous": _LAST_KEY_WINS,
    "optionals/optionals/map_null_entry_no_such_key": _SOFT_SELECTION,
    "optionals/optionals/map_present_key_invalid_field": _SOFT_SELECTION,
    "string_ext/value_errors/indexof_out_of_range": _FAR_INDEX,
    "string_ext/value_errors/lastindexof_out_of_range": _FAR_INDEX,
    "type_deductions/legacy_nullable_types/null_assignable_to_abstract_parameter_candidate": "null takes the list's type over",
}

# Kubernetes folds constants when it compiles, so these fail there and then; cel-go without that option runs them.
KUBERNETES_FOLDS: dict[str, str] = dict.fromkeys(
    ("fields/map_fields/map_bad_key_type_or_true", "fields/map_fields/map_bad_key_type_and_false"),
    "a constant key of a type that no map has fails when the program is made",
)

EXPECTED_FAILURES: dict[str, str] = {}

Test = Mapping[str, Any]

_MESSAGE = re.compile(r"TestAllTypes|cel\.expr\.conformance|NestedTestAllTypes|google\.protobuf\.\w+\s*\{")
_OTHER_LIBRARY = re.compile(r"\b(?:math|base64|proto)\.\w+\(|\bcel\.(?:bind|block|index|iterVar|accuVar)\(")
# What version 4 of the strings library writes in another way than version 2, which Kubernetes loads.
_NEWER_FORMAT = re.compile(r"(?<!%)%(?:\.\d+)?e|%d.*NaN|Infinity|%s.*\.format\(\[(?:dyn\()?[\[{]")
_KNOWN_OBJECTS = ("type.googleapis.com/google.protobuf.Timestamp", "type.googleapis.com/google.protobuf.Duration")


def needs_messages(path: str, test: Test) -> bool:
    original = test["original"]
    parts = json.dumps([original.get(k) for k in ("expr", "container", "value", "typeEnv", "bindings", "typedResult")])
    objects = re.findall(r'"@type": "([^"]*)"', parts)
    return bool(_MESSAGE.search(parts) or "messageType" in parts or "enumValue" in parts or set(objects) - set(_KNOWN_OBJECTS))


def needs_other_libraries(path: str, test: Test) -> bool:
    text = test["original"]["expr"]
    if path.startswith("string_ext/format/"):
        return bool(_NEWER_FORMAT.search(json.dumps([text, test["original"].get("bindings")])))
    return bool(_OTHER_LIBRARY.search(text)) or (path.startswith("string_ext/") and ".reverse()" in text)


def needs_no_checker(path: str, test: Test) -> bool:
    """Kubernetes checks every expression; cel-go's checker refuses this one."""
    return "disableCheck" in test["original"] and "checkedAst" not in test


def needs_a_container(path: str, test: Test) -> bool:
    """Kubernetes resolves names from the root alone."""
    return "container" in test["original"]


EXCLUSIONS: dict[str, Callable[[str, Test], bool]] = {
    "need protobuf messages": needs_messages,
    "need libraries that Kubernetes does not load": needs_other_libraries,
    "need an unchecked expression": needs_no_checker,
    "need a container for names": needs_a_container,
}


def exclusion(path: str, test: Test) -> str | None:
    return next((reason for reason, applies in EXCLUSIONS.items() if applies(path, test)), None)


# Values and types as the specification writes them

_PRIMITIVES = {
    "BOOL": types.BOOL,
    "INT64": types.INT,
    "UINT64": types.UINT,
    "DOUBLE": types.DOUBLE,
    "STRING": types.STRING,
    "BYTES": types.BYTES,
}
_WELL_KNOWN = {"ANY": types.ANY, "TIMESTAMP": types.TIMESTAMP, "DURATION": types.DURATION}


def type_from(written: Mapping[str, Any]) -> Type:
    ((kind, inside),) = written.items()
    match kind:
        case "primitive":
            return _PRIMITIVES[inside]
        case "wellKnown":
            return _WELL_KNOWN[inside]
        case "listType":
            return types.list_of(type_from(inside["elemType"]))
        case "mapType":
            return types.map_of(type_from(inside["keyType"]), type_from(inside["valueType"]))
        case "abstractType":
            return types.opaque(inside["name"], *map(type_from, inside.get("parameterTypes", ())))
        case "typeParam":
            return types.param(inside)
        case "type":
            return types.type_of_type(type_from(inside)) if inside else types.TYPE
        case "wrapper":
            return types.opaque(f"wrapper({_PRIMITIVES[inside].name})")
        case "null":
            return types.NULL
    return types.DYN


def value_from(written: Mapping[str, Any]) -> Value:
    ((kind, inside),) = written.items()
    match kind:
        case "int64Value":
            return int(inside)
        case "uint64Value":
            return UInt(inside)
        case "doubleValue":
            return float(inside)
        case "bytesValue":
            return base64.b64decode(inside)
        case "listValue":
            return [value_from(item) for item in inside.get("values", ())]
        case "mapValue":
            return map_from([(value_from(e["key"]), value_from(e["value"])) for e in inside.get("entries", ())])
        case "typeValue":
            return Type(types.Kind.OPAQUE, inside)
        case "objectValue":
            return _evaluated(f"{inside['@type'].rsplit('.', 1)[1].lower()}({inside['value']!r})")
    return inside


def _evaluated(text: str) -> Value:
    value = environment.spec().compile(text).evaluate({}).value
    assert not isinstance(value, CelError), value
    return value


def form(value: Value) -> object:
    """A value in a form that == compares strictly: with its type, maps without order, NaN equal to itself."""
    match value:
        case list():
            return ("list", [form(item) for item in value])
        case dict():
            return ("map", sorted((repr(form(k)), form(v)) for k, v in value.items()))
        case MapValue():
            return ("map", sorted((repr(form(k)), form(v)) for k, v in value.entries.values()))
        case Type():
            return ("type", value.name)
        case Timestamp() | Duration():
            return (type(value).__name__, value.nanos)
        case Optional():
            return ("optional", form(value.value), value.present)
        case float():
            return ("double", repr(value or 0.0))  # NB: the tests do not tell -0.0 from 0.0
    return (type(value).__name__, repr(value))


# Running


def functions_from(declared: list[Mapping[str, Any]]) -> tuple[Function, ...]:
    return tuple(
        Function(
            d["name"],
            tuple(
                Overload(
                    o["overloadId"],
                    tuple(map(type_from, o.get("params", ()))),
                    type_from(o["resultType"]),
                    member=bool(o.get("isInstanceFunction")),
                )
                for o in d["function"]["overloads"]
            ),
        )
        for d in declared
        if "function" in d
    )


def environment_of(declared: list[Mapping[str, Any]]) -> Environment:
    """cel-go's defaults with a test's own variables and functions."""
    base = environment.spec()
    variables = {d["name"]: type_from(d["ident"]["type"]) for d in declared if "ident" in d}
    functions = {**base.declarations.functions, **{f.name: f for f in functions_from(declared)}}
    return replace(base, declarations=replace(base.declarations, functions=functions)).with_variables(variables)


def problem(test: Test) -> str | None:
    """What is wrong with our answer to a test, if anything."""
    original = test["original"]
    declared = original.get("typeEnv", [])
    env = environment_of(declared)
    typed = original.get("typedResult", {})
    try:
        deduced = env.check(original["expr"]).output
        if "deducedType" in typed and str(deduced) != (wanted := str(type_from(typed["deducedType"]))):
            return f"{original['expr']!r} is {deduced}, not {wanted}"
        if original.get("checkOnly"):
            return None
        program = env.compile(original["expr"])
    except CompileError as e:
        return None if "evalError" in original else f"{original['expr']!r} does not compile: {e}"
    bindings = {name: value_from(bound["value"]) for name, bound in original.get("bindings", {}).items()}
    expected = original.get("value", typed.get("result", {"boolValue": True}))
    for evaluate in (program.evaluate, program.evaluate_exact):
        got = evaluate(bindings).value
        if "evalError" in original:
            if not isinstance(got, CelError):
                return f"{original['expr']!r} gives {got!r}, not an error"
        elif isinstance(got, CelError):
            return f"{original['expr']!r} fails with {got.message!r}"
        elif form(got) != form(value_from(expected)):
            return f"{original['expr']!r} gives {got!r}, not {expected!r}"
    return None


SECTIONS = sorted({path.split("/")[0] for path, _ in celspec.load("conformance")})


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_of_the_specification_passes(section: str, record_property: ledger.Record) -> None:
    failures: dict[str, str] = {}
    ran: list[str] = []
    for path, test in celspec.load("conformance"):
        if not path.startswith(f"{section}/"):
            continue
        reason = exclusion(path, test)
        if reason is not None:
            ledger.count(record_property, SUITE, reason, 1)
            continue
        ran.append(path)
        found = ledger.attempt(partial(problem, test))
        if found is not None:
            failures[path] = found
    ledger.settle(
        record_property, SUITE, ran=ran, failures=failures, expected=CEL_GO_FAILS | KUBERNETES_FOLDS | EXPECTED_FAILURES
    )
