"""Rules of custom kinds beyond what is recorded: budgets, errors at run time, paths, and what costs too much to be allowed."""

from typing import Any

import pytest

from kadmit.api.fields import Path
from kadmit.kinds import declared, estimation, fieldpaths, validations
from kadmit.kinds.fieldpaths import FieldPathError
from kadmit.kinds.ranges import MOST
from kadmit.kinds.rules import schemas


def told(schema: dict[str, Any], new: Any, old: Any = None) -> list[str]:
    compiled = validations.of({"type": "object", "properties": {"a": schema}})
    assert compiled is not None
    return [str(error) for error in compiled({"a": new}, None if old is None else {"a": old})]


def test_a_schema_without_rules_needs_no_asking() -> None:
    assert validations.of({"type": "object", "properties": {"a": {"type": "string"}}}) is None


@pytest.mark.parametrize(
    ("rule", "value", "error"),
    [
        ("10 / self > 1", 0, 'a: Invalid value: "integer": division by zero evaluating rule: 10 / self > 1'),
        ("self > 0", 0, "a: Invalid value: 0: failed rule: self > 0"),
    ],
)
def test_a_rule_that_fails_and_one_that_is_broken_are_told_apart(rule: str, value: int, error: str) -> None:
    assert told({"type": "integer", "x-kubernetes-validations": [{"rule": rule}]}, value) == [error]


def test_all_rules_of_an_object_share_one_budget() -> None:
    """Each item is cheap; that there are so many is not. What comes after the last that could be paid is not asked."""
    rule = {"rule": f"{list(range(2000))}.all(x, x >= 0)"}
    items = {"type": "array", "items": {"type": "integer", "x-kubernetes-validations": [rule]}}
    found = told(items, [1] * 10_000)
    text = "validation failed due to running out of cost budget, no further validation rules will be run"
    assert len(found) == 1
    assert found[0].endswith(f': Invalid value: "integer": {text}')


def test_a_single_rule_has_a_limit_of_its_own() -> None:
    rule = "self.contains(self)"
    text = "no further validation rules will be run due to call cost exceeds limit for rule"
    assert told({"type": "string", "x-kubernetes-validations": [{"rule": rule}, {"rule": "false"}]}, "x" * 12_000) == [
        f"a: Invalid value: \"string\": 'operation cancelled: actual cost limit exceeded': {text}: {rule}"
    ]


def test_what_was_wrong_before_may_stay_until_it_changes() -> None:
    schema = {"type": "string", "x-kubernetes-validations": [{"rule": "self.size() < 3"}]}
    assert told(schema, "long", "long") == []
    assert told(schema, "longer", "long") == ['a: Invalid value: "longer": failed rule: self.size() < 3']


def test_a_message_that_cannot_be_made_gives_way_to_the_other_one() -> None:
    rule = {"rule": "self > 5", "message": "too small", "messageExpression": "string(1 / (self - 1))"}
    assert told({"type": "integer", "x-kubernetes-validations": [rule]}, 1) == ["a: Invalid value: 1: too small"]
    assert told({"type": "integer", "x-kubernetes-validations": [rule]}, 2) == ["a: Invalid value: 2: 1"]


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "a": {"type": "object", "properties": {"b-c": {"type": "string"}, "d.e": {"type": "string"}}},
        "m": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
}


@pytest.mark.parametrize(
    ("text", "normal"),
    [(".a", "a"), (".a.b-c", "a.b-c"), (".a['b-c']", "a.b-c"), (".m.x", "m[x]"), (".m['x y']", "m[x y]")],
)
def test_paths_to_fields_are_written_in_one_way(text: str, normal: str) -> None:
    assert fieldpaths.normalised(text, SCHEMA) == normal


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a", "expected [ or . but got: a"),
        (".", "unexpected end of JSON path"),
        (".zz", "does not refer to a valid field"),
        (".a[0]", "expected single quoted string but got 0"),
        (".a['b-c'", "unexpected end of JSON path"),
    ],
)
def test_what_is_no_path_is_told(text: str, error: str) -> None:
    with pytest.raises(FieldPathError, match="^" + error.replace("[", r"\[")):
        fieldpaths.follow(text, SCHEMA)


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("a", "a"),
        ("a-b", "a__dash__b"),
        ("a.b/c", "a__dot__b__slash__c"),
        ("x__y", "x__underscores__y"),
        ("for", "__for__"),
        ("1a", None),
        ("ä", None),
    ],
)
def test_names_of_properties_in_expressions(name: str, escaped: str | None) -> None:
    assert declared.escaped(name) == escaped


def cost(rule: str, schema: dict[str, Any]) -> int:
    known = declared.declare(schema)
    assert known is not None
    (compiled,) = validations.compile_rules({**schema, "x-kubernetes-validations": [{"rule": rule}]}, known)
    assert compiled.program is not None, compiled.problem
    return estimation.most(compiled.program.checked, known)


def test_estimates_grow_with_the_limits_of_a_schema() -> None:
    def strings(count: int) -> dict[str, Any]:
        return {"type": "array", "maxItems": count, "items": {"type": "string", "maxLength": 10}}

    costs = [cost("self.all(x, self.all(y, x == y))", strings(count)) for count in (10, 100, 1000)]
    assert costs == sorted(costs)
    assert costs[1] > 50 * costs[0]


def test_an_estimate_never_leaves_sixty_four_bits() -> None:
    schema = {"type": "array", "items": {"type": "string"}}
    rule = "self.all(a, self.all(b, self.all(c, self.all(d, a.contains(b) && c.contains(d)))))"
    assert cost(rule, schema) == MOST


def test_deeply_nested_rules_are_estimated() -> None:
    rule = f"{'!(' * 100}self.size() > 0{')' * 100}"
    assert cost(rule, {"type": "string"}) > 0


def test_rules_that_stay_as_they_are_may_cost_what_they_did() -> None:
    rule = {"rule": "self.l.all(x, self.l.all(y, x.contains(y)))"}
    listed = {"type": "array", "maxItems": 100, "items": {"type": "string", "maxLength": 200}}
    raw = {
        "type": "object",
        "properties": {"s": {"type": "object", "properties": {"l": listed}, "x-kubernetes-validations": [rule]}},
    }
    new = schemas.validate({"openAPIV3Schema": raw}, Path("at"), has_status=False)
    kept = schemas.validate({"openAPIV3Schema": raw}, Path("at"), has_status=False, unchanged=True)
    assert [error.field.rpartition(".")[2] for error in new] == ["rule"]
    assert kept == []
