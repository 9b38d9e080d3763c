"""What an update may keep that nobody could create today, and what old servers understand."""

import pytest
from tests.validation.objects import HOOK, MUTATION, Json, made
from tests.validation.registry import decoded, kind_of

from kadmit import validation
from kadmit.api.fields import FieldError

NEW_IN_31 = "format.dns1123Label().validate('a').hasValue()"
BAD_SELECTOR = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}


def errors_of_update(base: str, old: Json, new: Json, minor: int = 36) -> list[FieldError]:
    """Errors of the update, less those about metadata that every update here would have."""
    before, after = decoded(made(base, old)), decoded(made(base, new))
    found = validation.validate_update(kind_of(after), after, before, minor=minor)
    return [error for error in found if not error.field.startswith("metadata")]


LENIENT: dict[str, tuple[Json, Json]] = {
    "side effects": ({"webhooks/0/sideEffects": "Unknown"}, {"webhooks/0/sideEffects": "Some"}),
    "review versions": ({"webhooks/0/admissionReviewVersions": ["v9"]}, {"webhooks/0/admissionReviewVersions": ["v8"]}),
    "names": ({"webhooks": [HOOK, HOOK]}, {"webhooks": [HOOK, HOOK, HOOK]}),
    "selector values": ({"webhooks/0/objectSelector": BAD_SELECTOR}, {"webhooks/0/namespaceSelector": BAD_SELECTOR}),
    "match conditions": (
        {"webhooks/0/matchConditions": [{"name": "a", "expression": "1"}]},
        {"webhooks/0/matchConditions": [{"name": "a", "expression": "1"}], "webhooks/0/timeoutSeconds": 5},
    ),
}


@pytest.mark.parametrize("base", ["mwc", "vwc"])
@pytest.mark.parametrize("rule", LENIENT)
def test_a_webhook_that_breaks_a_newer_rule_may_go_on_breaking_it(base: str, rule: str) -> None:
    old, new = LENIENT[rule]
    assert validation.validate_create(kind_of(made(base, new)), decoded(made(base, new))) != []
    assert errors_of_update(base, old, new) == []
    assert errors_of_update(base, {}, new) != []


@pytest.mark.parametrize("base", ["map", "vap"])
def test_match_conditions_get_a_second_look_only_if_they_or_the_param_kind_change(base: str) -> None:
    faulty = {"spec/matchConditions": [{"name": "a", "expression": "1"}]}
    assert errors_of_update(base, faulty, {**faulty, "spec/failurePolicy": "Ignore"}) == []
    assert len(errors_of_update(base, faulty, {**faulty, "spec/paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}})) == 1
    assert len(errors_of_update(base, {}, faulty)) == 1


def test_other_expressions_are_always_looked_at_again() -> None:
    faulty = {"spec/validations": [{"expression": "1"}]}
    assert [error.field for error in errors_of_update("vap", faulty, faulty)] == ["spec.validations[0].expression"]


EXPRESSIONS: dict[str, tuple[str, Json]] = {
    "match condition": ("vap", {"spec/matchConditions": [{"name": "a", "expression": NEW_IN_31}]}),
    "validation": ("vap", {"spec/validations": [{"expression": NEW_IN_31}]}),
    "message": ("vap", {"spec/validations": [{"expression": "true", "messageExpression": f"string({NEW_IN_31})"}]}),
    "audit annotation": ("vap", {"spec/auditAnnotations": [{"key": "a", "valueExpression": f"string({NEW_IN_31})"}]}),
    "apply configuration": (
        "map",
        {"spec/mutations": [{**MUTATION, "applyConfiguration": {"expression": f"Object{{a: {NEW_IN_31}}}"}}]},
    ),
    "webhook": ("mwc", {"webhooks/0/matchConditions": [{"name": "a", "expression": NEW_IN_31}]}),
}


@pytest.mark.parametrize("place", EXPRESSIONS)
def test_a_function_can_be_stored_before_it_can_be_written(place: str) -> None:
    base, change = EXPRESSIONS[place]
    assert len(errors_of_update(base, {}, change, minor=31)) == 1
    assert errors_of_update(base, {}, change, minor=32) == []
    assert errors_of_update(base, change, {**change, "metadata/labels": {"a": "b"}}, minor=31) == []


def test_names_of_the_static_configuration_are_warned_about() -> None:
    text = (
        'metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be '
        "managed via the API"
    )
    assert validation.warnings(made("map", {"metadata/name": "a.static.k8s.io"})) == [text]
    assert validation.warnings(made("map", {})) == []
