"""What a request is about, and how a refusal says so."""

from typing import Any
from urllib.parse import unquote

import pytest
from tests.access import recording

from kadmit.access import attributes, bootstrap
from kadmit.cel.library.selectors import FieldRequirement, LabelRequirement

CLUSTER = bootstrap.rbac()


@pytest.mark.parametrize("row", recording.rows("paths"), ids=lambda row: f"{row['method']} {row['path']}")
def test_a_recorded_request_is_refused_with_the_recorded_text(row: dict[str, Any]) -> None:
    assert _refused(row["method"], row["path"]) == (row.get("message"), row.get("details"))


def _refused(method: str, url: str) -> tuple[str | None, dict[str, Any] | None]:
    """The text and its details; nothing for what is allowed."""
    path, _, query = url.partition("?")
    try:
        asked = attributes.attributes_of(attributes.request_info(method, unquote(path), query), recording.ALICE)
    except attributes.UnreadablePath as unreadable:
        return unreadable.answer(url), None
    refusal = attributes.refusal(CLUSTER, asked)
    if refusal is None:
        return None, None
    assert refusal.status.details is not None
    return refusal.status.message, refusal.status.details.as_json()


def test_values_of_a_query_may_be_given_instead_of_its_text() -> None:
    given = attributes.request_info("GET", "/api/v1/pods", {"watch": ["true"], "labelSelector": ["a=b"]})
    assert given == attributes.request_info("GET", "/api/v1/pods", "watch=true&labelSelector=a%3Db")
    assert (given.verb, given.label_selector) == ("watch", "a=b")


def test_selectors_are_asked_about_too() -> None:
    info = attributes.request_info("DELETE", "/api/v1/pods", "fieldSelector=a%3Db&labelSelector=c")
    asked = attributes.attributes_of(info, recording.ALICE)
    assert asked.field_selector == (FieldRequirement("a", "=", "b"),)
    assert asked.label_selector == (LabelRequirement("c", "exists"),)


def test_a_selector_that_cannot_be_read_is_left_out() -> None:
    info = attributes.request_info("GET", "/api/v1/pods", "fieldSelector=a&labelSelector=c+in")
    asked = attributes.attributes_of(info, recording.ALICE)
    assert (asked.field_selector, asked.label_selector) == ((), ())
    assert asked.field_selector_error == "invalid selector: 'a'; can't understand 'a'"
    assert asked.label_selector_error != ""


def test_a_watch_by_path_knows_no_selectors() -> None:
    assert attributes.request_info("GET", "/api/v1/watch/pods", "fieldSelector=a%3Db").field_selector == ""


def test_the_parts_of_a_path_start_at_the_resource() -> None:
    info = attributes.request_info("GET", "/api/v1/namespaces/n/pods/p/proxy/a/b")
    assert info.parts == ("pods", "p", "proxy", "a", "b")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a=1&a=2&b", {"a": ["1", "2"], "b": [""]}),
        ("a=1;b=2&c=3", {"c": ["3"]}),
        ("a=%zz&b=%41+%2B", {"b": ["A +"]}),
        ("a=%ff", {"a": ["\ufffd"]}),
        ("&&=x", {"": ["x"]}),
    ],
)
def test_queries_are_read_as_go_reads_them(text: str, values: dict[str, list[str]]) -> None:
    assert attributes.query_values(text) == values
