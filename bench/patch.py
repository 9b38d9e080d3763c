"""How long patches take, beside other engines in the same run. Start: python bench/patch.py

Every measurement names its subject and returns the callables to compare, ours first. They stand in MEASUREMENTS; add yours there.
A pair is run alternately, so that a busy machine hurts both alike, and the best of its rounds counts.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import jsonpatch as other_jsonpatch
import orjson

from kadmit.patch import jsondiff, jsonpatch, mergepatch

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


MEASUREMENTS: list[Callable[[], Measurement]] = [json_patch_decoded, json_patch_from_text, json_diff, merge_patch]


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
    print(f"Deployment of {len(orjson.dumps(deployment())) / 1000:.1f} KB")
    verdicts = [report(make()) for make in MEASUREMENTS]
    if not all(verdicts):
        raise SystemExit(1)
