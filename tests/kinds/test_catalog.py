"""Which kinds there are, by which names, and which of them are the same thing."""

import timeit

import pytest

from kadmit.kinds import catalog, schema, table
from kadmit.kinds.catalog import Catalog, Resource

WIDGETS = {
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]},
        "versions": [
            {"name": "v1alpha1", "served": True},
            {"name": "v1", "served": True, "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas"}}},
            {"name": "v2beta1", "served": True},
            {"name": "v3", "served": False},
        ],
    }
}


@pytest.fixture
def builtin() -> Catalog:
    return catalog.builtin()


def found(resource: Resource | None) -> Resource:
    assert resource is not None
    return resource


def test_a_resource_is_found_by_plural_and_by_kind(builtin: Catalog) -> None:
    deployments = found(builtin.resource("apps", "v1", "deployments"))
    assert deployments is builtin.kind("apps", "v1", "Deployment")
    assert (deployments.singular, deployments.short_names, deployments.categories) == ("deployment", ("deploy",), ("all",))
    assert deployments.namespaced
    assert deployments.api_version == "apps/v1"
    assert "deletecollection" in deployments.verbs


def test_subresources_know_their_kinds(builtin: Catalog) -> None:
    pods = found(builtin.resource("", "v1", "pods"))
    assert pods.kind_of() == ("", "v1", "Pod")
    assert pods.kind_of("status") == ("", "v1", "Pod")
    assert pods.kind_of("eviction") == ("policy", "v1", "Eviction")
    assert pods.kind_of("binding") == ("", "v1", "Binding")
    assert pods.kind_of("exec") == ("", "v1", "PodExecOptions")
    assert pods.kind_of("scale") is None
    assert found(builtin.resource("apps", "v1", "deployments")).kind_of("scale") == ("autoscaling", "v1", "Scale")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("po", ["v1 pods"]),
        ("Pod", ["v1 pods"]),
        ("deployments.apps", ["apps/v1 deployments"]),
        ("deployments.v1.apps", ["apps/v1 deployments"]),
        ("deployments.batch", []),
        ("ev", ["v1 events", "events.k8s.io/v1 events"]),
        ("events.events.k8s.io", ["events.k8s.io/v1 events"]),
        ("hpa", ["autoscaling/v2 horizontalpodautoscalers", "autoscaling/v1 horizontalpodautoscalers"]),
        ("nothing", []),
    ],
)
def test_users_name_resources_in_many_ways(builtin: Catalog, name: str, expected: list[str]) -> None:
    assert [f"{resource.api_version} {resource.plural}" for resource in builtin.named(name)] == expected


@pytest.mark.parametrize(
    ("gvr", "subresource", "expected"),
    [
        (("", "v1", "events"), "", ["v1", "events.k8s.io/v1"]),
        (("events.k8s.io", "v1", "events"), "", ["v1", "events.k8s.io/v1"]),
        (("autoscaling", "v1", "horizontalpodautoscalers"), "status", ["autoscaling/v2", "autoscaling/v1"]),
        (("", "v1", "pods"), "", ["v1"]),
        (("", "v1", "pods"), "nothing", []),
    ],
)
def test_versions_of_a_resource_are_equivalent(builtin: Catalog, gvr: catalog.Gvr, subresource: str, expected: list[str]) -> None:
    resource = found(builtin.resource(*gvr))
    assert [other.api_version for other in builtin.equivalents(resource, subresource)] == expected


def test_every_served_kind_has_a_schema(builtin: Catalog) -> None:
    assert len(builtin) == 72
    assert [resource for resource in builtin if schema.for_kind(resource.gvk) is None] == []


def test_loading_takes_less_than_twenty_milliseconds() -> None:
    def load() -> None:
        for cached in (table._lines, table._head, catalog.builtin):
            cached.cache_clear()
        catalog.builtin()

    assert min(timeit.repeat(load, number=1, repeat=5)) < 0.020


def test_a_crd_adds_its_served_versions(builtin: Catalog) -> None:
    larger = builtin.with_crds([WIDGETS])
    assert len(larger) == len(builtin) + 3
    assert builtin.resource("example.com", "v1", "widgets") is None
    widgets = found(larger.resource("example.com", "v1", "widgets"))
    assert (widgets.singular, widgets.list_kind, widgets.custom) == ("widget", "WidgetList", True)
    assert widgets.kind_of("status") == ("example.com", "v1", "Widget")
    assert widgets.kind_of("scale") == ("autoscaling", "v1", "Scale")
    assert larger.resource("example.com", "v3", "widgets") is None
    assert [resource.version for resource in larger.versions("example.com", "Widget")] == ["v1", "v2beta1", "v1alpha1"]
    assert [resource.version for resource in larger.named("wd")] == ["v1", "v2beta1", "v1alpha1"]


def test_rules_may_name_versions_that_a_crd_no_longer_serves(builtin: Catalog) -> None:
    larger = builtin.with_crds([WIDGETS])
    widgets = found(larger.resource("example.com", "v1", "widgets"))
    assert [other.version for other in larger.equivalents(widgets)] == ["v1alpha1", "v1", "v2beta1", "v3"]
    assert [other.version for other in larger.equivalents(widgets, "status")] == ["v1"]


def test_a_crd_cannot_take_a_name_that_is_taken(builtin: Catalog) -> None:
    names = {"plural": "deployments", "kind": "Deployment"}
    taken = {"spec": {"group": "apps", "scope": "Cluster", "names": names, "versions": [{"name": "v1", "served": True}]}}
    assert builtin.with_crds([taken]) is builtin


def test_versions_sort_as_kubernetes_prefers_them() -> None:
    names = ["foo1", "v1alpha1", "v10beta3", "v2", "v11alpha2", "v3beta1", "v10", "foo10", "v1", "v11beta2", "v12alpha1"]
    assert sorted(names, key=catalog.version_priority) == [
        "v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "v1alpha1", "foo1", "foo10",
    ]  # fmt: skip
