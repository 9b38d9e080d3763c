"""What policies cost a request: a Pod of three containers through the mutating half of the chain, in process, without HTTP.

    python bench/admission.py

Units are one `orjson.loads` of the same Pod, measured in the same run, so that a slow or busy machine changes little. Every
subject takes turns with the others and its best round counts. Exit code 1: a target was missed. The policies that
are judged set a label, as most do; those that add a container show what a new container's defaults cost, and are only shown.
"""

import functools
import itertools
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from kadmit.admission import chain
from kadmit.admission.outcome import Record
from kadmit.admission.snapshot import Configuration, Snapshot, build
from kadmit.api.meta import GroupVersionKind
from kadmit.authoring.cluster import ADMIN, Cluster, nobody_answers
from kadmit.matching.attributes import CREATE, Attributes

ROUNDS = 150
SECONDS_A_ROUND = 0.01
COUNTS = (1, 10, 100)
SIDECAR_COUNTS = (1, 10)
UNRELATED = 1000
WANTED = {"JSONPatch": 6.0, "ApplyConfiguration": 9.0}  # loads of the Pod, a policy
WANTED_UNRELATED = 5.0  # percent

Json = dict[str, Any]
PODS = [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]
CONFIG_MAPS = [{**PODS[0], "resources": ["configmaps"]}]


# ---------------------------------------------------------------- the request


def pod() -> Json:
    """Three containers as people write them; the cluster fills in the rest."""
    probe = {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10}
    containers = [
        {
            "name": name,
            "image": f"registry.example.com/team/{name}:v1.2.3",
            "args": ["--verbose", "--port=8080"],
            "env": [{"name": f"VARIABLE_{number}", "value": f"value-{number}"} for number in range(6)],
            "ports": [{"containerPort": 8080, "name": "http"}],
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "config", "mountPath": "/etc/app"}],
            "livenessProbe": probe,
            "readinessProbe": probe,
        }
        for name in ("web", "sidecar", "agent")
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web", "tier": "front"}},
        "spec": {
            "containers": containers,
            "volumes": [{"name": "data", "emptyDir": {}}, {"name": "config", "configMap": {"name": "web"}}],
        },
    }


def attributes(cluster: Cluster) -> Attributes:
    """The create of that Pod, decoded and defaulted, as it reaches admission."""
    target = cluster.target(pod())
    body = cluster.known.decode(GroupVersionKind("", "v1", "Pod"), orjson.dumps(pod())).object
    return Attributes(target.kind, target.gvr, CREATE, name="web", namespace="default", object=body, user=ADMIN)


# ---------------------------------------------------------------- the policies


def json_patch(number: int) -> Json:
    """One label."""
    path = f'"/metadata/labels/" + jsonpatch.escapeKey("example.com/patch-{number}")'
    return _patching(f'[JSONPatch{{op: "add", path: {path}, value: "yes"}}]')


def apply_configuration(number: int) -> Json:
    return _merging(f'Object{{metadata: Object.metadata{{labels: {{"example.com/apply-{number}": "yes"}}}}}}')


def patched_sidecar(number: int) -> Json:
    """A container, which then gets the defaults of a container."""
    sidecar = f'Object.spec.containers{{name: "sidecar-{number}", image: "sidecar:1"}}'
    return _patching(f'[JSONPatch{{op: "add", path: "/spec/containers/-", value: {sidecar}}}]')


def merged_sidecar(number: int) -> Json:
    sidecar = f'Object.spec.containers{{name: "sidecar-{number}", image: "sidecar:1"}}'
    return _merging(f"Object{{spec: Object.spec{{containers: [{sidecar}]}}}}")


def _patching(expression: str) -> Json:
    return {
        "matchConditions": [{"name": "front", "expression": "object.metadata.labels['tier'] == 'front'"}],
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}],
    }


def _merging(expression: str) -> Json:
    return {"mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}]}


MAKERS = {"JSONPatch": json_patch, "ApplyConfiguration": apply_configuration}
SIDECAR = ", a container"
SIDECARS = {"JSONPatch": patched_sidecar, "ApplyConfiguration": merged_sidecar}


def snapshot(specs: Sequence[Json], rules: Sequence[Json] = PODS) -> Snapshot:
    """Each spec a policy with a binding."""
    constraints = {"resourceRules": rules, "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
    common = {"failurePolicy": "Fail", "reinvocationPolicy": "Never", "matchConstraints": constraints}
    names = [f"policy-{number:04d}" for number in range(len(specs))]
    return build(
        Configuration(
            mutating_policies=[
                {"metadata": {"name": name}, "spec": {**common, **spec}} for name, spec in zip(names, specs, strict=True)
            ],
            mutating_bindings=[{"metadata": {"name": name}, "spec": {"policyName": name}} for name in names],
        )
    )


def unrelated() -> Snapshot:
    return snapshot([json_patch(number) for number in range(UNRELATED)], CONFIG_MAPS)


# ---------------------------------------------------------------- measuring


def admit(cluster: Cluster, given: Snapshot, request: Attributes) -> Attributes:
    """One request through the mutating half."""
    world = cluster.state.world(cluster.authorizer)
    return chain.drive(chain.mutate(given, request, world, Record()), nobody_answers)


def microseconds(subjects: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The best round of each, in µs a call; the rounds of all take turns. NB: the very first call looks at all policies once."""
    for subject in subjects.values():
        subject()
    calls = {name: max(1, int(SECONDS_A_ROUND / _seconds(subject, 3))) for name, subject in subjects.items()}
    best = dict.fromkeys(subjects, float("inf"))
    for _ in range(ROUNDS):
        for name, subject in subjects.items():
            best[name] = min(best[name], _seconds(subject, calls[name]) * 1e6)
    return best


def _seconds(subject: Callable[[], object], calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        subject()
    return max(time.process_time() - start, 1e-9) / calls


def subjects(cluster: Cluster, request: Attributes) -> dict[str, Callable[[], object]]:
    text = orjson.dumps(request.object)
    run = functools.partial(functools.partial, admit, cluster)
    made: dict[str, Callable[[], object]] = {"orjson.loads": functools.partial(orjson.loads, text)}
    made["no policy"] = run(snapshot([]), request)
    made[f"{UNRELATED} unrelated"] = run(unrelated(), request)
    for what, makers, counts in (("", MAKERS, COUNTS), (SIDECAR, SIDECARS, SIDECAR_COUNTS)):
        for (patch_type, make), count in itertools.product(makers.items(), counts):
            given = snapshot([make(number) for number in range(count)])
            assert _size(admit(cluster, given, request)) == _size(request) + count
            made[f"{count} {patch_type}{what}"] = run(given, request)
    return made


def _size(request: Attributes) -> int:
    """Labels and containers together."""
    assert request.object is not None
    return len(request.object["metadata"]["labels"]) + len(request.object["spec"]["containers"])


def report(times: dict[str, float]) -> bool:
    """Print every time; whether all targets are met."""
    unit, nothing = times["orjson.loads"], times["no policy"]
    print(f"{'orjson.loads of the Pod':<34} {unit:9.1f} µs")
    print(f"{'no policy':<34} {nothing:9.1f} µs")
    name = f"{UNRELATED} unrelated"
    percent = (times[name] / nothing - 1) * 100
    met = [_line(name, times[name], f"{percent:+8.1f} %", percent < WANTED_UNRELATED, f"< {WANTED_UNRELATED:g} %")]
    for name in list(times)[len(met) + 2 :]:
        number, patch_type = name.partition(",")[0].split()
        each, wanted = (times[name] - nothing) / int(number) / unit, WANTED[patch_type]
        shown = f"{each * unit:8.1f} µs each = {each:5.2f} loads"
        if name.endswith(SIDECAR):
            print(f"{name:<34} {times[name]:9.1f} µs  {shown}")
        else:
            met.append(_line(name, times[name], shown, each <= wanted, f"at most {wanted:g}"))
    return all(met)


def _line(name: str, total: float, shown: str, met: bool, wanted: str) -> bool:
    print(f"{name:<34} {total:9.1f} µs  {shown}   ({'' if met else 'MISSED: '}{wanted})")
    return met


def main() -> int:
    cluster = Cluster()
    cluster.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})
    request = attributes(cluster)
    print(f"Pod of {len(orjson.dumps(request.object)) / 1000:.1f} KB")
    return 0 if report(microseconds(subjects(cluster, request))) else 1


if __name__ == "__main__":
    sys.exit(main())
