"""Metadata that is put right or remarked upon instead of refused: repeated owners, finalizers of custom objects."""

from typing import Any

import pytest

from kadmit.kinds import metadata

OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "1"}
OTHER = {**OWNER, "uid": "2"}
SAME_UID = {**OWNER, "controller": True}
UNQUALIFIED = "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
PATHLESS = (
    "prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers"
)


@pytest.mark.parametrize(
    ("owners", "kept", "repeated"),
    [
        ([OWNER, OTHER], [OWNER, OTHER], []),
        ([OWNER, OTHER, OWNER], [OWNER, OTHER], ["1"]),
        ([OWNER, OWNER, OTHER, OWNER], [OWNER, OTHER], ["1", "1"]),
        ([OWNER, SAME_UID], [OWNER, SAME_UID], []),
    ],
)
def test_an_owner_that_is_the_same_in_every_field_counts_once(owners: Any, kept: Any, repeated: list[str]) -> None:
    assert metadata.without_repeated_owners({"ownerReferences": owners}) == ({"ownerReferences": kept}, repeated)


@pytest.mark.parametrize(
    ("new", "old", "told"),
    [
        (["example.com/a", "orphan", "foregroundDeletion", "kubernetes"], [], []),
        (
            ["b", "a.example.com"],
            [],
            [f'metadata.finalizers: "a.example.com": {PATHLESS}', f'metadata.finalizers: "b": {UNQUALIFIED}'],
        ),
        (["b"], ["b"], []),
    ],
)
def test_new_finalizers_without_a_domain_are_remarked_upon(new: list[str], old: list[str], told: list[str]) -> None:
    assert metadata.finalizer_warnings({"finalizers": new}, {"finalizers": old}) == told
