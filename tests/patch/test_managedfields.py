"""Field management of whole requests: conversations between managers, and what stands in managedFields after each turn."""

import copy
from collections.abc import Sequence
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.patch.pods import METADATA, NUMBER, POD, SPEC, TEXT, pods

from kadmit.patch import managedfields, managers
from kadmit.patch.fieldpath import excluding
from kadmit.patch.managedfields import ApplyConflict, ApplyRefused, Scope
from kadmit.patch.ownership import MissingVersion
from kadmit.patch.shapes import MapShape, Shape
from kadmit.patch.typed import MergeError, Object

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def only_version(_version: str) -> Shape:
    return POD


def unchanged(value: Object, _version: str) -> Object:
    return value


SCOPE = Scope("v1", "Pod", only_version, unchanged, blank={"metadata": {}, "spec": {}, "status": {}})


def pod(*, labels: object = None, **spec: object) -> Object:
    metadata: Object = {"name": "a"} if labels is None else {"name": "a", "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def stored(value: Object) -> Object:
    """What a server makes of a created object: it has a uid from now on."""
    return {**value, "metadata": {**cast("Object", value["metadata"]), "uid": "u"}}


def create(value: Object, manager: str = "maker", scope: Scope = SCOPE) -> Object:
    return stored(managedfields.update(scope, None, value, manager=manager, now=NOW))


def apply(
    live: Object | None, config: Object, manager: str, *, force: bool = False, scope: Scope = SCOPE, now: str = NOW
) -> Object:
    result = managedfields.apply(scope, live, config, manager=manager, force=force, now=now)
    return stored(result) if live is None else result


def put(live: Object, value: Object, manager: str, *, scope: Scope = SCOPE, now: str = NOW) -> Object:
    return managedfields.update(scope, live, stored(value), manager=manager, now=now)


def entries(value: Object) -> list[Object]:
    return cast("list[Object]", cast("Object", value["metadata"]).get("managedFields", []))


def owners(value: Object) -> dict[str, object]:
    """Manager and operation, and what they own."""
    return {f"{entry['manager']} {entry['operation']}": entry["fieldsV1"] for entry in entries(value)}


def spec_of(value: Object) -> object:
    return value["spec"]


# -- creating and updating ----------------------------------------------------------------------------------------------


def test_a_creator_owns_what_it_sent_but_not_the_structs_that_always_exist() -> None:
    created = create(pod(labels={"a": "1"}, replicas=1, open={"known": "x"}))
    assert entries(created) == [
        {
            "manager": "maker",
            "operation": "Update",
            "apiVersion": "v1",
            "time": NOW,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
                "f:spec": {"f:open": {".": {}, "f:known": {}}, "f:replicas": {}},
            },
        }
    ]


def test_an_updater_takes_what_it_changes_and_only_that() -> None:
    live = create(pod(replicas=1, hostname="h"))
    assert owners(put(live, pod(replicas=2, hostname="h"), "editor")) == {
        "maker Update": {"f:spec": {"f:hostname": {}}},
        "editor Update": {"f:spec": {"f:replicas": {}}},
    }


def test_what_is_removed_belongs_to_nobody() -> None:
    live = create(pod(replicas=1, hostname="h"))
    assert owners(put(live, pod(replicas=1), "editor")) == {"maker Update": {"f:spec": {"f:replicas": {}}}}


def test_an_update_that_changes_nothing_leaves_times_alone() -> None:
    live = create(pod(replicas=1))
    assert entries(put(live, pod(replicas=1), "editor", now=LATER)) == entries(live)


def test_a_manager_in_another_subresource_is_another_manager() -> None:
    live = create({**pod(replicas=1), "status": {}}, "one")
    status = replace(SCOPE, subresource="status")
    changed = put(live, {**pod(replicas=1), "status": {"phase": "x"}}, "one", scope=status)
    assert [(entry.get("subresource"), entry["fieldsV1"]) for entry in entries(changed)] == [
        (None, {"f:spec": {"f:replicas": {}}}),
        ("status", {"f:status": {"f:phase": {}}}),
    ]


def test_fields_that_an_endpoint_resets_are_not_owned_through_it() -> None:
    scope = replace(SCOPE, resets={"v1": excluding(("status",))})
    created = create({**pod(replicas=1), "status": {"phase": "x"}}, scope=scope)
    assert owners(created) == {"maker Update": {"f:spec": {"f:replicas": {}}}}


@pytest.mark.parametrize("reset", [[], [{}]], ids=["empty list", "one empty entry"])
def test_a_client_may_have_all_managers_forgotten(reset: list[object]) -> None:
    live = create(pod(replicas=1))
    value = pod(replicas=2)
    cast("Object", value["metadata"])["managedFields"] = reset
    forgotten = put(live, value, "editor")
    assert "managedFields" not in cast("Object", forgotten["metadata"])
    assert "managedFields" not in cast("Object", put(forgotten, pod(replicas=3), "editor")["metadata"])


def test_entries_that_cannot_be_read_are_replaced_by_the_stored_ones() -> None:
    live = create(pod(replicas=1))
    value = pod(replicas=1)
    cast("Object", value["metadata"])["managedFields"] = [{"manager": "x", "operation": "Steal"}]
    assert entries(put(live, value, "editor")) == entries(live)


def test_a_client_may_write_entries() -> None:
    live = create(pod(replicas=1))
    entry = {
        "manager": "x",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:replicas": {}}},
    }
    value = pod(replicas=1)
    cast("Object", value["metadata"])["managedFields"] = [entry]
    assert owners(put(live, value, "editor")) == {"x Apply": {"f:spec": {"f:replicas": {}}}}


def test_an_object_that_does_not_fit_its_kind_is_left_without_entries() -> None:
    assert "managedFields" not in cast("Object", create(pod(nosuch=1))["metadata"])


def test_at_most_ten_updaters_are_kept_and_the_oldest_become_one() -> None:
    labels = {"l0": "x"}
    live = create(pod(labels=dict(labels)), "m0")
    for number in range(1, 12):
        labels[f"l{number}"] = "x"
        live = put(live, pod(labels=dict(labels)), f"m{number:02}", now=f"2026-01-01T00:00:{number:02}Z")
    found = entries(live)
    assert [entry["manager"] for entry in found] == ["ancient-changes", *(f"m{number:02}" for number in range(3, 12))]
    assert found[0]["fieldsV1"] == {"f:metadata": {"f:labels": {".": {}, "f:l0": {}, "f:l1": {}, "f:l2": {}}}}
    assert found[0]["time"] == "2026-01-01T00:00:02Z"


# -- applying -----------------------------------------------------------------------------------------------------------


def test_an_applier_owns_what_it_mentions() -> None:
    applied = apply(None, pod(labels={"a": "1"}, containers=[{"name": "c"}]), "one")
    assert owners(applied) == {
        "one Apply": {
            "f:metadata": {"f:labels": {"f:a": {}}},
            "f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:name": {}}}},
        }
    }


def test_what_is_no_longer_applied_is_removed() -> None:
    live = apply(None, pod(replicas=1, hostname="h", containers=[{"name": "a"}, {"name": "b"}]), "one")
    assert spec_of(apply(live, pod(replicas=1, containers=[{"name": "b"}]), "one")) == {
        "replicas": 1,
        "containers": [{"name": "b"}],
    }


def test_what_somebody_else_owns_too_stays() -> None:
    live = apply(None, pod(replicas=1, hostname="h"), "one")
    live = apply(live, pod(hostname="h"), "two")
    live = apply(live, pod(replicas=1), "one")
    assert spec_of(live) == {"replicas": 1, "hostname": "h"}
    assert owners(live) == {"one Apply": {"f:spec": {"f:replicas": {}}}, "two Apply": {"f:spec": {"f:hostname": {}}}}


def test_what_nobody_applied_outlives_its_neighbours() -> None:
    live = apply(None, pod(containers=[{"name": "a", "image": "i"}], replicas=1), "one")
    live = put(live, pod(containers=[{"name": "a", "image": "i", "tty": True}], replicas=1), "editor")
    assert spec_of(apply(live, pod(containers=[{"name": "a"}]), "one")) == {"containers": [{"name": "a", "tty": True}]}


CONFLICTS: list[tuple[str, Object, str, list[tuple[str, str]]]] = [
    (
        "one field",
        pod(replicas=2),
        'Apply failed with 1 conflict: conflict with "one": .spec.replicas',
        [('conflict with "one"', ".spec.replicas")],
    ),
    (
        "two fields of one manager",
        pod(replicas=2, hostname="x"),
        'Apply failed with 2 conflicts: conflicts with "one":\n- .spec.hostname\n- .spec.replicas',
        [('conflict with "one"', ".spec.hostname"), ('conflict with "one"', ".spec.replicas")],
    ),
    (
        "fields of an applier and an updater",
        pod(replicas=2, containers=[{"name": "c", "image": "x"}]),
        (
            'Apply failed with 2 conflicts: conflicts with "editor" using v1:\n- .spec.containers[name="c"].image\n'
            'conflicts with "one":\n- .spec.replicas'
        ),
        [('conflict with "editor" using v1', '.spec.containers[name="c"].image'), ('conflict with "one"', ".spec.replicas")],
    ),
]


@pytest.mark.parametrize(("config", "message", "causes"), [case[1:] for case in CONFLICTS], ids=[case[0] for case in CONFLICTS])
def test_other_managers_values_are_conflicts(config: Object, message: str, causes: list[tuple[str, str]]) -> None:
    live = apply(None, pod(replicas=1, hostname="h"), "one")
    live = put(live, pod(replicas=1, hostname="h", containers=[{"name": "c", "image": "i"}]), "editor")
    with pytest.raises(ApplyConflict) as conflict:
        apply(live, config, "two")
    assert str(conflict.value) == message
    assert [(cause.message, cause.field) for cause in conflict.value.causes] == causes


def test_a_conflict_names_the_subresource() -> None:
    status = replace(SCOPE, subresource="status")
    live = put(create(pod(replicas=1)), {**pod(replicas=1), "status": {"phase": "x"}}, "kubelet", scope=status)
    with pytest.raises(ApplyConflict) as conflict:
        apply(live, {**pod(), "status": {"phase": "y"}}, "two")
    assert (
        str(conflict.value)
        == 'Apply failed with 1 conflict: conflict with "kubelet" with subresource "status" using v1: .status.phase'
    )


def test_the_same_value_is_shared_and_an_applier_that_changes_nothing_has_no_time() -> None:
    live = apply(None, pod(replicas=1), "one")
    shared = apply(live, pod(replicas=1), "two", now=LATER)
    assert [(entry["manager"], entry.get("time")) for entry in entries(shared)] == [("two", None), ("one", NOW)]


def test_force_takes_a_field_from_its_owner() -> None:
    live = apply(None, pod(replicas=1, hostname="h"), "one")
    forced = apply(live, pod(replicas=2), "two", force=True)
    assert spec_of(forced) == {"replicas": 2, "hostname": "h"}
    assert owners(forced) == {"one Apply": {"f:spec": {"f:hostname": {}}}, "two Apply": {"f:spec": {"f:replicas": {}}}}


def test_what_nobody_has_managed_belongs_to_one_manager_before_the_first_apply() -> None:
    live = stored(pod(replicas=1, hostname="h"))
    assert owners(apply(live, pod(replicas=1), "one")) == {
        "one Apply": {"f:spec": {"f:replicas": {}}},
        "before-first-apply Update": {"f:spec": {"f:hostname": {}, "f:replicas": {}}},
    }


def test_an_applier_that_applies_nothing_any_more_is_forgotten() -> None:
    live = apply(apply(None, pod(replicas=1), "one"), pod(hostname="h"), "two")
    nothing: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    left = apply(live, nothing, "one")
    assert (spec_of(left), list(owners(left))) == ({"hostname": "h"}, ["two Apply"])


REFUSED: list[tuple[str, Object, str]] = [
    ("another kind", {"apiVersion": "v1", "kind": "Service"}, "invalid object type: /v1, Kind=Service"),
    ("another version", {"apiVersion": "apps/v9", "kind": "Pod"}, "invalid object type: apps/v9, Kind=Pod"),
    ("no kind", {}, "invalid object type: /, Kind="),
    ("managed fields", {**pod(), "metadata": {"managedFields": []}}, "metadata.managedFields must be nil"),
]


@pytest.mark.parametrize(("config", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_applies_that_are_wrong_as_requests(config: Object, message: str) -> None:
    with pytest.raises(ApplyRefused) as refusal:
        apply(None, config, "one")
    assert str(refusal.value) == message


UNFIT: list[tuple[Object, str]] = [
    (pod(colour="x"), ".spec.colour: field not declared in schema"),
    (pod(hostname=5), ".spec.hostname: expected string, got &value.valueUnstructured{Value:5}"),
    (pod(hostname=1234567), ".spec.hostname: expected string, got &value.valueUnstructured{Value:1.234567e+06}"),
    (pod(containers=[{"name": "c"}, {"name": "c"}]), '.spec.containers: duplicate entries for key [name="c"]'),
]


@pytest.mark.parametrize(("config", "reason"), UNFIT, ids=[reason for _, reason in UNFIT])
def test_an_applied_object_must_fit_its_kind(config: Object, reason: str) -> None:
    with pytest.raises(MergeError) as refusal:
        apply(None, config, "one")
    assert str(refusal.value) == f"failed to create typed patch object (/a; /v1, Kind=Pod): {reason}"


# -- from client-side apply ---------------------------------------------------------------------------------------------

CLIENT_SIDE = "kubectl.kubernetes.io/last-applied-configuration"


def annotated(value: Object, last: str) -> Object:
    return {**value, "metadata": {**cast("Object", value["metadata"]), "annotations": {CLIENT_SIDE: last}}}


LAST = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"replicas":1}}'


def test_kubectl_takes_over_from_itself_and_keeps_the_annotation() -> None:
    live = create(annotated(pod(replicas=1), LAST), "kubectl-client-side-apply")
    taken = apply(live, pod(replicas=2), "kubectl")
    assert spec_of(taken) == {"replicas": 2}
    assert cast("Object", taken["metadata"])["annotations"] == {
        CLIENT_SIDE: '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"replicas":2}}\n'
    }


@pytest.mark.parametrize(
    ("manager", "last", "replicas"),
    [("other", LAST, 1), ("kubectl", LAST, 3), ("kubectl", "{}", 1), ("kubectl", "not json", 1), ("kubectl", "[" * 100_000, 1)],
    ids=["another manager", "changed since", "nothing applied", "unreadable", "too deep"],
)
def test_otherwise_client_side_apply_is_a_manager_like_others(manager: str, last: str, replicas: int) -> None:
    live = create(annotated(pod(replicas=replicas), last), "kubectl-client-side-apply")
    with pytest.raises(ApplyConflict) as conflict:
        apply(live, pod(replicas=2), manager)
    assert (
        str(conflict.value) == 'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: .spec.replicas'
    )


# -- versions -----------------------------------------------------------------------------------------------------------


def with_field(name: str) -> Shape:
    return MapShape(
        {
            "apiVersion": TEXT,
            "kind": TEXT,
            "metadata": METADATA,
            "spec": MapShape({name: NUMBER, "hostname": TEXT, **SPEC.fields}),
        }
    )


VERSIONS = {"x/v1": ("old", with_field("old")), "x/v2": ("new", with_field("new"))}


def shape_in(version: str) -> Shape:
    if version not in VERSIONS:
        raise MissingVersion(version)
    return VERSIONS[version][1]


def renamed(value: Object, version: str) -> Object:
    """Between the versions, one field changes its name. Objects may come without spec, when a part of them was pruned."""
    shape_in(version)
    here, there = VERSIONS[str(value["apiVersion"])][0], VERSIONS[version][0]
    spec = {there if name == here else name: item for name, item in cast("Object", value.get("spec", {})).items()}
    return {**value, "apiVersion": version, "spec": spec} if "spec" in value else {**value, "apiVersion": version}


def scope_in(version: str) -> Scope:
    return Scope(version, "Pod", shape_in, renamed, blank={"metadata": {}, "spec": {}})


def versioned(version: str, **spec: object) -> Object:
    return {**pod(**spec), "apiVersion": version}


def test_a_conflict_is_found_across_versions_in_the_owners_words() -> None:
    live = apply(None, versioned("x/v1", old=1), "one", scope=scope_in("x/v1"))
    with pytest.raises(ApplyConflict) as conflict:
        apply(live, versioned("x/v2", new=2), "two", scope=scope_in("x/v2"))
    assert str(conflict.value) == 'Apply failed with 1 conflict: conflict with "one": .spec.old'


def test_an_applier_that_moves_to_another_version_still_removes_what_it_applied() -> None:
    live = apply(None, versioned("x/v1", old=1, hostname="h"), "one", scope=scope_in("x/v1"))
    moved = apply(live, versioned("x/v2", hostname="h"), "one", scope=scope_in("x/v2"))
    assert (moved["apiVersion"], spec_of(moved)) == ("x/v2", {"hostname": "h"})
    assert [(entry["apiVersion"], entry["fieldsV1"]) for entry in entries(moved)] == [("x/v2", {"f:spec": {"f:hostname": {}}})]


def test_managers_of_versions_that_are_no_longer_served_are_forgotten() -> None:
    live = apply(None, versioned("x/v1", old=1), "one", scope=scope_in("x/v1"))
    entries(live).append(
        {
            "manager": "gone",
            "operation": "Update",
            "apiVersion": "x/v0",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:ancient": {}}},
        }
    )
    assert list(owners(apply(live, versioned("x/v1", hostname="h"), "two", scope=scope_in("x/v1")))) == ["one Apply", "two Apply"]


# -- entries ------------------------------------------------------------------------------------------------------------

ENTRY: Object = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:a": {}}}

UNREADABLE: list[tuple[Object, str]] = [
    ({**ENTRY, "operation": "x"}, "operation must be `Apply` or `Update`"),
    ({**ENTRY, "apiVersion": ""}, "apiVersion must not be empty"),
    ({**ENTRY, "fieldsType": ""}, "missing fieldsType in managed fields entry 0"),
    ({**ENTRY, "fieldsType": "V2"}, 'invalid fieldsType "V2" in managed fields entry 0'),
]


@pytest.mark.parametrize(("entry", "reason"), UNREADABLE, ids=[reason for _, reason in UNREADABLE])
def test_entries_that_cannot_be_read(entry: Object, reason: str) -> None:
    with pytest.raises(managers.ManagedFieldsError) as refusal:
        managers.decode([entry])
    assert str(refusal.value) == reason


def test_entries_are_sorted_by_operation_time_name_version_and_subresource() -> None:
    wanted: Sequence[Object] = [
        {**ENTRY, "manager": "z", "operation": "Apply"},
        {**ENTRY, "manager": "a", "operation": "Apply", "time": NOW},
        {**ENTRY, "manager": "b"},
        {**ENTRY, "manager": "b", "apiVersion": "v2"},
        {**ENTRY, "manager": "b", "apiVersion": "v2", "subresource": "status"},
        {**ENTRY, "manager": "c"},
        {**ENTRY, "manager": "a", "time": NOW},
        {**ENTRY, "manager": "0", "time": LATER},
    ]
    assert managers.encode(managers.decode(list(reversed(wanted)))) == wanted


def test_only_new_times_are_no_change() -> None:
    live = create(pod(replicas=1))
    touched = copy.deepcopy(live)
    entries(touched)[0]["time"] = LATER
    assert managedfields.keep_times(touched, live) == live
    changed = {**touched, "spec": {"replicas": 2}}
    assert managedfields.keep_times(changed, live) is changed


@pytest.mark.parametrize(
    ("field_manager", "user_agent", "name"),
    [
        ("me", "kubectl/v1.36", "me"),
        ("", "kubectl/v1.36.4 (linux/amd64)", "kubectl"),
        ("", "a\x00b\tc d", "abc d"),
        ("", "é" * 100, "é" * 64),
        ("", "", ""),
    ],
)
def test_a_manager_is_named_by_the_request_or_its_user_agent(field_manager: str, user_agent: str, name: str) -> None:
    assert managedfields.manager_name(field_manager, user_agent) == name


# -- properties ---------------------------------------------------------------------------------------------------------


def configs() -> st.SearchStrategy[Object]:
    return pods().map(lambda value: {**pod(), "spec": value.get("spec", {})})


@settings(max_examples=60)
@given(configs(), configs())
def test_applying_changes_no_input_and_applying_again_changes_nothing(first: Object, second: Object) -> None:
    live = apply(None, first, "one")
    before = copy.deepcopy((live, second))
    once = apply(live, second, "two", force=True)
    assert (live, second) == before
    assert apply(once, second, "two", now=LATER) == once


@settings(max_examples=60)
@given(configs(), configs())
def test_an_applier_owns_its_last_configuration_whatever_it_applied_before(first: Object, second: Object) -> None:
    live = apply(apply(None, first, "one"), second, "one")
    assert owners(live).get("one Apply") == owners(apply(None, second, "one")).get("one Apply")
