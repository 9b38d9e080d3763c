"""Names, versions and defaults of the admissionregistration kinds, and what the server writes into them."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.validation.objects import BASES, Json, made
from tests.validation.registry import decoded, kind_of

from kadmit import validation
from kadmit.api import registration
from kadmit.api.meta import GroupVersionKind
from kadmit.kinds.decoding import DecodeError


@pytest.mark.parametrize("base", BASES)
def test_defaults_are_filled_in_once_and_change_nothing_given(base: str) -> None:
    obj = copy.deepcopy(BASES[base])
    filled = registration.with_defaults(kind_of(obj), obj)
    assert obj == BASES[base]
    assert registration.with_defaults(kind_of(obj), filled) == filled


def test_two_objects_share_no_default() -> None:
    first, second = (registration.with_defaults(kind_of(BASES["mwc"]), BASES["mwc"]) for _ in range(2))
    assert first["webhooks"][0]["objectSelector"] is not second["webhooks"][0]["objectSelector"]


@pytest.mark.parametrize(
    ("version", "action"), [("v1", None), ("v1beta1", None), ("v1alpha1", "Deny")], ids=["v1", "v1beta1", "v1alpha1"]
)
@pytest.mark.parametrize("base", ["mapb", "vapb"])
def test_only_v1alpha1_has_a_default_for_missing_params(base: str, version: str, action: str | None) -> None:
    obj = registration.convert(made(base, {"spec/paramRef": {"name": "limits"}}), version)
    assert registration.with_defaults(kind_of(obj), obj)["spec"]["paramRef"].get("parameterNotFoundAction") == action


def test_versions_differ_in_name_only() -> None:
    beta = registration.convert(BASES["map"], "v1beta1")
    assert beta == {**BASES["map"], "apiVersion": "admissionregistration.k8s.io/v1beta1"}
    assert registration.convert(beta, "v1") == BASES["map"]


def test_old_manifests_of_validating_policies_can_be_read_though_no_server_has_them() -> None:
    beta = registration.convert(BASES["vap"], "v1beta1")
    assert registration.is_registration(kind_of(beta))
    assert "v1beta1" not in registration.KINDS["ValidatingAdmissionPolicy"].served
    assert validation.validate_create(kind_of(beta), decoded(beta)) == []


@pytest.mark.parametrize(("base", "version"), [("mwc", "v1beta1"), ("map", "v2")])
def test_a_kind_has_no_other_versions(base: str, version: str) -> None:
    with pytest.raises(registration.UnknownVersion):
        registration.convert(BASES[base], version)
    assert not registration.is_registration(kind_of(BASES[base])._replace(version=version))


def test_a_kind_names_its_resource() -> None:
    found = registration.resource_of(GroupVersionKind(registration.GROUP, "v1alpha1", "MutatingAdmissionPolicy"))
    assert str(found) == "admissionregistration.k8s.io/v1alpha1, Resource=mutatingadmissionpolicies"


# ---------------------------------------------------------------- generations and status


@pytest.mark.parametrize(
    ("base", "change", "generation"),
    [
        ("map", {"metadata/labels": {"a": "b"}}, 3),
        ("map", {"spec/failurePolicy": "Ignore"}, 4),
        ("mapb", {"spec/policyName": "other"}, 4),
        ("vap", {"status/observedGeneration": 7}, 3),
        ("mwc", {"webhooks/0/timeoutSeconds": 5}, 4),
        ("vwc", {"metadata/annotations": {"a": "b"}}, 3),
    ],
)
def test_a_change_of_what_it_says_is_a_new_generation(base: str, change: Json, generation: int) -> None:
    old, new = made(base, {"metadata/generation": 3}), made(base, {"metadata/generation": 3, **change})
    assert registration.as_updated(new, old)["metadata"]["generation"] == generation


def test_status_is_not_written_with_the_rest() -> None:
    old, new = made("vap", {"status": {"observedGeneration": 1}}), made("vap", {"status": {"observedGeneration": 2}})
    assert registration.as_created(new)["status"] == {}
    assert registration.as_updated(new, old)["status"] == {"observedGeneration": 1}
    assert registration.with_status_updated({**new, "spec": {}}, old) == {**old, "status": {"observedGeneration": 2}}


# ---------------------------------------------------------------- whatever comes

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 70_000) | st.sampled_from(["", "a", "*", "a/b", "true", "Object{", "é", "In"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "expression", "key", "values"]), inner),
    max_leaves=6,
)


def paths_in(value: Any, prefix: str = "") -> list[str]:
    """Everywhere in an object."""
    if not isinstance(value, dict | list):
        return []
    items = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    return [path for key, inner in items for path in (f"{prefix}{key}", *paths_in(inner, f"{prefix}{key}/"))]


PLACES = [(base, path) for base, obj in BASES.items() for path in paths_in(obj) if path not in ("apiVersion", "kind")]


@given(st.sampled_from(PLACES), _JSON)
def test_whatever_can_be_decoded_can_be_validated(place: tuple[str, str], value: Any) -> None:
    base, path = place
    try:
        obj = decoded(made(base, {path: value}))
    except DecodeError:
        return
    before = copy.deepcopy(obj)
    faulty = {error.field for error in validation.validate_create(kind_of(obj), obj)}
    found = {error.field for error in validation.validate_update(kind_of(obj), obj, obj)}
    assert found <= faulty | {"metadata.resourceVersion"}  # an update that changes nothing finds nothing new
    assert obj == before
