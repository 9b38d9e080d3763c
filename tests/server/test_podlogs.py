"""Logs of pods that no node runs."""

import pytest

from kadmit.api.errors import ApiError
from kadmit.kinds import catalog
from kadmit.matching.attributes import Json
from kadmit.resources.context import Target
from kadmit.server import podlogs

BAD = 'PodLogOptions "p" is invalid'


def target() -> Target:
    pods = catalog.builtin().resource("", "v1", "pods")
    assert pods is not None
    return Target(pods, "ns", "p", "log")


def pod(*names: str, node: str = "") -> Json:
    return {"metadata": {"name": "p"}, "spec": {"nodeName": node, "containers": [{"name": name} for name in names]}}


def test_a_pod_without_a_node_has_no_log() -> None:
    assert podlogs.read(target(), pod("a"), {}, is_node=False).status == 204


@pytest.mark.parametrize(
    ("value", "query", "expected"),
    [
        (pod("a"), {"container": ["b"]}, "container b is not valid for pod p"),
        (pod("a", "b"), {}, "a container name must be specified for pod p, choose one of: [a b]"),
        (pod("a", node="n"), {}, 'pods "n" not found'),
        (
            pod("a"),
            {"tailLines": ["-1"]},
            f"{BAD}: tailLines: Invalid value: -1: must be greater than or equal to 0",
        ),
        (pod("a"), {"tailLines": ["--5"]}, 'strconv.ParseInt: parsing "--5": invalid syntax'),
        (pod("a"), {"tailLines": ["9" * 5000]}, f'strconv.ParseInt: parsing "{"9" * 5000}": value out of range'),
        (pod("a"), {"limitBytes": ["0"]}, f"{BAD}: limitBytes: Invalid value: 0: must be greater than 0"),
    ],
)
def test_what_is_wrong_with_asking_for_a_log(value: Json, query: dict[str, list[str]], expected: str) -> None:
    with pytest.raises(ApiError) as refused:
        podlogs.read(target(), value, query, is_node=False)
    assert refused.value.status.message == expected
