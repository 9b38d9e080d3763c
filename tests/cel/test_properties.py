"""The compiled function and the tree-walker say the same of every expression, and nothing else ever comes out."""

from typing import Any

from hypothesis import HealthCheck, event, example, given, settings
from tests.cel.expressions import damaged, expressions, noise, objects

from kadmit.cel import environment, jsonform
from kadmit.cel.library.mutation import JSONPatchValue, ObjectValue
from kadmit.cel.operators import MISSING
from kadmit.cel.source import CompileError
from kadmit.cel.types import Type
from kadmit.cel.values import CelError, Duration, MapValue, Optional, Timestamp, Value

ENVIRONMENT = environment.mutation(minor=36)
BOUNDED = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))


def form(value: Value) -> object:
    """A value with its types, NaN equal to itself, in a form that == compares strictly."""
    match value:
        case CelError():
            return ("error", value.message)
        case list():
            return [form(item) for item in value]
        case dict():
            return ("map", [(form(k), form(v)) for k, v in value.items()])
        case MapValue():
            return ("map", [(form(k), form(v)) for k, v in value.entries.values()])
        case Optional():
            return ("optional", value.present, form(value.value))
        case Timestamp():
            return ("timestamp", value.nanos, value.offset)
        case Duration():
            return ("duration", value.nanos)
        case Type():
            return ("type", str(value))
        case ObjectValue():
            return ("object", value.cel_type.name, form(value.fields))
        case JSONPatchValue():
            return ("patch", value.op, value.path, value.from_, None if value.value is MISSING else [form(value.value)])
        case None | bool() | int() | float() | str() | bytes():
            return (type(value).__name__, repr(value))
    return (type(value).__name__, jsonform.to_json(value))


def outcomes(text: str, bound: dict[str, Any]) -> list[tuple[object, int]] | None:
    """What both evaluators say; None if the text does not compile."""
    try:
        program = ENVIRONMENT.compile(text)
    except CompileError as e:
        if not str(e).startswith(("compilation failed: ", "program instantiation failed: ")):
            raise
        return None
    results = [program.evaluate({"object": bound}), program.evaluate_exact({"object": bound})]
    return [(form(result.value), result.cost) for result in results]


@BOUNDED
@example(text="dyn(0.0).all(k, true)", bound={})  # a constant that is falsy is not an empty list
@example(text="dyn(optional.none())[?has(object.m.k)]", bound={"m": {}})  # a key that is never looked at costs nothing
@given(text=expressions(), bound=objects)
def test_both_evaluators_give_one_value_error_and_cost(text: str, bound: dict[str, Any]) -> None:
    said = outcomes(text, bound)
    if said is None:
        event("does not compile")
        return
    compiled, exact = said
    event("error" if isinstance(exact[0], tuple) and exact[0][0] == "error" else "value")
    assert compiled == exact


@BOUNDED
@given(text=noise, bound=objects)
def test_any_text_compiles_or_is_refused(text: str, bound: dict[str, Any]) -> None:
    outcomes(text, bound)


@BOUNDED
@given(text=damaged(), bound=objects)
def test_a_damaged_expression_compiles_or_is_refused(text: str, bound: dict[str, Any]) -> None:
    said = outcomes(text, bound)
    assert said is None or said[0] == said[1]
