"""Who may register policies and bindings that read params."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.validation.objects import Json, made
from tests.validation.rbac import USERS

from kadmit.api.meta import GroupVersionKind
from kadmit.cel.library.authorizer import Attributes, Decision, User
from kadmit.validation import authorization

ALICE = "&{alice alice-uid [developers system:authenticated] map[]}"
CONFIG_MAPS = {"apiVersion": "v1", "kind": "ConfigMap"}
BY_NAME = {"name": "limits", "namespace": "default", "parameterNotFoundAction": "Deny"}
BY_SELECTOR = {"selector": {}, "parameterNotFoundAction": "Deny"}


@dataclass
class Asked:
    """An authorizer that gives one answer, and remembers what it was asked."""

    answer: Decision = field(default_factory=lambda: Decision(False))
    attributes: list[Attributes] = field(default_factory=list)

    def check(self, attributes: Attributes) -> Decision:
        self.attributes.append(attributes)
        return self.answer


@dataclass(frozen=True)
class Known:
    """One policy, and one kind."""

    found: Mapping[str, Any] | None = None

    def resource(self, kind: GroupVersionKind) -> str | None:
        return "configmaps" if kind == ("", "v1", "ConfigMap") else None

    def policy(self, _kind: str, _name: str) -> Mapping[str, Any] | None:
        return self.found


def refusals(
    new: Json, old: Json | None = None, *, policy: Json | None = None, user: User = USERS["alice"], asked: Asked | None = None
) -> list[str]:
    found = authorization.authorize(user, new, old, authorizer=asked or Asked(), registry=Known(policy))
    return [str(error) for error in found]


@pytest.mark.parametrize("base", ["map", "vap"])
def test_a_param_kind_needs_permission_to_get_all_of_them(base: str) -> None:
    policy, asked = made(base, {"spec/paramKind": CONFIG_MAPS}), Asked()
    required = 'must have "get" permission on all objects of the referenced paramKind (kind=ConfigMap, apiVersion=v1)'
    assert refusals(policy, asked=asked) == [f"spec.paramKind: Forbidden: user {ALICE} {required}"]
    question = asked.attributes[0]
    assert (question.group, question.version, question.resource) == ("", "v1", "configmaps")
    assert (question.verb, question.namespace, question.name) == ("get", "*", "*")


def test_an_update_is_asked_about_a_param_kind_only_if_it_changes() -> None:
    policy = made("map", {"spec/paramKind": CONFIG_MAPS})
    assert refusals(policy, policy) == []
    assert refusals(made("map", {}), policy) == []
    assert len(refusals(policy, made("map", {}))) == 1


def test_an_update_is_always_asked_about_a_param_ref() -> None:
    binding = made("mapb", {"spec/paramRef": BY_NAME})
    assert len(refusals(binding, binding)) == 1


UNKNOWN = f'user {ALICE} does not have "get" permission for all groups, versions and resources'
UNRESOLVED = f"unable to resolve paramKind &{{g/v1 K}} to determine minimum required permissions and {UNKNOWN}"
UNPARSED = f"unable to parse paramKind &{{a/b/c K}} to determine minimum required permissions and {UNKNOWN}"
TEXTS = [
    ("vapb", BY_NAME, CONFIG_MAPS, f'user {ALICE} does not have "get" permission on the object referenced by paramRef'),
    ("vapb", BY_SELECTOR, CONFIG_MAPS, f'user {ALICE} does not have "list" permission on the object referenced by paramRef'),
    ("mapb", BY_NAME, CONFIG_MAPS, f'user get does not have "{ALICE}" permission on the object referenced by paramRef'),
    ("mapb", BY_NAME, {"apiVersion": "g/v1", "kind": "K"}, UNRESOLVED),
    ("vapb", BY_NAME, {"apiVersion": "a/b/c", "kind": "K"}, UNPARSED),
    ("vapb", BY_NAME, None, f'user {ALICE} does not have "get" permission on the object referenced by paramRef'),
]


@pytest.mark.parametrize(("base", "ref", "kind", "text"), TEXTS)
def test_a_param_ref_needs_permission_to_read_what_it_names(base: str, ref: Json, kind: Json | None, text: str) -> None:
    policy = made("map", {"spec/paramKind": kind})
    assert refusals(made(base, {"spec/paramRef": ref}), policy=policy) == [f"spec.paramRef: Forbidden: {text}"]


def test_without_the_policy_everything_must_be_readable() -> None:
    asked = Asked()
    (text,) = refusals(made("vapb", {"spec/paramRef": BY_NAME}), asked=asked)
    assert text.startswith("spec.paramRef: Forbidden: unable to get policy demo.example.com to determine minimum required")
    question = asked.attributes[0]
    assert (question.group, question.version, question.resource, question.name) == ("*", "*", "*", "limits")


def test_an_authorizer_that_fails_is_quoted() -> None:
    broken = Asked(Decision(False, error="no answer"))
    policy = made("map", {"spec/paramKind": CONFIG_MAPS})
    assert refusals(policy, asked=broken) == ["spec.paramKind: Forbidden: no answer"]
    ref = {"spec/paramRef": BY_NAME}
    assert refusals(made("mapb", ref), asked=broken) == ["spec.paramRef: Forbidden: no answer"]
    assert refusals(made("vapb", ref), asked=broken) == ["spec.paramRef: Forbidden: failed to authorize request: no answer"]


def test_nobody_asks_about_superusers_or_webhooks() -> None:
    asked = Asked()
    policy = made("map", {"spec/paramKind": CONFIG_MAPS})
    assert refusals(policy, user=USERS["admin"], asked=asked) == []
    assert refusals(made("mwc", {}), asked=asked) == []
    assert asked.attributes == []


def test_a_user_is_shown_with_all_that_is_known() -> None:
    user = User("a", "b", ("c", "d"), {"z": ["1"], "y": ["2", "3"]})
    assert authorization.shown(user) == "&{a b [c d] map[y:[2 3] z:[1]]}"
