"""Branches of expressions: what there is to take, and what an evaluation takes."""

import pytest

from kadmit.cel import environment, trace
from kadmit.cel.branches import Branches
from kadmit.cel.values import Value

ENVIRONMENT = environment.admission()


def taken(expression: str, value: Value) -> list[str]:
    program = ENVIRONMENT.compile(expression)
    branches = Branches(program.checked.tree)
    _, met = branches.taken(program, {"object": value})
    return [f"{branches.points[i].text}: {branches.points[i].never}" for i in sorted(met)]


def points(expression: str) -> list[tuple[str, str]]:
    tree = ENVIRONMENT.compile(expression).checked.tree
    return [(point.text, expression[point.offset :]) for point in Branches(tree).points]


DECISIVE, TAKEN = "operand never decisive", "branch never taken"


@pytest.mark.parametrize(
    ("expression", "value", "told"),
    [
        ("object.a ? 'x' : 'y'", {"a": True}, [f'"x": {TAKEN}']),
        ("object.a ? 'x' : 'y'", {"a": False}, [f'"y": {TAKEN}']),
        ("object.a ? 'x' : 'y'", {}, []),
        ("object.a && object.b", {"a": False}, [f"object.a: {DECISIVE}"]),
        ("object.a && object.b", {"a": True, "b": False}, [f"object.b: {DECISIVE}"]),
        ("object.a && object.b", {"a": True, "b": True}, ["object.a && object.b: && never true"]),
        ("object.a || object.b", {"a": True}, [f"object.a: {DECISIVE}"]),
        ("object.a || object.b", {"a": False, "b": True}, [f"object.b: {DECISIVE}"]),
        ("object.a || object.b", {"a": False, "b": False}, ["object.a || object.b: || never false"]),
        # An operand that fails decides nothing; the one that makes up for it does.
        ("object.a && object.b", {"b": False}, [f"object.b: {DECISIVE}"]),
        ("object.a || object.b", {"b": True}, [f"object.b: {DECISIVE}"]),
        ("object.a || object.b", {"b": False}, []),
        # However the parser balances a chain, it is one chain.
        ("object.a && object.b && object.c && object.d", {"a": True, "b": True, "c": False}, [f"object.c: {DECISIVE}"]),
        # In a loop, every turn counts.
        (
            "object.all(x, x > 1 || x == -1)",
            [2, -1, 0],
            [f"x > 1: {DECISIVE}", f"x == -1: {DECISIVE}", "x > 1 || x == -1: || never false"],
        ),
        ("object.map(x, x > 0 ? 1 : 2)", [1, -1], [f"1: {TAKEN}", f"2: {TAKEN}"]),
        ("object.map(x, x > 0 ? 1 : 2)", [], []),
        # One inside of the other.
        (
            "(object.a || object.b) && object.c",
            {"a": False, "b": True, "c": False},
            [f"object.c: {DECISIVE}", f"object.b: {DECISIVE}"],
        ),
    ],
)
def test_an_evaluation_takes_branches_and_has_a_decisive_operand(expression: str, value: Value, told: list[str]) -> None:
    assert taken(expression, value) == told


@pytest.mark.parametrize(
    ("expression", "starts"),
    [
        ("has(object.a) && size(object.b) > 0", ["has(object.a) &&", "size(object.b) > 0", "has(object.a) &&"]),
        ("object.a.startsWith('b') ? [1] : [2]", ["[1] : [2]", "[2]"]),
        ("object.exists(x, !x.a || x.b == 'c')", ["!x.a ||", "x.b == 'c'", "!x.a ||"]),
        ("true ? {'a': 1} : {}", ["{'a'", "{}"]),
    ],
)
def test_a_point_knows_where_it_begins(expression: str, starts: list[str]) -> None:
    assert all(text.startswith(start) for (_, text), start in zip(points(expression), starts, strict=True))


def test_the_logic_of_macros_is_nobodys_branch() -> None:
    assert points("object.all(x, x > 1) == object.exists_one(x, x > 2)") == []


def test_watching_does_not_change_the_value() -> None:
    program = ENVIRONMENT.compile("object.a > 1 ? object.a + 1 : 0")
    value, _ = Branches(program.checked.tree).taken(program, {"object": {"a": 2}})
    assert value == program.evaluate({"object": {"a": 2}}).value == 3


# ---------------------------------------------------------------- traces


def test_pieces_of_paths_and_chains_are_marked() -> None:
    steps = trace.steps(
        ENVIRONMENT.compile("object.a.b && object.c && object.d"), {"object": {"a": {"b": True}, "c": True, "d": True}}
    )
    assert [s.text for s in steps if not s.link] == ["object.a.b && object.c && object.d", "object.a.b", "object.c", "object.d"]


def test_a_path_that_breaks_off_is_told_with_its_beginning() -> None:
    steps = trace.steps(ENVIRONMENT.compile("object.a.b == 1"), {"object": {"a": {}}})
    assert [(s.text, s.link) for s in steps] == [("object.a.b == 1", False), ("object.a.b", False), ("object.a", False)]


def test_an_optional_step_of_a_path_is_evaluated_once() -> None:
    steps = trace.steps(ENVIRONMENT.compile("object.?a.orValue(1) == 1"), {"object": {"a": 1}})
    assert {s.times for s in steps} == {1}


def test_a_trace_gives_value_and_cost_of_the_evaluation() -> None:
    program = ENVIRONMENT.compile("object.map(x, x * 2).size() == 3")
    traced = trace.traced(program, {"object": [1, 2, 3]})
    assert (traced.value, traced.cost) == program.evaluate({"object": [1, 2, 3]})
