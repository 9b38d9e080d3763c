"""Values leaving CEL: where a list or map comes from is found out, and only where it matters."""

from typing import Any

import pytest

from kadmit.cel import types
from kadmit.cel.library.mutation import JSONPatchValue, ObjectValue
from kadmit.cel.operators import MISSING
from kadmit.cel.values import MapValue, Strings, key_of
from kadmit.patch.jsonpatch import Unreadable
from kadmit.patch.values import Foreign
from kadmit.policy import natives
from kadmit.policy.natives import NoJson, Provenance

NESTED = {"tolerations": [{"key": "a", "values": [1, 2]}], "empty": [], "labels": {"a": "b"}}
BOUND = {"object": {"spec": NESTED}, "params": None, "variables": object()}


class NobodyAsks(Provenance):
    def from_request(self, value: Any) -> bool:
        raise AssertionError("asked")


def partial(value: Any, origin: Provenance | None = None) -> Any:
    made = ObjectValue(types.struct("Object"), {"field": value})
    return natives.to_partial(made, origin or Provenance(BOUND))["field"]


def inner(**fields: Any) -> ObjectValue:
    return ObjectValue(types.struct("Object.field"), fields)


@pytest.mark.parametrize("value", [{"a": "b"}, {"a": 1, "b": True, "c": 1.5}, ["x", "y"], {}])
def test_scalars_in_a_list_or_map_are_the_same_wherever_they_come_from(value: Any) -> None:
    assert partial(value, NobodyAsks(BOUND)) == value


def test_what_holds_objects_was_made_by_the_expression() -> None:
    assert partial([inner(name="a"), inner(name="b")], NobodyAsks(BOUND)) == [{"name": "a"}, {"name": "b"}]
    assert partial({"k": inner(name="a")}, NobodyAsks(BOUND)) == {"k": {"name": "a"}}


@pytest.mark.parametrize("name", sorted(NESTED))
def test_what_comes_from_the_request_stays_as_it_is(name: str) -> None:
    assert partial(NESTED[name]) is NESTED[name]


def test_what_the_expression_nests_is_no_json() -> None:
    (made,) = partial([{"key": "a"}])
    assert isinstance(made, Foreign)
    assert made.type_name == "map[ref.Val]ref.Val"


def test_every_container_of_the_request_is_known_and_no_other() -> None:
    origin = Provenance(BOUND)
    assert all(origin.from_request(value) for value in (BOUND["object"], NESTED, NESTED["tolerations"][0]["values"]))  # type: ignore[index]
    assert not origin.from_request([1, 2])


def test_objects_must_be_named_after_their_place() -> None:
    right = ObjectValue(types.struct("Object"), {"field": [inner(name="a", more=["x"])]})
    wrong = ObjectValue(types.struct("Object"), {"other": {"k": inner(name="a")}})
    assert not list(natives.misnamed(right, "Object"))
    (problem,) = natives.misnamed(wrong, "Object")
    assert problem.startswith('unexpected type name "Object.field", expected "Object.other"')


def test_an_inner_object_with_a_bad_key_is_an_error_as_a_value() -> None:
    bad = MapValue({key_of(1): (1, "a")})
    made = partial(inner(labels=bad))
    assert isinstance(made, Foreign)
    assert made.type_name == "*types.Err"
    assert made.text == "fail to convert field \"labels\": map key '\\x01' is of type types.Int, not string"
    whole = ObjectValue(types.struct("Object"), {"field": inner(labels=bad)})
    with pytest.raises(NoJson, match=r"^proto: invalid type: \*types.Err$"):
        natives.to_json(whole, Provenance(BOUND))


def test_the_pieces_of_a_text_are_a_list_of_go_strings() -> None:
    pieces = Strings(["a", "b"])
    assert partial(pieces) == Foreign("[]string", "[a b]", '[]string{"a", "b"}')
    assert partial([pieces]) == [Foreign("[]string", "[a b]", '[]string{"a", "b"}')]
    assert natives.to_json(pieces, Provenance(BOUND)) == ["a", "b"]
    with pytest.raises(NoJson, match=r"^proto: invalid type: \[\]string$"):
        natives.to_json(inner(list=pieces), Provenance(BOUND))


def test_nulls_of_the_request_are_json_and_those_of_an_expression_are_not() -> None:
    given = {"a": [None]}
    origin = Provenance({"object": given})
    assert natives.to_json(inner(part=given), origin) == {"part": {"a": [None]}}
    with pytest.raises(NoJson, match="NullValue"):
        natives.to_json(inner(part={"a": None}), origin)


def test_the_name_of_an_operation_is_written_as_go_writes_it_too() -> None:
    operation = JSONPatchValue("\x01", "/a", "", MISSING)
    assert natives.operation_json(operation, Provenance(BOUND))["op"] == Unreadable("invalid character 'x' in string escape code")
