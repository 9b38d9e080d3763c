"""The order in which Go writes an object: told by texts of kube-apiserver that quote one."""

from kadmit.kinds import goorder, schema


def node(*kind: str) -> schema.Schema:
    found = schema.for_kind((kind[0], kind[1], kind[2]))
    assert found is not None
    return found


def keys(value: object) -> list[str]:
    assert isinstance(value, dict)
    return list(value)


def test_structs_stand_as_declared_and_maps_by_key() -> None:
    config_map = {
        "data": {"b": "1", "a": "2"},
        "immutable": True,
        "metadata": {"labels": {"z": "", "y": ""}, "uid": "u", "name": "n"},
    }
    made = goorder.ordered(node("", "v1", "ConfigMap"), config_map)
    assert keys(made) == ["metadata", "immutable", "data"]
    assert keys(made["metadata"]) == ["name", "uid", "labels"]
    assert keys(made["metadata"]["labels"]) == ["y", "z"]
    assert keys(made["data"]) == ["a", "b"]


def test_a_field_that_was_added_in_the_middle_stands_there() -> None:
    webhook = {"matchConditions": [], "objectSelector": {}, "sideEffects": "None", "matchPolicy": "Exact", "name": "a"}
    made = goorder.ordered(node("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration"), {"webhooks": [webhook]})
    assert keys(made["webhooks"][0]) == ["name", "matchPolicy", "objectSelector", "sideEffects", "matchConditions"]


def test_fields_of_an_embedded_struct_stand_in_its_place() -> None:
    rule = {"scope": "*", "resources": ["r"], "resourceNames": ["n"], "operations": ["CREATE"], "apiGroups": [""]}
    value = {"spec": {"matchConstraints": {"resourceRules": [rule]}}}
    made = goorder.ordered(node("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy"), value)
    shown = made["spec"]["matchConstraints"]["resourceRules"][0]
    assert keys(shown) == ["resourceNames", "operations", "apiGroups", "resources", "scope"]


def test_unknown_fields_come_last_and_nothing_is_lost() -> None:
    value = {"what": 1, "spec": {"policyName": "p", "nope": 2}}
    made = goorder.ordered(node("admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicyBinding"), value)
    assert made == value
    assert keys(made) == ["spec", "what"]


def test_custom_objects_are_sorted_throughout() -> None:
    made = goorder.sorted_by_key({"b": [{"d": 1, "c": 2}], "a": 3})
    assert keys(made) == ["a", "b"]
    assert keys(made["b"][0]) == ["c", "d"]
