"""Objects as error texts show them: with Go's names, order and zero values."""

from typing import Any

import pytest

from kadmit.kinds import internals


def test_zero_values_stand_where_nothing_was_given() -> None:
    assert internals.shown("DeploymentStrategy", {"type": "Fast"}) == {"Type": "Fast", "RollingUpdate": None}


def test_nothing_is_shown_as_null() -> None:
    assert internals.shown("DeploymentStrategy", None) is None


def test_the_fields_of_a_host_are_part_of_the_security_context() -> None:
    shown = internals.shown("PodSpec", {"hostNetwork": True, "containers": []})
    assert shown["SecurityContext"]["HostNetwork"] is True


def test_a_schema_tells_whether_more_properties_are_allowed() -> None:
    shown = internals.shown("JSONSchemaProps", {"additionalProperties": {"type": "string"}, "items": {"type": "integer"}})
    assert shown["AdditionalProperties"]["Allows"] is True
    assert shown["Items"]["Schema"]["Type"] == "integer"
    assert shown["Items"]["JSONSchemas"] is None


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ({"containers": []}, {}, True),
        ({"nodeSelector": {}}, {"nodeSelector": None}, True),
        ({"overhead": {"cpu": "1"}}, {"overhead": {"cpu": "1000m"}}, True),
        ({"overhead": {"cpu": "1"}}, {"overhead": {"cpu": "2"}}, False),
        ({"hostNetwork": True}, {"hostNetwork": False}, False),
        ({"priority": 0}, {}, False),
    ],
)
def test_equality_is_that_of_the_server(old: Any, new: Any, same: bool) -> None:
    assert internals.same("PodSpec", old, new) is same


def test_a_difference_is_a_unified_diff_without_names_of_files() -> None:
    old, new = {"type": "Recreate"}, {"type": "<>"}
    assert internals.difference("DeploymentStrategy", old, new).splitlines() == [
        "@@ -1,4 +1,4 @@",
        " {",
        '- "Type": "Recreate",',
        '+ "Type": "\\u003c\\u003e",',
        '  "RollingUpdate": null',
        " }",
    ]
