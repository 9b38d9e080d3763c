"""Values of patch operations as JSON, and what is said of those that are none."""

from typing import Any

import pytest

from kadmit.cel import quantities, types
from kadmit.cel.library.mutation import JSONPatchValue, ObjectValue
from kadmit.cel.operators import MISSING
from kadmit.cel.values import Duration, Optional, UInt
from kadmit.patch import unwritten
from kadmit.patch.jsonpatch import Unreadable
from kadmit.patch.unwritten import Unwritable
from kadmit.policy import natives
from kadmit.policy.natives import NoJson, Provenance

NOTHING = Provenance({})


@pytest.mark.parametrize(
    ("value", "json"),
    [
        (1e18, 1000000000000000000),
        (1000000000000000128.0, 1000000000000000100),
        (9223372036854775807.0, 9223372036854775807.0),
        (-9.0, -9),
        (1.5, 1.5),
        (1e300, 1e300),
    ],
)
def test_a_whole_double_has_the_fewest_digits_that_read_back(value: float, json: object) -> None:
    made = natives.to_json(value, NOTHING)
    assert made == json
    assert type(made) is type(json)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (None, "type conversion error from 'null_type' to 'string'"),
        (True, "type conversion error from bool to 'string'"),
        (1.5, "type conversion error from Double to 'string'"),
        (Duration(1), "type conversion error from 'Duration' to 'string'"),
        (types.INT, "type conversion not supported for 'type'"),
        (UInt(1), "unsupported type conversion from 'uint' to string"),
        (Optional(1, present=True), "unsupported type conversion from 'int' to string"),
    ],
)
def test_keys_that_are_no_text_are_refused_in_many_words(key: Any, text: str) -> None:
    with pytest.raises(NoJson, match=f"^{text}$"):
        natives._key(key)


def test_a_quantity_may_be_a_key() -> None:
    assert natives._key(quantities.of_int(5)) == "5"


def test_an_object_names_the_go_type_that_it_cannot_hold() -> None:
    made = ObjectValue(types.struct("Object"), {"a": quantities.of_int(1)})
    with pytest.raises(NoJson, match=r"proto: invalid type: \*resource.Quantity"):
        natives.to_json(made, NOTHING)


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("/a/é😀", ""),
        ("/a/\b\f\n\r\t", ""),
        ("/a/\u200b", ""),
        ("/a/\a", "a"),
        ("/a/\v", "v"),
        ("/a/\x00", "x"),
        ("/a/\x7f", "x"),
        ("/a/\U000e0001", "U"),
    ],
)
def test_a_path_is_written_as_go_writes_it_which_is_not_always_json(path: str, fault: str) -> None:
    operation = JSONPatchValue("remove", path, "", MISSING)
    expected = Unreadable(f"invalid character '{fault}' in string escape code") if fault else path
    assert natives.operation_json(operation, NOTHING)["path"] == expected


def partial(value: Any, origin: Provenance = NOTHING) -> dict[str, Any]:
    return natives.to_partial(ObjectValue(types.struct("Object"), {"field": value}), origin)


def test_an_empty_list_of_the_expression_becomes_null_and_one_of_the_request_stays() -> None:
    made, asked = partial([]), [1]
    assert unwritten.written({**made, "other": []}) == {"field": None, "other": []}
    asked.clear()
    kept = partial(asked, Provenance({"object": {"list": asked}}))
    assert unwritten.written(kept) == {"field": []}


def test_what_json_has_no_number_for_cannot_be_written() -> None:
    made = partial(float("nan"))
    with pytest.raises(Unwritable, match="json: unsupported value: NaN"):
        unwritten.written(made)
