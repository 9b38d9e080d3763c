"""Warnings about pods and what makes them: what is in the spec decides, and each text names its place."""

from typing import Any

import pytest
from tests.kinds.test_soundness import SELDOM, SPEC, changed, defaulted, variants

from kadmit.api.meta import GroupVersionKind
from kadmit.cel.library import names
from kadmit.kinds import podwarnings
from kadmit.kinds.decoding import DecodeError

POD = GroupVersionKind("", "v1", "Pod")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
NO_SELECTOR = "a null labelSelector results in matching no pod"
REQUIRED, PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"

OLD_LABEL = "app.kubernetes.io/created-by"
TERM = f"spec.affinity.nodeAffinity.{PREFERRED}[0].preference.matchExpressions[0]"
(NOT_A_VALUE,) = names.label_value("a b")
NOT_WHOLE = "is invalid, must be an integer"
CLAIM = "spec.volumes[0].ephemeral.volumeClaimTemplate.spec"
PORTS = "spec.containers[0].ports"
SHOWN = "{Name: HostPort:0 ContainerPort:81 Protocol:TCP HostIP:1.1.1.1}"
NEGATIVE = "must be >= 0; negative values are invalid and will be treated as 1"
BY_NAME = "services and probes that select ports by name will use"


def pod(spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i"}]
    return {"metadata": {"name": "p", **metadata}, "spec": {"containers": containers, **(spec or {})}}


def container(**fields: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "i", **fields}]}


def volumes(**sources: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "v", **sources}]}


def files(*paths: str) -> dict[str, Any]:
    return {"items": [{"key": "k", "path": p} for p in paths]}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({}, []),
        (
            {"nodeSelector": {"beta.kubernetes.io/os": "linux"}},
            ['spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'],
        ),
        (
            {
                "affinity": {
                    "nodeAffinity": {
                        PREFERRED: [{"preference": {"matchExpressions": [{"key": OLD_LABEL, "values": ["ok", "a b"]}]}}]
                    }
                }
            },
            [
                f"{TERM}.key: {OLD_LABEL} is deprecated since v1.9",
                f"{TERM}.values[1]: a b is invalid, {NOT_A_VALUE}",
            ],
        ),
        (
            {"affinity": {"podAffinity": {REQUIRED: [{}]}, "podAntiAffinity": {PREFERRED: [{"podAffinityTerm": {}}]}}},
            [
                f"spec.affinity.podAffinity.{REQUIRED}[0].labelSelector: {NO_SELECTOR}",
                f"spec.affinity.podAntiAffinity.{PREFERRED}[0].podAffinityTerm.labelSelector: {NO_SELECTOR}",
            ],
        ),
        (
            {"topologySpreadConstraints": [{"topologyKey": "a", "labelSelector": {}}, {"topologyKey": "a"}]},
            [f"spec.topologySpreadConstraints[1].labelSelector: {NO_SELECTOR}"],
        ),
        (
            {"hostAliases": [{"ip": "1.1.1.1"}, {"ip": "1.1.1.1"}]},
            ['spec.hostAliases[1].ip: duplicate ip "1.1.1.1"'],
        ),
        (
            {"imagePullSecrets": [{"name": "a"}, {"name": "a"}, {}]},
            [
                'spec.imagePullSecrets[1].name: duplicate name "a"',
                'spec.imagePullSecrets[2].name: invalid empty name ""',
            ],
        ),
        (
            {"hostAliases": [{"ip": "010.0.0.1"}, {"ip": "::ffff:1.2.3.4"}, {"ip": "2001:DB8::1"}, {"ip": "2001:db8::2"}]},
            [
                'spec.hostAliases[0].ip: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"',
                'spec.hostAliases[1].ip: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4"',
                'spec.hostAliases[2].ip: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")',
            ],
        ),
        (
            {"terminationGracePeriodSeconds": -1},
            ["spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"],
        ),
        (volumes(storageos={}), ["spec.volumes[0].storageOS: deprecated in v1.22, non-functional in v1.25+"]),
        (volumes(gitRepo={}), ["spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"]),
        (
            volumes(ephemeral={"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "1500m"}}}}}),
            [f'{CLAIM}.resources.requests[storage]: fractional byte value "1500m" {NOT_WHOLE}'],
        ),
        (
            volumes(configMap={"name": "m", **files("a", "a/b", "ab")}),
            ['volume "v" (ConfigMap "m"): overlapping paths: "a/b" with "a"'],
        ),
        (volumes(secret={"secretName": "s", **files("a/", "a")}), ['volume "v" (Secret "s"): overlapping paths: "a" with "a"']),
        (
            volumes(projected={"sources": [{}, {"secret": {"name": "s", **files("t")}}, {"serviceAccountToken": {"path": "t"}}]}),
            [
                'volume "v" (Projected) has no sources provided',
                'volume "v" (Projected): overlapping paths: "t" (ServiceAccountToken) with "t" (Secret "s")',
            ],
        ),
        (
            container(resources={"limits": {"memory": "100m", "cpu": "100m"}}),
            ['spec.containers[0].resources.limits[memory]: fractional byte value "100m" is invalid, must be an integer'],
        ),
        (
            container(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2"}, {"name": "A", "value": "3"}]),
            ['spec.containers[0].env[2]: hides previous definition of "A", which may be dropped when using apply'],
        ),
        (
            container(ports=[{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 80, "protocol": "TCP", "hostPort": 8}]),
            ["spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]"],
        ),
        (
            container(
                ports=[
                    {"containerPort": 80, "protocol": "TCP", "hostPort": 8, "hostIP": "1.1.1.1"},
                    {"containerPort": 80, "protocol": "TCP", "hostPort": 8},
                    {"containerPort": 81, "protocol": "TCP", "hostIP": "1.1.1.1"},
                ]
            ),
            [
                f"{PORTS}[1]: dangerously ambiguous port definition with {PORTS}[0]",
                f"{PORTS}[2]: hostIP set without hostPort: {SHOWN}",
            ],
        ),
        (
            container(ports=[{"name": "a", "containerPort": 1}, {"name": "a", "containerPort": 2}]),
            [
                f'{PORTS}[1]: duplicate port name "a" with {PORTS}[0], {BY_NAME} {PORTS}[0]',
            ],
        ),
    ],
)
def test_a_new_pod_is_warned_of_what_its_spec_holds(spec: dict[str, Any], told: list[str]) -> None:
    assert podwarnings.warnings(POD, pod(spec)) == told


def test_annotations_without_effect_are_named() -> None:
    annotations = {
        "scheduler.alpha.kubernetes.io/critical-pod": "",
        "seccomp.security.alpha.kubernetes.io/pod": "x",
        "container.seccomp.security.alpha.kubernetes.io/c": "x",
    }
    critical = 'non-functional in v1.16+; use the "priorityClassName" field instead'
    seccomp = 'non-functional in v1.27+; use the "seccompProfile" field instead'
    assert podwarnings.warnings(POD, pod(annotations=annotations)) == [
        f"metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: {critical}",
        f"metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: {seccomp}",
        f"metadata.annotations[container.seccomp.security.alpha.kubernetes.io/c]: {seccomp}",
    ]


def test_only_templates_are_warned_of_apparmor_annotations() -> None:
    annotated = pod(annotations={"container.apparmor.security.beta.kubernetes.io/c": "unconfined"})
    agreed = pod({"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}, **annotated["metadata"])
    key = "spec.template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]"
    assert podwarnings.warnings(POD, annotated) == []
    assert podwarnings.warnings(DEPLOYMENT, workload(annotated)) == [
        f'{key}: deprecated since v1.30; use the "appArmorProfile" field instead'
    ]
    assert podwarnings.warnings(DEPLOYMENT, workload(agreed)) == []


def workload(template: dict[str, Any], *, generation: int = 1, name: str = "w") -> dict[str, Any]:
    return {"metadata": {"name": name, "generation": generation}, "spec": {"template": template}}


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (POD, "this is used in the Pod's hostname"),
        (DEPLOYMENT, "this is used in Pod names and hostnames"),
        (GroupVersionKind("batch", "v1", "CronJob"), "this is used in Pod names and hostnames"),
        (GroupVersionKind("apps", "v1", "DaemonSet"), ""),
        (GroupVersionKind("", "v1", "ConfigMap"), ""),
    ],
)
def test_a_dot_in_a_name_that_pods_take_over_is_warned_of(kind: GroupVersionKind, words: str) -> None:
    rest = "which can result in surprising behavior; a DNS label is recommended: [must not contain dots]"
    told = [f"metadata.name: {words}, {rest}"] if words else []
    assert podwarnings.warnings(kind, {"metadata": {"name": "a.b"}, "spec": {}}) == told


def test_a_changed_workload_is_warned_of_its_template_but_a_changed_pod_is_not() -> None:
    bad = pod({"terminationGracePeriodSeconds": -1})
    told = [
        "spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
    ]
    assert podwarnings.warnings(DEPLOYMENT, workload(bad, generation=2), workload(pod())) == told
    assert podwarnings.warnings(DEPLOYMENT, workload(bad), workload(bad)) == []
    assert podwarnings.warnings(POD, bad, pod()) == []


def test_a_changed_replication_controller_is_warned_of_what_it_was() -> None:
    controller = GroupVersionKind("", "v1", "ReplicationController")
    bad = pod({"terminationGracePeriodSeconds": -1})
    assert podwarnings.warnings(controller, workload(bad, generation=2), workload(pod())) == []
    assert len(podwarnings.warnings(controller, workload(pod(), generation=2), workload(bad))) == 1


def test_a_stateful_set_is_warned_of_its_claims_and_history() -> None:
    kind = GroupVersionKind("apps", "v1", "StatefulSet")
    claims = [{"spec": {"resources": {"requests": {"storage": "1m"}}}}]
    value = {"metadata": {"name": "s"}, "spec": {"volumeClaimTemplates": claims, "revisionHistoryLimit": -1}}
    history = "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
    part = 'resources.requests[storage]: fractional byte value "1m" is invalid, must be an integer'
    assert podwarnings.warnings(kind, value) == [f"spec.volumeClaimTemplates[0].{part}", history]
    # NB: on an update the place has a word more, in capitals.
    assert podwarnings.warnings(kind, value, value) == [f"spec.volumeClaimTemplates[0].Spec.{part}", history]


# ---------------------------------------------------------------- the quick look

_SELDOM_QUIET = ("affinity", "imagePullSecrets", "nodeSelector", "runtimeClassName", "shareProcessNamespace", "subdomain")
QUIET = {key: part for key, part in SPEC.items() if key not in (*_SELDOM_QUIET, "topologySpreadConstraints", "volumes")}
QUIET["volumes"] = [{"name": "data", "emptyDir": {}}, {"name": "config", "configMap": {"name": "web"}}]


def test_an_ordinary_pod_is_not_looked_at_twice() -> None:
    assert podwarnings.is_quiet({"metadata": {"name": "p"}, "spec": defaulted(QUIET)})


def test_the_quick_look_overlooks_nothing() -> None:
    specs = [changed(base, path, odd) for base in (SPEC, QUIET) for path, odd in variants(base) if path]
    specs += [{**QUIET, member: value} for member, value in SELDOM.items()]
    quiet = 0
    for spec in specs:
        try:
            made = {"metadata": {"name": "p"}, "spec": defaulted(spec)}
        except DecodeError:
            continue
        if podwarnings.is_quiet(made):
            quiet += 1
            assert podwarnings.of_pod(made) == []
    assert quiet > 100


@pytest.mark.parametrize("name", ["a.b", "A", "", "x" * 64])
def test_a_name_that_is_no_label_is_never_quiet(name: str) -> None:
    assert not podwarnings.is_quiet(pod(name=name))
