"""Functions as webhooks: what they are given, what they may say, and what becomes of it."""

import asyncio
import subprocess
import sys
import threading
from typing import Any, TypedDict

import orjson
import pytest
from tests.sdk.serving import review

import kadmit
from kadmit.webhook.review import BadReview, NoVerdict

POD: kadmit.Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [{"name": "a"}]}}


@pytest.fixture
def app() -> kadmit.App:
    return kadmit.App("hooks.example.com")


def test_importing_kadmit_loads_no_webhook() -> None:
    program = "import sys, kadmit; sys.exit(any(name.startswith(('kadmit.', 'asyncio', 'orjson')) for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_name_that_kadmit_does_not_have_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'kadmit' has no attribute 'mutate'"):
        _ = kadmit.mutate  # type: ignore[attr-defined]
    assert all(hasattr(kadmit, name) for name in kadmit.__all__)


# ---------------------------------------------------------------- what functions do


def test_what_a_function_changed_becomes_the_patch(app: kadmit.App) -> None:
    @app.mutating("pods")
    def label(_request: kadmit.Request, pod: kadmit.Object) -> None:
        pod["metadata"]["labels"] = {"team": "shop"}

    verdict = app.admit(POD)
    assert verdict.allowed
    assert verdict.patch == ({"op": "add", "path": "/metadata/labels", "value": {"team": "shop"}},)
    assert verdict.object is not None
    assert verdict.object["metadata"] == {"name": "web", "labels": {"team": "shop"}}
    assert POD["metadata"] == {"name": "web"}


def test_a_function_may_return_another_object(app: kadmit.App) -> None:
    @app.mutating("pods")
    async def rename(_request: kadmit.Request, pod: kadmit.Object) -> kadmit.Object:
        return {**pod, "spec": {}}

    assert app.admit(POD).patch == ({"op": "replace", "path": "/spec", "value": {}},)


def test_a_refusal_has_its_code_reason_and_details(app: kadmit.App) -> None:
    @app.validating("pods")
    def refuse(request: kadmit.Request, _pod: kadmit.Object) -> None:
        request.warn("soon")
        raise kadmit.Deny("too many", code=422, details={"causes": [{"field": "spec"}]})

    verdict = app.admit(POD)
    assert (verdict.allowed, verdict.code, verdict.reason, verdict.message) == (False, 422, "Invalid", "too many")
    assert (verdict.warnings, verdict.object, verdict.patch) == (("soon",), None, ())


@pytest.mark.parametrize("code", [200, 399, 600])
def test_a_refusal_needs_a_code_that_refuses(code: int) -> None:
    with pytest.raises(ValueError, match="from 400 to 599"):
        kadmit.Deny("x", code)


def test_warnings_and_annotations_are_passed_on(app: kadmit.App) -> None:
    @app.validating("pods")
    async def tell(request: kadmit.Request, _pod: kadmit.Object) -> None:
        request.warn("careful")
        request.audit("count", 3)

    verdict = app.admit(POD)
    assert (verdict.warnings, verdict.annotations) == (("careful",), {"count": "3"})


def test_a_request_tells_everything_about_itself(app: kadmit.App) -> None:
    seen: list[kadmit.Request] = []

    @app.validating("deployments/scale", operations="UPDATE")
    def look(request: kadmit.Request, _scale: kadmit.Object) -> None:
        seen.append(request)

    asked: dict[str, Any] = {
        "kind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
        "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
        "requestKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
        "requestResource": {"group": "apps", "version": "v1beta2", "resource": "deployments"},
        "subResource": "scale",
        "operation": "UPDATE",
        "oldObject": {"spec": {"replicas": 1}},
        "object": {"spec": {"replicas": 2}},
        "dryRun": True,
        "options": {"fieldManager": "x"},
        "userInfo": {"username": "alice", "uid": "7", "groups": ["devs"], "extra": {"scopes": ["a", "b"]}},
    }
    assert app.review(review(**asked))["response"]["allowed"]
    (request,) = seen
    assert (request.uid, request.operation, request.name, request.namespace) == ("u-1", "UPDATE", "a", "default")
    assert (request.subresource, request.dry_run, request.options) == ("scale", True, {"fieldManager": "x"})
    assert request.user == kadmit.User("alice", "7", ("devs",), {"scopes": ("a", "b")})
    assert (request.kind, request.resource) == (("autoscaling", "v1", "Scale"), ("apps", "v1", "deployments"))
    assert (request.request_kind, request.request_resource) == (request.kind, ("apps", "v1beta2", "deployments"))
    assert (request.old_object, request.object) == ({"spec": {"replicas": 1}}, {"spec": {"replicas": 2}})
    assert repr(request) == "<UPDATE Scale default/a>"


def test_on_delete_a_function_gets_what_is_deleted(app: kadmit.App) -> None:
    @app.validating("pods", operations="DELETE")
    def keep(request: kadmit.Request, pod: kadmit.Object) -> None:
        assert request.object is None
        raise kadmit.Deny(f"{pod['metadata']['name']} stays")

    assert app.admit(old=POD).message == "web stays"


def test_a_change_on_delete_is_no_patch(app: kadmit.App) -> None:
    @app.mutating("pods", operations="DELETE")
    def touch(_request: kadmit.Request, pod: kadmit.Object) -> None:
        pod["x"] = 1

    assert app.admit(old=POD).patch == ()


class Meta(TypedDict):
    name: str


class Named(TypedDict):
    metadata: Meta


def test_an_object_may_be_annotated_with_its_type(app: kadmit.App) -> None:
    @app.validating("pods")
    def check(_request: kadmit.Request, pod: Named) -> None:
        raise kadmit.Deny(pod["metadata"]["name"])

    assert app.admit(POD).message == "web"


# ---------------------------------------------------------------- where functions run


def test_a_plain_function_runs_in_a_thread_and_a_coroutine_on_the_loop(app: kadmit.App) -> None:
    where: dict[str, str] = {}

    @app.mutating("pods")
    def plain(_request: kadmit.Request, _pod: kadmit.Object) -> None:
        where["plain"] = threading.current_thread().name

    @app.mutating("pods", inline=True)
    def inline(_request: kadmit.Request, _pod: kadmit.Object) -> None:
        where["inline"] = threading.current_thread().name

    @app.mutating("pods")
    async def coroutine(_request: kadmit.Request, _pod: kadmit.Object) -> None:
        where["coroutine"] = threading.current_thread().name

    assert app.admit(POD).allowed
    assert where["plain"].startswith("kadmit-handler")
    assert where["inline"] == where["coroutine"] == "MainThread"


async def test_a_test_that_is_a_coroutine_may_ask_too(app: kadmit.App) -> None:
    @app.validating("pods")
    async def refuse(_request: kadmit.Request, _pod: kadmit.Object) -> None:
        await asyncio.sleep(0)
        raise kadmit.Deny("no")

    assert app.admit(POD).message == "no"
    with pytest.raises(BadReview):
        app.review(b"")


# ---------------------------------------------------------------- what goes wrong


def test_a_function_that_fails_refuses_and_tells_no_more(app: kadmit.App, caplog: pytest.LogCaptureFixture) -> None:
    @app.mutating("pods")
    def label(_request: kadmit.Request, pod: kadmit.Object) -> None:
        _ = pod["secret path"]

    verdict = app.admit(POD)
    assert (verdict.allowed, verdict.code, verdict.message) == (False, 500, "webhook label failed (KeyError); its log tells why")
    assert "secret path" in caplog.text
    app.debug = True
    assert app.admit(POD).message == "webhook label failed: KeyError: 'secret path'"


def test_a_function_that_may_be_ignored_gives_no_verdict_when_it_fails(app: kadmit.App) -> None:
    @app.mutating("pods", failure_policy="Ignore")
    def label(_request: kadmit.Request, _pod: kadmit.Object) -> None:
        raise RuntimeError

    with pytest.raises(NoVerdict, match="webhook label failed"):
        app.admit(POD)


WRONG_RETURNS: dict[str, tuple[bool, Any, str]] = {
    "a validating function that says false": (
        False,
        False,
        "a validating function returns nothing; it raises kadmit.Deny to refuse",
    ),
    "a validating function that says true": (
        False,
        True,
        "a validating function returns nothing; it raises kadmit.Deny to refuse",
    ),
    "a mutating function that returns a list": (True, [], "a mutating function returns nothing or an object, not list"),
}


@pytest.mark.parametrize(("mutating", "returned", "text"), WRONG_RETURNS.values(), ids=WRONG_RETURNS)
def test_what_a_function_cannot_mean_is_an_error(app: kadmit.App, mutating: bool, returned: Any, text: str) -> None:
    app.debug = True
    (app.mutating if mutating else app.validating)("pods")(_returning(returned))
    assert app.admit(POD).message == f"webhook check failed: TypeError: {text}"


def _returning(value: Any) -> Any:
    def check(_request: kadmit.Request, _pod: kadmit.Object) -> Any:
        return value

    return check


def test_an_object_that_is_no_json_any_more_is_an_error(app: kadmit.App) -> None:
    @app.mutating("pods")
    def spoil(_request: kadmit.Request, pod: kadmit.Object) -> None:
        pod["spec"] = {1, 2}

    assert app.admit(POD).message == "webhook spoil failed (TypeError); its log tells why"


def test_an_object_that_is_too_deep_to_be_compared_is_an_error(app: kadmit.App) -> None:
    @app.mutating("configmaps")
    def keep(_request: kadmit.Request, _object: kadmit.Object) -> None: ...

    deep = review().replace(b'"object":{', b'"object":{"deep":' + b"[" * 300 + b"]" * 300 + b",")
    response = app.review(deep)["response"]
    assert (response["allowed"], response["status"]["code"]) == (False, 500)


# ---------------------------------------------------------------- which functions are asked


def test_without_a_path_all_functions_that_match_are_asked_mutating_ones_first(app: kadmit.App) -> None:
    @app.validating("pods", operations="CREATE")
    def check(_request: kadmit.Request, pod: kadmit.Object) -> None:
        raise kadmit.Deny(f"labels: {pod['metadata']['labels']}")

    @app.mutating("pods", operations="CREATE")
    def label(_request: kadmit.Request, pod: kadmit.Object) -> None:
        pod["metadata"]["labels"] = {"a": "b"}

    @app.validating("services")
    def other(_request: kadmit.Request, _service: kadmit.Object) -> None:
        raise AssertionError

    assert app.admit(POD).message == "labels: {'a': 'b'}"
    assert app.admit(POD, old=POD).allowed


def test_a_path_picks_one_function(app: kadmit.App) -> None:
    @app.validating("pods", path="/v1/check")
    def check(_request: kadmit.Request, _pod: kadmit.Object) -> None:
        raise kadmit.Deny("no")

    assert app.review(orjson.loads(review()), "/v1/check")["response"]["allowed"] is False
    assert app.review(review(), "")["response"]["allowed"] is True
    with pytest.raises(KeyError):
        app.review(review(), "/check")


BAD_DECORATORS: dict[str, tuple[dict[str, Any], str]] = {
    "no resources": ({"resources": ()}, "resources: at least one is needed"),
    "no operations": ({"operations": ()}, "operations: at least one is needed"),
    "an unknown operation": (
        {"operations": "create"},
        "operations must be CREATE or UPDATE or DELETE or CONNECT or *, not 'create'",
    ),
    "a timeout": ({"timeout": 31}, "timeout must be from 1 to 30 seconds, not 31"),
    "a failure policy": ({"failure_policy": "fail"}, "failure_policy must be Fail or Ignore, not 'fail'"),
    "side effects": ({"side_effects": "Some"}, "side_effects must be None or NoneOnDryRun, not 'Some'"),
    "a path of ours": ({"path": "/metrics"}, "path '/metrics' cannot be a webhook's"),
    "a path that is none": ({"path": "x"}, "path 'x' cannot be a webhook's"),
    "a name": ({"name": "No"}, "name 'No' of a webhook must be lower case letters, digits and dashes, at most 63"),
    "reinvocation of a validating webhook": ({"reinvocation": "IfNeeded"}, "reinvocation is for mutating webhooks"),
}


@pytest.mark.parametrize(("options", "text"), BAD_DECORATORS.values(), ids=BAD_DECORATORS)
def test_what_a_decorator_cannot_take_is_refused_at_once(app: kadmit.App, options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError) as caught:
        app.validating(**{"resources": "pods", **options})(_returning(None))
    assert str(caught.value) == text


def test_a_name_is_taken_once(app: kadmit.App) -> None:
    app.validating("pods")(_returning(None))
    with pytest.raises(ValueError, match="there is a webhook 'check' already"):
        app.validating("pods", path="/other")(_returning(None))


def test_an_app_needs_a_name_with_a_dot() -> None:
    with pytest.raises(ValueError, match="must have a dot"):
        kadmit.App("hooks")


def test_the_decorators_of_the_module_have_an_app_of_their_own() -> None:
    before = dict(kadmit.app.handlers)
    try:

        @kadmit.mutating("pods", name="default-label")
        def label(_request: kadmit.Request, pod: kadmit.Object) -> None:
            pod["metadata"]["labels"] = {"a": "b"}

        @kadmit.validating("pods", name="default-check")
        def check(_request: kadmit.Request, _pod: kadmit.Object) -> None: ...

        assert kadmit.app.admit(POD).patch[0]["value"] == {"a": "b"}
        assert {"/default-label", "/default-check"} <= kadmit.app.handlers.keys()
    finally:
        kadmit.app.handlers.clear()
        kadmit.app.handlers.update(before)
