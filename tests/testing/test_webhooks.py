"""kadmit_webhook: a function behind TLS, registered, asked, and gone after the test."""

import json
import ssl
import urllib.request
from typing import Any

import pytest
from tests.testing.policies import Json, configmap

from kadmit import App, Deny, Object, Request
from kadmit.testing import Cluster, NoVerdict, Serve, Webhook, assert_admitted, assert_denied, assert_patched

SERVICE = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: mine}
webhooks:
- name: one.example.com
  clientConfig: {service: {namespace: hooks, name: mine, path: /one}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  sideEffects: None
  admissionReviewVersions: [v1]
- name: two.example.com
  clientConfig: {service: {namespace: hooks, name: mine, path: /two}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [secrets]}]
  sideEffects: None
  admissionReviewVersions: [v1beta1]
"""
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}


def marking(request: Json) -> list[Json]:
    return [{"op": "add", "path": "/metadata/labels", "value": {"by": request["userInfo"]["username"]}}]


def broken(_request: Json) -> None:
    raise NoVerdict("out of order", 503)


def test_a_function_is_asked_over_tls_and_its_requests_are_kept(kadmit_cluster: Cluster, kadmit_webhook: Serve) -> None:
    hook = kadmit_webhook(marking, kadmit_cluster, mutating=True)
    assert_patched(kadmit_cluster.create(configmap("a"), user="alice"), object={"metadata": {"labels": {"by": "alice"}}})
    (request,) = hook.requests
    assert (request["operation"], request["name"]) == ("CREATE", "a")
    assert hook.reviews[0]["apiVersion"] == "admission.k8s.io/v1"


def test_fields_of_the_registration_have_kubernetes_names(kadmit_cluster: Cluster, kadmit_webhook: Serve) -> None:
    conditions = [{"name": "only-b", "expression": "object.metadata.name == 'b'"}]
    hook = kadmit_webhook(lambda _: "no", kadmit_cluster, name="b.example.com", matchConditions=conditions)
    assert_admitted(kadmit_cluster.create(configmap("a")))
    assert_denied(kadmit_cluster.create(configmap("b")), message='admission webhook "b.example.com" denied the request: no')
    assert len(hook.reviews) == 1


def test_a_configuration_of_your_own_leads_to_the_functions(kadmit_cluster: Cluster, kadmit_webhook: Serve) -> None:
    hook = kadmit_webhook({"/one": lambda _: "one", "/two": lambda _: "two"}, kadmit_cluster, configuration=SERVICE)
    assert_denied(kadmit_cluster.create(configmap("a")), message='"one.example.com" denied the request: one')
    assert_denied(kadmit_cluster.create(SECRET), message='"two.example.com" denied the request: two')
    assert [review["apiVersion"] for review in hook.reviews] == ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"]


def test_a_configuration_and_fields_contradict_each_other(kadmit_cluster: Cluster, kadmit_webhook: Serve) -> None:
    with pytest.raises(ValueError, match="a configuration has its own failurePolicy"):
        kadmit_webhook(marking, kadmit_cluster, configuration=SERVICE, failurePolicy="Ignore")
    with pytest.raises(ValueError, match="must hold one webhook configuration, holds 0"):
        kadmit_webhook(marking, kadmit_cluster, configuration=SECRET)


def test_no_verdict_is_an_http_error_and_the_failure_policy_decides(kadmit_cluster: Cluster, kadmit_webhook: Serve) -> None:
    kadmit_webhook(broken, kadmit_cluster)
    told = '"webhook.kadmit.test": failed to call webhook: the server is currently unable to handle the request'
    assert_denied(kadmit_cluster.create(configmap("a")), message=told)


def test_what_a_function_raises_can_be_taken_out(kadmit_cluster: Cluster, kadmit_webhook: Serve) -> None:
    hook = kadmit_webhook(lambda request: request["no such field"], kadmit_cluster)
    assert_denied(kadmit_cluster.create(configmap("a")), message="KeyError: 'no such field'")
    assert isinstance(hook.errors.pop(), KeyError)


def test_an_app_says_itself_how_it_is_registered(kadmit_cluster: Cluster, kadmit_webhook: Serve) -> None:
    app = App("hooks.example.com")

    @app.mutating("configmaps")
    def label(request: Request, subject: Object) -> None:
        subject.setdefault("data", {})["by"] = request.user.username

    @app.validating("configmaps", operations=["DELETE"])
    def keep(_request: Request, _subject: Object) -> None:
        raise Deny("never")

    hook = kadmit_webhook(app, kadmit_cluster)
    assert_patched(kadmit_cluster.create(configmap("a")), object={"data": {"by": "admin"}})
    assert_denied(kadmit_cluster.delete(configmap("a")), message="denied the request: never")
    assert [request["operation"] for request in hook.requests] == ["CREATE", "DELETE"]


def test_a_webhook_can_be_served_without_a_cluster(kadmit_webhook: Serve) -> None:
    hook = kadmit_webhook(lambda _: {"warnings": ["w"]})
    answer = _post(hook, "/", {"apiVersion": "admission.k8s.io/v1", "request": {"uid": "u"}})
    assert answer["response"] == {"uid": "u", "allowed": True, "warnings": ["w"]}


def _post(hook: Webhook, path: str, body: Json) -> Any:
    import base64

    context = ssl.create_default_context(cadata=base64.b64decode(hook.ca_bundle).decode())
    request = urllib.request.Request(hook.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, context=context, timeout=10) as answer:
        return json.load(answer)
