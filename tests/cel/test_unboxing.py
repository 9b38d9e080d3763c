"""Optionals that a path starts at, Objects that are read, keys that Go cannot hash: what does not survive being a Go value."""

import pytest

from kadmit.cel import environment
from kadmit.cel.source import CompileError
from kadmit.cel.values import CelError, Value

ENVIRONMENT = environment.mutation()
BINDINGS: dict[str, Value] = {"object": {"paused": False, "name": "web"}}


def answers(text: str) -> list[Value]:
    """The value of an expression, or its error text, by both evaluators."""
    program = ENVIRONMENT.compile(text)
    found = (program.evaluate(BINDINGS).value, program.evaluate_exact(BINDINGS).value)
    return [value.message if isinstance(value, CelError) else value for value in found]


QUANTITY = "unsupported conversion to ref.Val: (*resource.Quantity)1"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("[optional.of(1)].map(x, x.value())", [1]),
        ("[optional.of({'a': 1})].map(x, x.a.value())", [1]),
        ("[optional.of(optional.of(1))].map(x, x.value())", [1]),
        ("[optional.of(optional.none())].map(x, x.value())", [None]),
        ("[optional.of(int)].map(x, dyn(x.value()))", ["int"]),
        ("[optional.of(quantity('1'))].map(x, x.hasValue())", [True]),
        ("[optional.of(quantity('1'))].map(x, x.value())", QUANTITY),
        ("[optional.of(quantity('1'))].exists(x, x == x)", QUANTITY),
        ("[optional.of(quantity('1'))].exists(x, x != x)", True),
        ("[optional.of(quantity('1'))].map(x, x.optMap(y, 1).value())", [1]),
        (
            "(object.paused ? optional.none() : optional.of(ip('::1'))).value()",
            "unsupported conversion to ref.Val: (netip.Addr)::1",
        ),
        ("(object.paused ? optional.none() : optional.of(optional.of(2))).value()", 2),
        ("optional.of(1).optMap(x, x + 1).value()", 2),
        ("[optional.of(quantity('1'))][0].value().isInteger()", True),
    ],
)
def test_a_path_that_starts_at_an_optional_takes_its_value_out_and_wraps_it_again(text: str, answer: Value) -> None:
    assert answers(text) == [answer, answer]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Object{a: 1}.a", 1),
        ("Object{a: [1, 2]}.a", [1, 2]),
        ("Object{a: int}.a == 'int'", True),
        ("Object{a: quantity('1')}.a", QUANTITY),
        ("Object{a: [quantity('1')]}.a[0]", QUANTITY),
        ("Object{a: [quantity('1')]}.a.map(x, x)", QUANTITY),
        ("has(Object{a: {1: 2}}.a)", False),
        ("Object{a: {1: 2}}.a", 'cannot get field "a"'),
    ],
)
def test_an_object_is_read_through_its_go_values(text: str, answer: Value) -> None:
    assert answers(text) == [answer, answer]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{b'a': object.name}", "runtime error: hash of unhashable type types.Bytes"),
        ("{b'a': object.name}.size() > 0 || true", "runtime error: hash of unhashable type types.Bytes"),
        ("{semver('1.0.0'): object.name}", "runtime error: hash of unhashable type cel.Semver"),
        ("{?b'a': optional.none()}", "hash of unhashable type: types.Bytes"),
        ("{'k': 1, ?b'a': optional.none()}.size()", None),
        ("dyn(b'a') in ['a', 'b']", "runtime error: hash of unhashable type types.Bytes"),
    ],
)
def test_a_key_that_go_cannot_hash_ends_the_evaluation(text: str, error: str | None) -> None:
    if error is None:
        with pytest.raises(CompileError, match="expected type 'string' but found 'bytes'"):
            ENVIRONMENT.compile(text)
    else:
        assert answers(text) == [f"internal error: {error}"] * 2


def test_a_field_that_a_json_patch_does_not_have_compiles_to_nothing() -> None:
    with pytest.raises(CompileError, match=r"^unexpected compilation error: missing type conversion to proto: $"):
        ENVIRONMENT.compile("JSONPatch{}.nope")


def test_type_variables_in_messages_are_numbered_from_the_result_on() -> None:
    with pytest.raises(CompileError, match=r"expression of type 'optional_type\(_var5\)'"):
        ENVIRONMENT.compile("optional.none()[true].map(x, x)")
