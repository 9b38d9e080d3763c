"""Selectors of objects: what has no labels, and what cannot have any."""

import pytest

from kadmit.api.meta import GroupVersionKind, GroupVersionResource
from kadmit.matching.attributes import CONNECT, CREATE, Attributes, Json
from kadmit.matching.criteria import compile_webhook_criteria

PODS = GroupVersionResource("", "v1", "pods")
ABSENT = {"matchExpressions": [{"key": "watch", "operator": "DoesNotExist"}]}
POD: Json = {"kind": "Pod", "metadata": {"name": "web"}}
OPTIONS: Json = {"kind": "PodExecOptions", "command": ["ls"]}


@pytest.mark.parametrize(
    ("operation", "value", "selector", "matches"),
    [
        (CREATE, POD, ABSENT, True),
        (CREATE, POD, {}, True),
        (CONNECT, OPTIONS, ABSENT, False),
        (CONNECT, OPTIONS, {}, True),
    ],
)
def test_no_selector_but_an_empty_one_selects_options_of_a_connect(
    operation: str, value: Json, selector: Json, matches: bool
) -> None:
    criteria = compile_webhook_criteria({"objectSelector": selector})
    asked = Attributes(GroupVersionKind("", "v1", value["kind"]), PODS, operation, name="web", object=value)
    assert criteria.object_matches(asked) is matches
