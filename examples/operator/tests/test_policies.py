"""The policies, in a cluster that is in this process."""

from pathlib import Path
from typing import Any

import pytest
from shops import opening

from kadmit.testing import Cluster, assert_admitted, assert_denied, assert_patched, assert_unchanged

PROJECT = Path(__file__).parent.parent
OWNER = {"apiVersion": "example.com/v1", "kind": "Shop", "name": "bakery", "uid": "1"}


def shop(namespace: str = "market", **spec: Any) -> dict[str, Any]:
    metadata = {"name": "bakery", "namespace": namespace}
    return {"apiVersion": "example.com/v1", "kind": "Shop", "metadata": metadata, "spec": {"goods": "bread", **spec}}


@pytest.fixture
def cluster(kadmit_cluster: Cluster) -> Cluster:
    return kadmit_cluster.load(PROJECT / "manifests", PROJECT / "policies" / "team.yaml", PROJECT / "policies" / "counters.yaml")


def test_a_town_limits_the_counters_of_a_shop(cluster: Cluster) -> None:
    assert_admitted(cluster.create(shop(counters=3)))
    assert_denied(cluster.update(shop(counters=4)), message="this town allows 3 counters, not 4", code=422)
    assert_admitted(cluster.create(shop("meadow", counters=4)))


def test_what_a_shop_comes_to_belongs_to_the_team(cluster: Cluster) -> None:
    made = cluster.create(
        opening.deployment("bakery", "market", {"counters": 2}, OWNER), user="system:serviceaccount:shops:operator"
    )
    assert_patched(made, patch=[{"op": "add", "path": "/metadata/labels/team", "value": "traders"}])
    assert_unchanged(cluster.create(opening.deployment("bakery", "meadow", {}, OWNER)))
