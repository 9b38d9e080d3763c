"""Python's clients, unmodified: the generated `kubernetes` and the typed `lightkube`."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import kubernetes
import pytest
from kubernetes.client.exceptions import ApiException
from lightkube import ApiError, Client, KubeConfig
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.apps_v1 import DeploymentSpec
from lightkube.models.core_v1 import Container, PodSpec, PodTemplateSpec
from lightkube.models.meta_v1 import LabelSelector, ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap
from lightkube.types import PatchType

from kadmit.testing import Server

SECONDS = 30  # a watch that has nothing more to tell ends by itself

# ---------------------------------------------------------------- kubernetes


@pytest.fixture(scope="module")
def api(server: Server) -> Iterator[kubernetes.client.ApiClient]:
    with kubernetes.config.new_client_from_config(str(server.kubeconfig)) as client:
        yield client


def configmap(name: str, **data: str) -> kubernetes.client.V1ConfigMap:
    return kubernetes.client.V1ConfigMap(metadata=kubernetes.client.V1ObjectMeta(name=name), data=data)


def test_kubernetes_creates_reads_changes_and_deletes(api: kubernetes.client.ApiClient, namespace: str) -> None:
    core = kubernetes.client.CoreV1Api(api)
    made = core.create_namespaced_config_map(namespace, configmap("a", x="1"))
    assert made.metadata.uid
    made.data["y"] = "2"
    replaced = core.replace_namespaced_config_map("a", namespace, made)
    assert replaced.metadata.resource_version != made.metadata.resource_version
    core.patch_namespaced_config_map("a", namespace, {"data": {"x": None}})
    assert core.read_namespaced_config_map("a", namespace).data == {"y": "2"}
    assert [each.metadata.name for each in core.list_namespaced_config_map(namespace).items] == ["a"]
    core.delete_namespaced_config_map("a", namespace)
    with pytest.raises(ApiException) as refused:
        core.read_namespaced_config_map("a", namespace)
    assert (refused.value.status, refused.value.reason) == (404, "Not Found")


def test_kubernetes_is_told_of_a_conflict(api: kubernetes.client.ApiClient, namespace: str) -> None:
    core = kubernetes.client.CoreV1Api(api)
    old = core.create_namespaced_config_map(namespace, configmap("a"))
    core.patch_namespaced_config_map("a", namespace, {"data": {"x": "1"}})
    with pytest.raises(ApiException) as refused:
        core.replace_namespaced_config_map("a", namespace, old)
    assert (refused.value.status, refused.value.reason) == (409, "Conflict")


def test_kubernetes_reads_long_lists_in_pages(api: kubernetes.client.ApiClient, namespace: str) -> None:
    core = kubernetes.client.CoreV1Api(api)
    for number in range(3):
        core.create_namespaced_config_map(namespace, configmap(f"c-{number}"))
    first = core.list_namespaced_config_map(namespace, limit=2)
    assert (len(first.items), first.metadata.remaining_item_count) == (2, 1)
    rest = core.list_namespaced_config_map(namespace, limit=2, _continue=first.metadata._continue)
    assert [each.metadata.name for each in rest.items] == ["c-2"]


def test_kubernetes_watches_from_where_a_list_ended(api: kubernetes.client.ApiClient, namespace: str) -> None:
    core = kubernetes.client.CoreV1Api(api)
    core.create_namespaced_config_map(namespace, configmap("before"))
    version = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, configmap("a"))
    core.patch_namespaced_config_map("a", namespace, {"data": {"x": "1"}})
    core.delete_namespaced_config_map("a", namespace)
    watch, seen = kubernetes.watch.Watch(), []
    events = watch.stream(
        core.list_namespaced_config_map, namespace, resource_version=version, allow_watch_bookmarks=True, timeout_seconds=SECONDS
    )
    for event in events:
        seen.append((event["type"], event["object"].metadata.name))
        if event["type"] == "DELETED":
            watch.stop()
    assert seen == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


def test_kubernetes_works_with_custom_objects(api: kubernetes.client.ApiClient, namespace: str, widgets: str) -> None:
    custom = kubernetes.client.CustomObjectsApi(api)
    where = (widgets, "v1", namespace, "widgets")
    widget = {"apiVersion": f"{widgets}/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 2}}
    made = custom.create_namespaced_custom_object(*where, widget)
    custom.patch_namespaced_custom_object(*where, "w", {"spec": {"size": 3}})
    custom.patch_namespaced_custom_object_status(*where, "w", {"status": {"ready": True}})
    live = custom.get_namespaced_custom_object(*where, "w")
    assert (live["spec"], live["status"], live["metadata"]["generation"]) == ({"size": 3}, {"ready": True}, 2)
    events = kubernetes.watch.Watch().stream(
        custom.list_namespaced_custom_object,
        *where,
        resource_version=made["metadata"]["resourceVersion"],
        timeout_seconds=SECONDS,
    )
    with closing(events):
        assert next(events)["object"]["spec"] == {"size": 3}
    with pytest.raises(ApiException) as refused:
        custom.patch_namespaced_custom_object(*where, "w", {"spec": {"size": 0}})
    assert refused.value.status == 422
    assert "should be greater than or equal to 1" in refused.value.body
    custom.delete_namespaced_custom_object(*where, "w")
    assert custom.list_namespaced_custom_object(*where)["items"] == []


def test_kubernetes_finds_resources_by_discovery(api: kubernetes.client.ApiClient, namespace: str, tmp_path: Path) -> None:
    dynamic = kubernetes.dynamic.DynamicClient(api, cache_file=str(tmp_path / "discovery"))
    deployments = dynamic.resources.get(api_version="apps/v1", kind="Deployment")
    assert deployments.get(namespace=namespace).items == []
    applied = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": namespace},
        "data": {"x": "1"},
    }
    configmaps = dynamic.resources.get(api_version="v1", kind="ConfigMap")
    made = configmaps.server_side_apply(applied, field_manager="test")
    assert [each.manager for each in made.metadata.managedFields] == ["test"]


# ---------------------------------------------------------------- lightkube


@pytest.fixture(scope="module")
def light(server: Server) -> Iterator[Client]:
    """NB: a watch of it that is given up keeps its connection until the client is closed."""
    with Client(config=KubeConfig.from_file(server.kubeconfig).get(), field_manager="lightkube") as client:
        yield client


def small(namespace: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace), data=data)


def test_lightkube_creates_reads_changes_and_deletes(light: Client, namespace: str) -> None:
    made = light.create(small(namespace, x="1"))
    assert made.data == {"x": "1"}
    made.data = {"x": "2"}
    assert light.replace(made).data == {"x": "2"}
    light.patch(ConfigMap, "a", {"data": {"y": "3"}}, namespace=namespace, patch_type=PatchType.MERGE)
    assert light.get(ConfigMap, "a", namespace=namespace).data == {"x": "2", "y": "3"}
    assert [each.data for each in light.list(ConfigMap, namespace=namespace)] == [{"x": "2", "y": "3"}]
    light.delete(ConfigMap, "a", namespace=namespace)
    with pytest.raises(ApiError) as refused:
        light.get(ConfigMap, "a", namespace=namespace)
    assert refused.value.status.code == 404


def test_lightkube_applies(light: Client, namespace: str) -> None:
    light.apply(small(namespace, x="1"))
    with pytest.raises(ApiError) as refused:
        light.apply(small(namespace, x="2"), field_manager="other")
    assert refused.value.status.code == 409
    assert light.apply(small(namespace, x="2"), field_manager="other", force=True).data == {"x": "2"}


def test_lightkube_watches(light: Client, namespace: str) -> None:
    version = light.create(small(namespace, x="1")).metadata
    assert version is not None
    light.patch(ConfigMap, "a", {"data": {"x": "2"}}, namespace=namespace)
    light.delete(ConfigMap, "a", namespace=namespace)
    events = light.watch(ConfigMap, namespace=namespace, resource_version=version.resourceVersion)
    assert [next(events)[0] for _ in range(2)] == ["MODIFIED", "DELETED"]


def test_lightkube_scales(light: Client, namespace: str) -> None:
    labels, containers = {"app": "web"}, [Container("main", image="nginx:1")]
    template = PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=PodSpec(containers))
    spec = DeploymentSpec(selector=LabelSelector(matchLabels=labels), template=template)
    light.create(Deployment(metadata=ObjectMeta(name="web", namespace=namespace), spec=spec))
    scale = light.get(Deployment.Scale, "web", namespace=namespace)
    assert scale.spec is not None
    assert scale.spec.replicas == 1
    scale.spec.replicas = 4
    light.replace(scale, "web", namespace=namespace)
    live = light.get(Deployment, "web", namespace=namespace)
    assert live.spec is not None
    assert live.spec.replicas == 4


def test_lightkube_works_with_custom_objects(light: Client, namespace: str, widgets: str) -> None:
    kind = create_namespaced_resource(widgets, "v1", "Widget", "widgets")
    light.create(kind(metadata=ObjectMeta(name="w", namespace=namespace), spec={"size": 2}))
    assert light.get(kind, "w", namespace=namespace).spec == {"size": 2}
