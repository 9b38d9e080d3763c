"""How long patches take, beside other engines in the same run. Start: python bench/patch.py

Every measurement names its subject and returns the callables to compare, ours first. They stand in MEASUREMENTS; add yours there.
A pair is run alternately, so that a busy machine hurts both alike, and the best of its rounds counts.
"""

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass

import jsonpatch as other_jsonpatch
import orjson

from kadmit.kinds import shapes
from kadmit.patch import jsondiff, jsonpatch, managedfields, merge, mergepatch

NOW = "2026-01-01T00:00:00Z"
ROUNDS = 15
SECONDS_A_ROUND = 0.02


@dataclass(frozen=True, slots=True)
class Measurement:
    """wanted: how many times faster than the other ours has to be; other is None where there is nothing to compare with."""

    name: str
    ours: Callable[[], object]
    other: Callable[[], object] | None = None
    other_name: str = ""
    wanted: float = 0


def deployment() -> dict[str, object]:
    """7.8 KB of JSON, as a Deployment of two containers weighs once it is defaulted and managed."""
    probe = {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10, "timeoutSeconds": 1}
    managed: dict[str, object] = {
        f"f:field{number}": {f'k:{{"name":"item{inner}"}}': {".": {}, "f:value": {}} for inner in range(4)}
        for number in range(14)
    }
    labels = {f"example.com/label-{number}": f"value-{number}" for number in range(13)}
    container = {
        "image": "registry.example.com/team/application:v1.2.3",
        "env": [{"name": f"SETTING_{number}", "value": f"value of setting {number}"} for number in range(16)],
        "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
        "livenessProbe": probe,
        "readinessProbe": probe,
        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
        "volumeMounts": [{"name": f"volume-{number}", "mountPath": f"/var/lib/volume-{number}"} for number in range(6)],
    }
    pod_spec = {
        "containers": [{"name": "main", **container}, {"name": "sidecar", **container}],
        "volumes": [
            {"name": f"volume-{number}", "configMap": {"name": f"config-{number}", "defaultMode": 420}} for number in range(6)
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "securityContext": {"runAsNonRoot": True, "fsGroup": 2000},
    }
    document = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "application",
            "namespace": "team",
            "labels": labels,
            "annotations": {"deployment.kubernetes.io/revision": "7"},
            "managedFields": [{"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:spec": managed}}],
        },
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "application"}},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec},
        },
    }
    decoded: dict[str, object] = orjson.loads(orjson.dumps(document))
    return decoded


FIVE_OPERATIONS: list[dict[str, object]] = [
    {"op": "test", "path": "/spec/replicas", "value": 3},
    {"op": "add", "path": "/metadata/labels/team", "value": "admission"},
    {
        "op": "replace",
        "path": "/spec/template/spec/containers/0/image",
        "value": "registry.example.com/mirror/application:v1.2.3",
    },
    {"op": "add", "path": "/spec/template/spec/containers/-", "value": {"name": "proxy", "image": "proxy:1"}},
    {"op": "remove", "path": "/metadata/annotations/deployment.kubernetes.io~1revision"},
]


def json_patch_decoded() -> Measurement:
    document, ours, other = deployment(), jsonpatch.decode(FIVE_OPERATIONS), other_jsonpatch.JsonPatch(FIVE_OPERATIONS)
    assert ours.apply(document) == other.apply(document)
    return Measurement(
        "JSON patch, five operations, decoded before", lambda: ours.apply(document), lambda: other.apply(document), "jsonpatch", 3
    )


def json_patch_from_text() -> Measurement:
    document, text = deployment(), orjson.dumps(FIVE_OPERATIONS)
    return Measurement(
        "JSON patch, five operations, from its text",
        lambda: jsonpatch.decode(text).apply(document),
        lambda: other_jsonpatch.JsonPatch.from_string(text.decode()).apply(document),
        "jsonpatch",
        3,
    )


def json_diff() -> Measurement:
    before = deployment()
    after = jsonpatch.decode(FIVE_OPERATIONS).apply(before)
    assert isinstance(after, dict)
    return Measurement(
        "JSON patch made by comparing",
        lambda: jsondiff.diff(before, after),
        lambda: other_jsonpatch.JsonPatch.from_diff(before, after),
        "jsonpatch",
    )


def merge_patch() -> Measurement:
    document = deployment()
    patch = {"metadata": {"labels": {"team": "admission"}, "annotations": None}, "spec": {"replicas": 5}}
    return Measurement("merge patch, three fields", lambda: mergepatch.apply(document, patch))


# ---------------------------------------------------------------- structured merge, in copies of the Pod


def pod(**status: str) -> dict[str, object]:
    """Three containers, 3.7 KB, with the defaults that a stored Pod has."""

    def container(name: str) -> dict[str, object]:
        probe = {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10, "timeoutSeconds": 1}
        return {
            "name": name,
            "image": f"registry.example.com/team/{name}:v1.2.3",
            "imagePullPolicy": "IfNotPresent",
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "args": ["--verbose", "--port=8080"],
            "env": [{"name": f"VARIABLE_{number}", "value": f"value-{number}"} for number in range(6)],
            "ports": [{"containerPort": 8080, "protocol": "TCP", "name": "http"}, {"containerPort": 9090, "protocol": "TCP"}],
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
            "volumeMounts": [
                {"name": "data", "mountPath": "/data"},
                {"name": "config", "mountPath": "/etc/app", "readOnly": True},
            ],
            "livenessProbe": probe,
            "readinessProbe": probe,
        }

    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "web-5d4f8c7b9-x2x7z",
            "namespace": "default",
            "uid": "7c1f2e0a-5a43-4a4e-9d7e-0b6f5a1c2d3e",
            "labels": {"app": "web", "tier": "front", "pod-template-hash": "5d4f8c7b9"},
            "annotations": {"example.com/owner": "team", "example.com/build": "1234"},
        },
        "spec": {
            "containers": [container("web"), container("sidecar"), container("agent")],
            "volumes": [{"name": "data", "emptyDir": {}}, {"name": "config", "configMap": {"name": "web", "defaultMode": 420}}],
            "restartPolicy": "Always",
            "dnsPolicy": "ClusterFirst",
            "schedulerName": "default-scheduler",
            "serviceAccountName": "default",
            "terminationGracePeriodSeconds": 30,
            "securityContext": {},
            "tolerations": [
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            ],
        },
        "status": {"phase": "Pending", **status},
    }
    decoded: dict[str, object] = orjson.loads(orjson.dumps(document))
    return decoded


def configuration(**parts: object) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Pod", **parts}


SHAPE = shapes.for_kind(("", "v1", "Pod"))
LIVE = pod()
ONE_LABEL = configuration(metadata={"labels": {"example.com/checked": "true"}})
ONE_CONTAINER = configuration(
    spec={"containers": [{"name": "agent", "image": "agent:v2", "env": [{"name": "VARIABLE_3", "value": "other"}]}]}
)
NEW_CONTAINER = configuration(spec={"containers": [{"name": "extra", "image": "extra:1"}]})


def in_copies(name: str, ours: Callable[[], object], wanted: float = 0) -> Measurement:
    return Measurement(name, ours, lambda: copy.deepcopy(LIVE), "deepcopy", wanted)


def merging(name: str, patch: dict[str, object]) -> Callable[[], Measurement]:
    """An apply configuration of a policy: at most two copies of the object, for a policy runs on every request."""
    assert SHAPE is not None
    shape = SHAPE
    return lambda: in_copies(f"apply configuration, {name}", lambda: merge.apply_configuration(shape, LIVE, patch), 0.5)


def _scope() -> managedfields.Scope:
    assert SHAPE is not None
    shape = SHAPE
    return managedfields.Scope("v1", "Pod", lambda _version: shape, lambda value, _version: value)


def owners_of_create() -> Measurement:
    scope = _scope()
    return in_copies("owners of a create", lambda: managedfields.update(scope, None, LIVE, manager="m", now=NOW))


def owners_of_update() -> Measurement:
    scope, running = _scope(), pod(phase="Running")
    stored = managedfields.update(scope, None, LIVE, manager="creator", now=NOW)
    return in_copies("owners of an update", lambda: managedfields.update(scope, stored, running, manager="m", now=NOW))


def server_side_apply() -> Measurement:
    scope = _scope()
    stored = managedfields.update(scope, None, LIVE, manager="creator", now=NOW)
    return in_copies("server-side apply, one label", lambda: managedfields.apply(scope, stored, ONE_LABEL, manager="m", now=NOW))


MEASUREMENTS: list[Callable[[], Measurement]] = [
    json_patch_decoded,
    json_patch_from_text,
    json_diff,
    merge_patch,
    merging("one label", ONE_LABEL),
    merging("one image, one variable", ONE_CONTAINER),
    merging("a new container", NEW_CONTAINER),
    owners_of_create,
    owners_of_update,
    server_side_apply,
]


def microseconds(*subjects: Callable[[], object]) -> list[float]:
    """The best round of each, in µs a call; the rounds of all take turns."""
    calls = [_calls_a_round(subject) for subject in subjects]
    best = [float("inf")] * len(subjects)
    for _ in range(ROUNDS):
        for at, subject in enumerate(subjects):
            best[at] = min(best[at], _seconds(subject, calls[at]) / calls[at] * 1e6)
    return best


def _calls_a_round(subject: Callable[[], object]) -> int:
    return max(1, int(SECONDS_A_ROUND / max(_seconds(subject, 1), _seconds(subject, 1))))


def _seconds(subject: Callable[[], object], calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        subject()
    return max(time.process_time() - start, 1e-9)


def report(measurement: Measurement) -> bool:
    """Print one line; False if ours is slower than wanted."""
    if measurement.other is None:
        (ours,) = microseconds(measurement.ours)
        print(f"{measurement.name:<48} {ours:9.2f} µs")
        return True
    ours, other = microseconds(measurement.ours, measurement.other)
    fast_enough = other / ours >= measurement.wanted
    verdict = "" if fast_enough else f"  TOO SLOW: wanted {measurement.wanted:g}x"
    print(f"{measurement.name:<48} {ours:9.2f} µs  {measurement.other_name} {other:9.2f} µs  {other / ours:6.1f}x{verdict}")
    return fast_enough


if __name__ == "__main__":
    print(f"Deployment of {len(orjson.dumps(deployment())) / 1000:.1f} KB, Pod of {len(orjson.dumps(LIVE)) / 1000:.1f} KB")
    verdicts = [report(make()) for make in MEASUREMENTS]
    if not all(verdicts):
        raise SystemExit(1)
