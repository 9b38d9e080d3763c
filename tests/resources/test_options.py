"""Options of writes and deletes, read from a query or a body."""

from collections.abc import Mapping, Sequence

import pytest

from kadmit.api.errors import ApiError
from kadmit.resources import options


def refusal(kind: str, query: Mapping[str, Sequence[str]], patch_type: str = "") -> str:
    with pytest.raises(ApiError) as refused:
        options.read(kind, query, patch_type=patch_type)
    return refused.value.status.message


def test_an_empty_dry_run_is_a_value_and_an_unsupported_one() -> None:
    expected = 'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: [""]: supported values: "All"'
    assert refusal("CreateOptions", {"dryRun": [""]}) == expected


@pytest.mark.parametrize("force", ["true", "false", ""])
def test_force_may_not_even_be_denied_for_a_patch_that_is_no_apply(force: str) -> None:
    assert "may not be specified for non-apply patch" in refusal("PatchOptions", {"force": [force]})


@pytest.mark.parametrize(("force", "meant"), [("x", True), ("1", True), ("0", False)])
def test_force_is_a_flag_like_others(force: str, *, meant: bool) -> None:
    assert options.read("PatchOptions", {"force": [force], "fieldManager": ["a"]}, patch_type=options.APPLY).force is meant


def test_a_delete_takes_its_options_from_the_query() -> None:
    query = {"gracePeriodSeconds": ["5"], "orphanDependents": ["x"], "dryRun": ["All"], "uid": ["u"]}
    common, found = options.read_delete(query, None)
    assert common.dry_run
    assert (found.grace_period, found.orphan, found.uid) == (5, True, "u")


def test_a_body_counts_alone() -> None:
    common, found = options.read_delete({"dryRun": ["All"], "uid": ["u"]}, {})
    assert not common.dry_run
    assert found.uid == ""


def test_a_grace_period_that_is_no_number_is_refused() -> None:
    with pytest.raises(ApiError) as refused:
        options.read_delete({"gracePeriodSeconds": ["x"]}, None)
    assert refused.value.status.message == 'strconv.ParseInt: parsing "x": invalid syntax'
