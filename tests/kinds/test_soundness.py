"""The quick look at pods finds nothing sound that the rules refuse, and does not send ordinary pods to them."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kadmit.api import fields
from kadmit.api.meta import GroupVersionKind
from kadmit.kinds import decoding, defaults, schema
from kadmit.kinds.rules import pods, soundness
from kadmit.kinds.rules.context import Context

POD = GroupVersionKind("", "v1", "Pod")
HERE = Path(__file__).parent
AT = fields.path("spec")

WEB = {
    "name": "web",
    "image": "registry.example.com/web:1.2",
    "command": ["serve"],
    "args": ["--port=8080"],
    "env": [
        {"name": "MODE", "value": "fast"},
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "key"}}},
        {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
    ],
    "envFrom": [{"prefix": "X_", "configMapRef": {"name": "web"}}],
    "ports": [{"containerPort": 8080, "name": "http"}, {"containerPort": 9090, "name": "metrics", "protocol": "TCP"}],
    "resources": {
        "limits": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"},
        "requests": {"cpu": "100m", "memory": "128Mi", "ephemeral-storage": "1Gi"},
    },
    "volumeMounts": [{"name": "data", "mountPath": "/data", "subPath": "a"}, {"name": "config", "mountPath": "/etc/web"}],
    "livenessProbe": {"httpGet": {"path": "/", "port": "http", "httpHeaders": [{"name": "X-A", "value": "b"}]}},
    "readinessProbe": {"tcpSocket": {"port": 8080}, "periodSeconds": 5},
    "startupProbe": {"exec": {"command": ["true"]}},
    "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "seccompProfile": {"type": "RuntimeDefault"},
    },
}
SPEC = {
    "serviceAccountName": "web",
    "automountServiceAccountToken": False,
    "activeDeadlineSeconds": 600,
    "containers": [WEB, {"name": "agent", "image": "agent:1", "resources": {"limits": {"memory": "64Mi"}}}],
    "initContainers": [
        {"name": "prepare", "image": "prepare:1"},
        {"name": "proxy", "image": "proxy:1", "restartPolicy": "Always", "readinessProbe": {"grpc": {"port": 9000}}},
    ],
    "volumes": [
        {"name": "data", "emptyDir": {"sizeLimit": "1Gi"}},
        {"name": "config", "configMap": {"name": "web", "items": [{"key": "a", "path": "b/a"}]}},
        {"name": "claim", "persistentVolumeClaim": {"claimName": "web"}},
        {"name": "host", "hostPath": {"path": "/var/log"}},
        {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
    ],
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "hostname": "web",
    "subdomain": "web",
    "imagePullSecrets": [{"name": "registry"}],
    "priorityClassName": "high",
    "runtimeClassName": "gvisor",
    "preemptionPolicy": "Never",
    "shareProcessNamespace": True,
    "securityContext": {"fsGroup": 1000, "runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}],
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
            ]
        }
    },
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"a": "b"}}}
    ],
}  # fmt: skip

# What may stand in place of a value of the same type.
ODD: dict[type, tuple[Any, ...]] = {
    str: (
        "",
        "A_b",
        "-x",
        "x" * 300,
        "..",
        "/x",
        "a/b/c",
        "0",
        "-1",
        "2Ti",
        "1.5",
        "Always",
        "None",
        "http",
        "agent",
        "data",
        " x",
        "ü",
    ),
    int: (-1, 0, 1, 65535, 65536, 2**31),
    bool: (True, False),
    list: ([],),
    dict: ({},),
}
# Members that a pod may have, and that are seen too seldom to be looked at quickly.
SELDOM: dict[str, Any] = {
    "hostNetwork": True,
    "hostPID": True,
    "hostIPC": True,
    "hostUsers": False,
    "os": {"name": "windows"},
    "dnsPolicy": "None",
    "dnsConfig": {"nameservers": ["1.2.3"]},
    "readinessGates": [{"conditionType": "a b"}],
    "schedulingGates": [{"name": "a"}, {"name": "a"}],
    "hostAliases": [{"ip": "x"}],
    "overhead": {"cpu": "-1"},
    "resourceClaims": [{"name": "a"}],
    "resources": {"limits": {"cpu": "1m"}},
    "hostnameOverride": "A",
    "ephemeralContainers": [{"name": "web", "image": "a"}],
    "schedulingGroup": {},
}
SELDOM_IN_CONTAINERS: dict[str, Any] = {
    "restartPolicy": "Sometimes",
    "restartPolicyRules": [{"action": "Restart"}],
    "resizePolicy": [{"resourceName": "disk", "restartPolicy": "NotRequired"}],
    "volumeDevices": [{"name": "data", "devicePath": "/data"}],
    "lifecycle": {"stopSignal": "SIGTERM"},
    "securityContext": {"windowsOptions": {"hostProcess": True}},
    "livenessProbe": {"exec": {"command": ["a"]}, "grpc": {"port": 1}, "successThreshold": 1},
    "readinessProbe": {"exec": {"command": ["a"]}, "terminationGracePeriodSeconds": 1},
}


def defaulted(spec: dict[str, Any]) -> dict[str, Any]:
    node = schema.for_kind(POD)
    assert node is not None
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": copy.deepcopy(spec)}
    made: dict[str, Any] = defaults.apply(POD, decoding.normalise(node, pod).object)["spec"]
    return made


def errors(spec: dict[str, Any], *, is_pod: bool = True) -> list[str]:
    return [str(error) for error in pods.every_rule(spec, AT, Context(), pod="p" if is_pod else "", is_pod=is_pod)]


def variants(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Each place of a value with something odd in it; LEFT_OUT where a member is to go."""
    for odd in ODD.get(value.__class__, ()):
        if odd != value:
            yield path, odd
    if isinstance(value, dict):
        for key, member in value.items():
            yield (*path, key), LEFT_OUT
            yield from variants(member, (*path, key))
    elif isinstance(value, list):
        yield path, [*value, *value[:1]]
        for index, item in enumerate(value):
            yield from variants(item, (*path, index))


LEFT_OUT = object()


def changed(spec: dict[str, Any], path: tuple[Any, ...], odd: Any) -> dict[str, Any]:
    made = copy.deepcopy(spec)
    holder: Any = made
    for step in path[:-1]:
        holder = holder[step]
    if odd is LEFT_OUT:
        del holder[path[-1]]
    else:
        holder[path[-1]] = odd
    return made


def test_an_ordinary_pod_needs_no_rules() -> None:
    spec = defaulted(SPEC)
    assert errors(spec) == []
    assert soundness.is_sound(spec)


def test_what_looks_sound_is_sound_whatever_is_changed() -> None:
    spec = defaulted(SPEC)
    looked_sound = 0
    for path, odd in variants(spec):
        if path:
            pod = changed(spec, path, odd)
            if soundness.is_sound(pod):
                looked_sound += 1
                assert errors(pod) == [], (path, odd)
    assert looked_sound > 500


@pytest.mark.parametrize("member", SELDOM)
def test_seldom_members_of_pods_are_left_to_the_rules(member: str) -> None:
    assert not soundness.is_sound({**defaulted(SPEC), member: SELDOM[member]})


@pytest.mark.parametrize("member", SELDOM_IN_CONTAINERS)
def test_seldom_members_of_containers_are_left_to_the_rules(member: str) -> None:
    spec = defaulted(SPEC)
    container = {**spec["containers"][0], member: SELDOM_IN_CONTAINERS[member]}
    assert errors({**spec, "containers": [container]}) != []
    assert not soundness.is_sound({**spec, "containers": [container]})


def test_privileged_containers_are_sound_where_the_server_allows_them() -> None:
    spec = defaulted({"containers": [{"name": "a", "image": "a", "securityContext": {"privileged": True}}]})
    assert not soundness.is_sound(spec)
    assert soundness.is_sound(spec, allow_privileged=True)


def test_what_looks_sound_was_not_refused_by_the_server() -> None:
    looked_at = 0
    for name in ("pods", "workloads"):
        for line in (HERE / "refused" / f"{name}.jsonl").read_text().splitlines():
            row = json.loads(line)
            for spec, is_pod in _specs(row.get("create") or {}):
                looked_at += 1
                assert not soundness.is_sound(spec) or errors(spec, is_pod=is_pod) == [], line
    assert looked_at > 200


def _specs(value: dict[str, Any]) -> Iterator[tuple[dict[str, Any], bool]]:
    spec = value.get("spec") or {}
    if value.get("kind") == "Pod":
        yield defaulted(spec), True
    elif isinstance((spec.get("template") or {}).get("spec"), dict):
        yield defaulted(spec["template"]["spec"]), False
