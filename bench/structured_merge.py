"""How long structured merge takes on a Pod of three containers, in units of one `copy.deepcopy` of that Pod.

    python bench/structured_merge.py

An apply configuration of a policy must cost far less than a copy of the object, for a policy runs on every request. Both
are run alternately, so that a busy machine hurts both alike, and the best of the rounds counts.
"""

import copy
import functools
import time
from collections.abc import Callable

from kadmit.patch import managedfields, merge
from kadmit.patch.shapes import Atomic, Leaf, ListShape, MapShape, Scalar, Shape
from kadmit.patch.typed import Object

ROUNDS = 25
CALLS = 40
WANTED = 2.0
NOW = "2026-01-01T00:00:00Z"

TEXT, NUMBER, FLAG, ANY = (Leaf(scalar) for scalar in (Scalar.STRING, Scalar.NUMERIC, Scalar.BOOLEAN, Scalar.UNTYPED))


def keyed(element: Shape, *keys: str) -> ListShape:
    return ListShape(element, associative=True, keys=keys, defaults=dict.fromkeys(keys, ""))


def pod_shape() -> MapShape:
    probe = MapShape(
        {"httpGet": MapShape({"path": TEXT, "port": ANY, "scheme": TEXT}), "periodSeconds": NUMBER, "timeoutSeconds": NUMBER}
    )
    port = MapShape({"containerPort": NUMBER, "protocol": TEXT, "name": TEXT})
    container = MapShape(
        {
            **dict.fromkeys(("name", "image", "imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy"), TEXT),
            "args": ListShape(TEXT),
            "env": keyed(MapShape({"name": TEXT, "value": TEXT}), "name"),
            "ports": ListShape(port, associative=True, keys=("containerPort", "protocol"), defaults={"protocol": "TCP"}),
            "resources": MapShape({"limits": MapShape(element=ANY), "requests": MapShape(element=ANY)}),
            "volumeMounts": keyed(MapShape({"name": TEXT, "mountPath": TEXT, "readOnly": FLAG}), "mountPath"),
            "livenessProbe": probe,
            "readinessProbe": probe,
        }
    )
    metadata = MapShape(
        {
            **dict.fromkeys(("name", "namespace", "uid", "creationTimestamp"), TEXT),
            "labels": MapShape(element=TEXT),
            "annotations": MapShape(element=TEXT),
            "managedFields": ListShape(Atomic()),
        }
    )
    volume = MapShape({"name": TEXT, "emptyDir": MapShape({}), "configMap": MapShape({"name": TEXT, "defaultMode": NUMBER})})
    spec = MapShape(
        {
            **dict.fromkeys(("restartPolicy", "dnsPolicy", "schedulerName", "serviceAccountName", "nodeName"), TEXT),
            "terminationGracePeriodSeconds": NUMBER,
            "securityContext": MapShape({"runAsNonRoot": FLAG}),
            "containers": keyed(container, "name"),
            "volumes": keyed(volume, "name"),
            "tolerations": ListShape(MapShape({"key": TEXT, "operator": TEXT, "effect": TEXT, "tolerationSeconds": NUMBER})),
        }
    )
    return MapShape({"apiVersion": TEXT, "kind": TEXT, "metadata": metadata, "spec": spec, "status": MapShape({"phase": TEXT})})


def pod() -> Object:
    def container(name: str) -> Object:
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
            "readinessProbe": copy.deepcopy(probe),
        }

    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "web-5d4f8c7b9-x2x7z",
            "namespace": "default",
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
        "status": {"phase": "Pending"},
    }


def patches() -> dict[str, Object]:
    kind: Object = {"apiVersion": "v1", "kind": "Pod"}
    sidecar = {"name": "agent", "image": "registry.example.com/team/agent:v2", "env": [{"name": "VARIABLE_3", "value": "other"}]}
    return {
        "one label": {**kind, "metadata": {"labels": {"example.com/checked": "true"}}},
        "one image, one variable": {**kind, "spec": {"containers": [sidecar]}},
        "a new container": {**kind, "spec": {"containers": [{"name": "extra", "image": "extra:1"}]}},
    }


def best(ours: Callable[[], object], other: Callable[[], object]) -> tuple[float, float]:
    """Microseconds a call of each."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for found, call in zip(times, (ours, other), strict=True):
            start = time.perf_counter()
            for _ in range(CALLS):
                call()
            found.append((time.perf_counter() - start) / CALLS * 1e6)
    return min(times[0]), min(times[1])


def _with_uid(value: Object) -> Object:
    metadata = value["metadata"]
    assert isinstance(metadata, dict)
    return {**value, "metadata": {**metadata, "uid": "u"}}


def main() -> None:
    shape, live = pod_shape(), pod()
    scope = managedfields.Scope("v1", "Pod", lambda _version: shape, lambda value, _version: value)
    stored = _with_uid(managedfields.update(scope, None, live, manager="creator", now=NOW))
    rewritten = _with_uid({**pod(), "status": {"phase": "Running"}})
    calls: dict[str, Callable[[], object]] = {
        f"apply configuration: {name}": functools.partial(merge.apply_configuration, shape, live, patch)
        for name, patch in patches().items()
    }
    calls["owners of a create"] = lambda: managedfields.update(scope, None, live, manager="m", now=NOW)
    calls["owners of an update"] = lambda: managedfields.update(scope, stored, rewritten, manager="m", now=NOW)
    calls["server-side apply of one label"] = lambda: managedfields.apply(
        scope, stored, patches()["one label"], manager="m", now=NOW
    )
    for name, call in calls.items():
        ours, deepcopy = best(call, lambda: copy.deepcopy(live))
        print(f"{name:45} {ours:8.1f} µs   {ours / deepcopy:6.3f} of a deepcopy ({deepcopy:.0f} µs)")
        if name.startswith("apply configuration") and ours > WANTED * deepcopy:
            raise SystemExit(f"{name}: more than {WANTED} copies")


if __name__ == "__main__":
    main()
