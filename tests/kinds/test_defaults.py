"""Defaults of built-in kinds: what they add, what they leave alone, how little they copy."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conformance import ledger

from kadmit.kinds import decoding, defaults, hub, schema
from kadmit.kinds.catalog import Gvk
from kadmit.kinds.defaults import images
from kadmit.kinds.structs import DecodeError

Json = Any
POD: Gvk = ("", "v1", "Pod")

# What Kubernetes' own code made of bodies that were drawn from the schemas: with defaults, and after its internal version.
ROWS = [json.loads(line) for line in Path(__file__).with_name("defaulted.jsonl").read_text().splitlines()]
_EMPTY_IS_NOTHING = "Go tells an empty list or map from none; decoding drops both before defaults are applied"
EXPECTED_FAILURES: dict[str, str] = {
    "261 Node": _EMPTY_IS_NOTHING,
    "262 HorizontalPodAutoscaler": _EMPTY_IS_NOTHING,
}


def decoded(body: Json) -> tuple[Gvk, Json]:
    gvk = decoding.kind_of(body)
    node = schema.for_kind(gvk)
    assert node is not None
    return gvk, decoding.normalise(node, body).object


def defaulted(body: Json) -> Json:
    gvk, value = decoded(body)
    return defaults.apply(gvk, value)


def wrong(row: Json) -> str | None:
    gvk, value = decoded(row["body"])
    made = defaults.apply(gvk, value)
    if not ledger.same(row["defaulted"], made):
        return f"{row['defaulted']} is not {made}"
    if defaults.apply(gvk, made) is not made:
        return "defaults are not settled after one time"
    try:
        held = hub.through(gvk, made)
    except DecodeError as error:
        return None if str(error) == row.get("error") else str(error)
    expected = row.get("through", row["defaulted"])
    return None if ledger.same(expected, held) else f"{expected} is not {held}"


def test_objects_get_the_defaults_that_kubernetes_gives_them(record_property: ledger.Record) -> None:
    names = [f"{index:03} {row['body']['kind']}" for index, row in enumerate(ROWS)]
    found = {name: ledger.attempt(lambda row=row: wrong(row)) for name, row in zip(names, ROWS, strict=True)}  # type: ignore[misc]
    failures = {name: text for name, text in found.items() if text is not None}
    ledger.settle(record_property, "defaults by Go", ran=names, failures=failures, expected=EXPECTED_FAILURES)


def pod(**spec: Json) -> Json:
    containers = [{"name": "a", "image": "nginx:1"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


def test_nothing_that_is_given_is_changed() -> None:
    body = pod(hostNetwork=True, volumes=[{"name": "v"}])
    gvk, value = decoded(body)
    before = json.dumps(value)
    made = defaults.apply(gvk, value)
    assert made is not value
    assert json.dumps(value) == before


def test_an_object_with_all_its_defaults_is_returned_itself() -> None:
    made = defaulted(pod())
    assert defaults.apply(POD, made) is made


def test_a_kind_without_defaults_is_returned_itself() -> None:
    value = {"apiVersion": "v1", "kind": "ConfigMap"}
    assert defaults.apply(("", "v1", "ConfigMap"), value) is value
    assert defaults.apply(("example.com", "v1", "Widget"), value) is value


def test_defaults_are_not_shared_between_objects() -> None:
    one, other = defaulted(pod()), defaulted(pod())
    assert one["spec"]["securityContext"] == {}
    assert one["spec"]["securityContext"] is not other["spec"]["securityContext"]


def test_what_did_not_change_is_shared_with_what_was_before() -> None:
    before = defaulted(pod(containers=[{"name": name, "image": "nginx:1"} for name in "abc"]))
    containers = [{"name": "new", "image": "nginx"}, *before["spec"]["containers"]]
    made = defaults.apply(POD, {**before, "spec": {**before["spec"], "containers": containers}}, before)
    assert made["spec"]["containers"][0]["imagePullPolicy"] == "Always"
    for index in range(3):
        assert made["spec"]["containers"][index + 1] is before["spec"]["containers"][index]


def test_what_is_shared_with_before_is_not_looked_at() -> None:
    before = defaulted(pod())
    unlooked = {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {}}
    assert defaults.apply(POD, unlooked, {**before, "spec": unlooked["spec"]}) is unlooked


def test_a_change_beside_containers_still_reaches_their_ports() -> None:
    before = defaulted(pod(containers=[{"name": "a", "image": "x", "ports": [{"containerPort": 80}]}]))
    made = defaults.apply(POD, {**before, "spec": {**before["spec"], "hostNetwork": True}}, before)
    assert made["spec"]["containers"][0]["ports"] == [{"containerPort": 80, "protocol": "TCP", "hostPort": 80}]


A_DIGEST = "a" * 64


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1", "IfNotPresent"),
        ("", "IfNotPresent"),
        ("localhost:5000/nginx", "Always"),
        ("registry.io:5000/a/b:latest", "Always"),
        ("[2001:db8::1]:5000/a", "Always"),
        ("docker.io/nginx", "Always"),
        ("index.docker.io/nginx:2", "IfNotPresent"),
        (f"nginx@sha256:{A_DIGEST}", "IfNotPresent"),
        (f"nginx:latest@sha256:{A_DIGEST}", "Always"),
        (f"nginx:latest@sha256:{A_DIGEST}0", "IfNotPresent"),
        (f"nginx:latest@md5:{'d' * 32}", "IfNotPresent"),
        ("Nginx", "IfNotPresent"),
        ("Registry/nginx", "Always"),
        ("no image:latest", "IfNotPresent"),
        (":latest", "IfNotPresent"),
        (A_DIGEST, "IfNotPresent"),
        (f"a/{'p' * 256}", "IfNotPresent"),
        (f"a:{'t' * 129}", "IfNotPresent"),
        ("a." * 200_000 + "/" + "-" * 200_000, "IfNotPresent"),
    ],
)
def test_an_image_is_always_pulled_if_it_is_the_latest(image: str, policy: str) -> None:
    assert images.pull_policy(image) == policy


def requests_of(**spec: Json) -> Json:
    return defaulted(pod(**spec))["spec"]["resources"].get("requests")


def container(cpu: str, **more: Json) -> Json:
    return {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}, **more}


@pytest.mark.parametrize(
    ("containers", "init", "cpu"),
    [
        ([container("100m"), container("200m")], [], "300m"),
        ([container("100m")], [container("2")], "2"),
        ([container("100m")], [container("1", restartPolicy="Always")], "1100m"),
        ([container("100m")], [container("1", restartPolicy="Always"), container("3")], "4"),
        ([container("300u"), container("300u")], [], "1m"),
        ([{"name": "c", "image": "x"}], [], "5"),
    ],
)
def test_a_whole_pod_requests_what_its_containers_need_at_the_worst_moment(containers: Json, init: Json, cpu: str) -> None:
    found = requests_of(containers=containers, initContainers=init, resources={"limits": {"cpu": "5"}})
    assert found == {"cpu": cpu}


def test_a_whole_pod_without_limits_requests_nothing_by_itself() -> None:
    assert requests_of(containers=[container("1")], resources={"requests": {"memory": "1Gi"}}) == {"memory": "1Gi"}
