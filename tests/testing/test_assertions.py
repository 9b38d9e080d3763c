"""Assertions say what differs, and tell the story."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from tests.testing.policies import Json

from kadmit.testing import Cluster, Result, assert_admitted, assert_denied, assert_patched, assert_unchanged

SENT: Json = {"data": {"x": "1"}, "list": [{"name": "a"}, {"name": "b"}]}
CHANGED: Json = {**SENT, "metadata": {"labels": {"app": "web"}}}
STATUS: Json = {"code": 422, "reason": "Invalid", "message": "no, because of this"}


def made(**fields: Any) -> Result:
    return Result("CREATE", "pod", "p", "default", teller=lambda: "THE STORY", **fields)


ADMITTED = made(object=CHANGED, before=SENT, warnings=("careful",), annotations={"policy/key": "value"})
AS_SENT = made(object=SENT, before=SENT)
REFUSED = made(status=STATUS, warnings=("careful",))
REMOTE = made(object=SENT)


@pytest.mark.parametrize(
    "check",
    [
        lambda: assert_admitted(ADMITTED),
        lambda: assert_admitted(ADMITTED, object={"data": {"x": "1"}}, warnings="careful", annotations={"policy/key": "value"}),
        lambda: assert_admitted(AS_SENT, warnings=[]),
        lambda: assert_denied(REFUSED, message="because", code=422, reason="Invalid", warnings=["careful"]),
        lambda: assert_denied(REFUSED, message=re.compile("^no, .* this$")),
        lambda: assert_patched(ADMITTED, object={"metadata": {"labels": {"app": "web"}}}),
        lambda: assert_patched(ADMITTED, patch=[{"op": "add", "path": "/metadata", "value": {"labels": {"app": "web"}}}]),
        lambda: assert_unchanged(AS_SENT),
    ],
)
def test_what_is_true_passes(check: Callable[[], None]) -> None:
    check()


@pytest.mark.parametrize(
    ("check", "told"),
    [
        (lambda: assert_admitted(REFUSED), "denied (422 Invalid): no, because of this"),
        (lambda: assert_admitted(ADMITTED, object={"data": {"x": "2"}}), 'data.x: expected "2", found "1"'),
        (lambda: assert_admitted(ADMITTED, warnings=()), "expected: []\n       got: ['careful']"),
        (lambda: assert_admitted(ADMITTED, annotations={"a/b": "c"}), '[a/b]: expected "c", found nothing'),
        (lambda: assert_admitted(made(), object={"a": 1}), "there is no object in the answer"),
        (lambda: assert_denied(ADMITTED), "admitted, and should have been denied"),
        (lambda: assert_denied(REFUSED, message="else"), "expected: else\n       got: no, because of this"),
        (lambda: assert_denied(REFUSED, code=403), "denied with code 422, expected 403"),
        (lambda: assert_denied(REFUSED, reason="Forbidden"), "denied with reason 'Invalid', expected 'Forbidden'"),
        (lambda: assert_denied(REFUSED, warnings=[]), "other warnings than expected"),
        (lambda: assert_patched(AS_SENT), "admitted as it was sent, and should have been changed"),
        (lambda: assert_patched(REFUSED), "denied (422 Invalid)"),
        (lambda: assert_patched(REMOTE), "only an in-process cluster knows the object without admission"),
        (lambda: assert_patched(ADMITTED, patch=[]), "expected: nothing\n       got: add /metadata {'labels': {'app': 'web'}}"),
        (lambda: assert_unchanged(ADMITTED), "changed, and should not have been: add /metadata"),
        (lambda: assert_unchanged(REFUSED), "denied (422 Invalid)"),
    ],
)
def test_what_is_not_true_is_told_with_the_story(check: Callable[[], None], told: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check()
    assert str(caught.value).startswith("CREATE pod/p in default: ")
    assert told in str(caught.value)
    assert str(caught.value).endswith("\n\nTHE STORY")


def test_elements_of_a_list_with_keys_are_found_by_these(kadmit_cluster: Cluster) -> None:
    containers = [{"name": "one", "image": "a:1"}, {"name": "two", "image": "b:1"}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}}
    made = kadmit_cluster.create(pod)
    assert_admitted(made, object={"spec": {"containers": [{"name": "two", "image": "b:1"}]}})
    with pytest.raises(AssertionError, match=r'spec.containers\[name=two\].image: expected "b:2", found "b:1"'):
        assert_admitted(made, object={"spec": {"containers": [{"name": "two", "image": "b:2"}]}})
