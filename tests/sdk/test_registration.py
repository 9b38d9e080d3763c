"""The configurations of an App: what its decorators say, as an API server wants it."""

import re
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import kadmit
from kadmit.webhook.answering import Limits
from kadmit.webhook.metrics import DEFINITIONS
from kadmit.webhook.sdk.handlers import MutatingOptions


def _app(mutating: bool = True, /, **options: Any) -> kadmit.App:
    app = kadmit.App("hooks.example.com")

    @(app.mutating if mutating else app.validating)(**{"resources": "pods", **options})
    def check(_request: kadmit.Request, _object: kadmit.Object) -> None: ...

    return app


def _webhook(mutating: bool = True, /, **options: Any) -> Any:
    (made,) = _app(mutating, **options).configurations(url="https://hooks.test:8443")
    (webhook,) = made["webhooks"]
    return webhook


def test_a_handler_is_registered_with_what_its_decorator_leaves_unsaid() -> None:
    (made,) = _app().configurations(url="https://hooks.test:8443/", authority=b"PEM", labels={"a": "b"})
    assert made == {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "hooks.example.com", "labels": {"a": "b"}},
        "webhooks": [
            {
                "name": "check.hooks.example.com",
                "clientConfig": {"url": "https://hooks.test:8443/check", "caBundle": "UEVN"},
                "rules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "resources": ["pods"],
                        "operations": ["CREATE", "UPDATE"],
                        "scope": "*",
                    }
                ],
                "failurePolicy": "Fail",
                "matchPolicy": "Equivalent",
                "sideEffects": "None",
                "timeoutSeconds": 10,
                "admissionReviewVersions": ["v1", "v1beta1"],
                "reinvocationPolicy": "Never",
            }
        ],
    }


OPTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "failure_policy": ({"failure_policy": "Ignore"}, {"failurePolicy": "Ignore"}),
    "timeout": ({"timeout": 3}, {"timeoutSeconds": 3}),
    "side_effects": ({"side_effects": "NoneOnDryRun"}, {"sideEffects": "NoneOnDryRun"}),
    "match_policy": ({"match_policy": "Exact"}, {"matchPolicy": "Exact"}),
    "reinvocation": ({"reinvocation": "IfNeeded"}, {"reinvocationPolicy": "IfNeeded"}),
    "match_conditions": (
        {"match_conditions": {"not-mine": "request.userInfo.username != 'me'"}},
        {"matchConditions": [{"name": "not-mine", "expression": "request.userInfo.username != 'me'"}]},
    ),
    "namespace_selector, of labels": ({"namespace_selector": {"a": "b"}}, {"namespaceSelector": {"matchLabels": {"a": "b"}}}),
    "object_selector, in full": (
        {"object_selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}},
        {"objectSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}},
    ),
    "name": ({"name": "other"}, {"name": "other.hooks.example.com"}),
    "path": ({"path": "/v1/x"}, {"clientConfig": {"url": "https://hooks.test:8443/v1/x"}}),
}


@pytest.mark.parametrize(("options", "fields"), OPTIONS.values(), ids=OPTIONS)
def test_an_option_is_a_field(options: dict[str, Any], fields: dict[str, Any]) -> None:
    webhook = _webhook(**options)
    assert {name: webhook[name] for name in fields} == fields


RESOURCES: dict[str, tuple[dict[str, Any], list[tuple[list[str], list[str], list[str]]]]] = {
    "of the core group": ({"resources": "pods"}, [([""], ["v1"], ["pods"])]),
    "by a short name": ({"resources": "deploy"}, [(["apps"], ["v1"], ["deployments"])]),
    "of another group": ({"resources": "deployments.apps"}, [(["apps"], ["v1"], ["deployments"])]),
    "in a version": ({"resources": "deployments.v1.apps"}, [(["apps"], ["v1"], ["deployments"])]),
    "a subresource": ({"resources": "pods/exec"}, [([""], ["v1"], ["pods/exec"])]),
    "several of one group": ({"resources": ["pods", "services"]}, [([""], ["v1"], ["pods", "services"])]),
    "several of several groups": (
        {"resources": ["pods", "jobs"]},
        [([""], ["v1"], ["pods"]), (["batch"], ["v1"], ["jobs"])],
    ),
    "a custom one": ({"resources": "widgets.example.com"}, [(["example.com"], ["*"], ["widgets"])]),
    "a custom one in a version": ({"resources": "widgets.v1beta1.example.com"}, [(["example.com"], ["v1beta1"], ["widgets"])]),
    "everything": ({"resources": "*/*"}, [(["*"], ["*"], ["*/*"])]),
    "everything of a group": ({"resources": "*.apps"}, [(["apps"], ["*"], ["*"])]),
    "groups and versions as they are": (
        {"resources": "things", "groups": "a.b", "versions": ["v1", "v2"]},
        [(["a.b"], ["v1"], ["things"]), (["a.b"], ["v2"], ["things"])],
    ),
}


@pytest.mark.parametrize(("options", "expected"), RESOURCES.values(), ids=RESOURCES)
def test_resources_are_named_as_for_kubectl(options: dict[str, Any], expected: list[Any]) -> None:
    rules = _webhook(**options)["rules"]
    assert [(rule["apiGroups"], rule["apiVersions"], rule["resources"]) for rule in rules] == expected


def test_a_service_may_stand_for_the_url() -> None:
    (made,) = _app(False).configurations(service={"namespace": "hooks", "name": "hook", "port": 8443})
    assert made["kind"] == "ValidatingWebhookConfiguration"
    assert made["webhooks"][0]["clientConfig"] == {
        "service": {"namespace": "hooks", "name": "hook", "port": 8443, "path": "/check"}
    }
    assert "reinvocationPolicy" not in made["webhooks"][0]


WRONG: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a resource without its group": (
        {"resources": "widgets"},
        {"url": "https://x"},
        "resource 'widgets' is none of Kubernetes' own: write it with its group, such as widgets.example.com",
    ),
    "nowhere to call": ({}, {}, "either the URL of the webhooks or a service is needed"),
    "a URL without TLS": (
        {},
        {"url": "http://x"},
        """webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme""",
    ),
    "a condition that does not compile": (
        {"match_conditions": {"x": "1 +"}},
        {"url": "https://x"},
        'webhooks[0].matchConditions[0].expression: Invalid value: "1 +": compilation failed',
    ),
}


@pytest.mark.parametrize(("options", "place", "text"), WRONG.values(), ids=WRONG)
def test_what_an_api_server_would_refuse_is_refused(options: dict[str, Any], place: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError) as caught:
        _app(**options).configurations(**place)
    assert str(caught.value).startswith(text)


# ---------------------------------------------------------------- the page

PAGE = (Path(__file__).parent.parent.parent / "docs" / "sdk.md").read_text()


@pytest.mark.parametrize("parameter", ["resources", *get_type_hints(MutatingOptions)])
def test_a_parameter_of_the_decorators_is_documented(parameter: str) -> None:
    table = PAGE.split("## Decorators")[1].split("\n## ")[0]
    assert re.search(rf"^\|.*`{parameter}`.*\|.*\|.*\|$", table, re.MULTILINE)


def test_metrics_are_documented() -> None:
    section = PAGE.split("## Metrics")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([a-z_]+)` \| ([a-z]+) \| (.*) \| (.*) \|$", section, re.MULTILINE)
    assert rows == [(d.name, d.type, ", ".join(f"`{label}`" for label in d.labels), d.help) for d in DEFINITIONS]


@pytest.mark.parametrize("name", [each for each in vars(kadmit.Request) if not each.startswith("_")])
def test_what_a_request_has_is_documented(name: str) -> None:
    assert re.search(rf"`(?:request\.)?{name}(?:\(.*?\))?`", PAGE)


@pytest.mark.parametrize("limit", Limits.__struct_fields__)
def test_limits_are_documented(limit: str) -> None:
    assert f"`{limit}`" in PAGE
