"""Policies and reviews for tests, in a few words each."""

from typing import Any, TypeAlias

from kadmit.api import registration
from kadmit.api.meta import GroupVersionKind
from kadmit.webhook.policies import Share, judge
from kadmit.webhook.questions import Elsewhere, Nowhere
from kadmit.webhook.review import Response
from kadmit.webhook.surroundings import Surroundings
from kadmit.webhook.view import View

Json: TypeAlias = dict[str, Any]

GROUP = f"{registration.GROUP}/v1"
CONFIG_MAPS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}


def label(name: str, value: str = "yes") -> Json:
    """A mutation that sets a label to a text."""
    return label_of(name, f'"{value}"')


def label_of(name: str, expression: str) -> Json:
    made = f'Object{{metadata: Object.metadata{{labels: {{"{name}": {expression}}}}}}}'
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": made}}


def json_patch(expression: str) -> Json:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def mutating(name: str, *mutations: Json, rules: list[Json] | None = None, **spec: Any) -> list[Json]:
    """A policy and its binding."""
    matched = {"resourceRules": [CONFIG_MAPS] if rules is None else rules}
    made = {"reinvocationPolicy": "Never", "matchConstraints": matched, "mutations": list(mutations), **spec}
    return [_object(registration.MUTATING_POLICY, name, made), binding(name)]


def binding(name: str, **spec: Any) -> Json:
    return _object(registration.MUTATING_BINDING, name, {"policyName": name, **spec})


def validating(name: str, *validations: Json, actions: list[str] | None = None, **spec: Any) -> list[Json]:
    made = {"matchConstraints": {"resourceRules": [CONFIG_MAPS]}, "validations": list(validations), **spec}
    bound = {"policyName": name, "validationActions": actions or ["Deny"]}
    return [_object(registration.VALIDATING_POLICY, name, made), _object(registration.VALIDATING_BINDING, name, bound)]


def _object(kind: str, name: str, spec: Json) -> Json:
    raw = {"apiVersion": GROUP, "kind": kind, "metadata": {"name": name}, "spec": spec}
    return registration.with_defaults(GroupVersionKind(registration.GROUP, "v1", kind), raw)


def view(*objects: Json | list[Json]) -> View:
    """A view that has seen these, and obeys them."""
    made = View()
    for each in objects:
        for value in each if isinstance(each, list) else [each]:
            made.put(_place(value), value)
    made.publish()
    return made


def _place(value: Json) -> tuple[str, str]:
    group, _, _ = value["apiVersion"].rpartition("/")
    known = registration.KINDS.get(value["kind"])
    plural = known.plural if known is not None else f"{value['kind'].lower()}s"
    return group, plural


def config_map(**more: Any) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}, **more}


def request(value: Json | None, operation: str = "CREATE", **more: Any) -> Json:
    return {
        "uid": "1",
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "operation": operation,
        "name": "a",
        "namespace": "shop",
        "userInfo": {"username": "alice", "groups": ["people"]},
        "object": value,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        **more,
    }


MUTATE, VALIDATE = Share(mutating=True), Share(mutating=False)


def judged(seen: View, asked: Json, share: Share = MUTATE, elsewhere: Elsewhere | None = None) -> Response:
    return judge(asked, share, seen.published[share], Surroundings(seen.world, elsewhere or Nowhere()))
