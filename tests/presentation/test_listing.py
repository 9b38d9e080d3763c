"""Options of lists and watches; texts as kube-apiserver v1.36.4 gave them."""

from typing import Any
from urllib.parse import parse_qs

import pytest

from kadmit.api.errors import ApiError
from kadmit.kinds import catalog
from kadmit.kinds.catalog import Resource
from kadmit.presentation import continuation, fieldselectors, listing
from kadmit.presentation.continuation import Moment, Place
from kadmit.presentation.listing import ListOptions

WIDGETS = {
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{"name": "v1", "served": True}],
    }
}


def resource(plural: str) -> Resource:
    served = catalog.builtin().with_crds([WIDGETS])
    return next(found for found in served if found.plural == plural and found.version == "v1")


def parse(text: str, plural: str = "configmaps", **more: Any) -> ListOptions:
    paths = (".spec.color", ".spec.size") if plural == "widgets" else ()
    fields_of = fieldselectors.of(resource(plural), custom_fields=paths)
    return listing.parse(parse_qs(text, keep_blank_values=True), fields_of, **more)


def refusal(text: str, plural: str = "configmaps", **more: Any) -> tuple[int, str]:
    with pytest.raises(ApiError) as refused:
        parse(text, plural, **more)
    return refused.value.status.code, refused.value.status.message


INVALID = 'ListOptions.meta.k8s.io "" is invalid: '


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("limit=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("limit=", 400, 'strconv.ParseInt: parsing "": invalid syntax'),
        ("limit=99999999999999999999", 400, 'strconv.ParseInt: parsing "99999999999999999999": value out of range'),
        ("timeoutSeconds=x&limit=y", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("limit=x&labelSelector=%3D", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("labelSelector=%3D&fieldSelector=a", 400, "found '=', expected: !, identifier, or 'end of string'"),
        ("labelSelector=a%20in%20(b", 400, "unable to parse requirement: found '', expected: ',' or ')'"),
        ("fieldSelector=a", 400, "invalid selector: 'a'; can't understand 'a'"),
        ("fieldSelector=a%3Db%5Cc", 400, "invalid field selector: invalid escape sequence: \\c"),
        ("fieldSelector=metadata.name%3Da%3Db", 400, "invalid field selector: unescaped character in value: 61"),
        (
            "fieldSelector=spec.x%3D1,foo%3D2",
            400,
            '"foo" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        (
            "resourceVersion=0&resourceVersionMatch=Exact",
            422,
            INVALID + 'resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
        ),
        (
            "resourceVersionMatch=Exact",
            422,
            INVALID + "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (
            "resourceVersionMatch=Foo&continue=a&sendInitialEvents=1",
            422,
            INVALID + "[resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided, "
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided, "
            'resourceVersionMatch: Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", "", '
            "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list]",
        ),
        (
            "watch=1&resourceVersionMatch=Foo&continue=a",
            422,
            INVALID + "[resourceVersionMatch: Forbidden: "
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided, "
            'resourceVersionMatch: Unsupported value: "Foo": supported values: "NotOlderThan", '
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided]",
        ),
        (
            "watch=1&continue=abc",
            422,
            INVALID + "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided",
        ),
        (
            "watch=1&sendInitialEvents=maybe",
            422,
            INVALID + "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(query: str, code: int, message: str) -> None:
    assert refusal(query) == (code, message)


@pytest.mark.parametrize(
    ("plural", "selector", "message"),
    [
        ("pods", "spec.hostname=x", "field label not supported: spec.hostname"),
        ("nodes", "metadata.namespace=x", "field label not supported: metadata.namespace"),
        ("jobs", "spec.x=1", 'field label "spec.x" not supported for Job'),
        ("resourceslices", "spec.x=1", "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.x"),
        ("widgets", "spec.other=x", "field label not supported: spec.other"),
        (
            "mutatingadmissionpolicybindings",
            "spec.policyName=x",
            '"spec.policyName" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
    ],
)
def test_each_kind_refuses_fields_in_its_own_words(plural: str, selector: str, message: str) -> None:
    assert refusal(f"fieldSelector={selector.replace('=', '%3D')}", plural) == (400, message)


def pod(name: str, **spec: Any) -> dict[str, Any]:
    status = spec.pop("status", {})
    return {"metadata": {"name": name, "namespace": "n", "labels": {"env": "prod", "size": "3"}}, "spec": spec, "status": status}


@pytest.mark.parametrize(
    ("plural", "query", "value", "selected"),
    [
        ("pods", "fieldSelector=spec.nodeName%3Dn1", pod("a", nodeName="n1"), True),
        ("pods", "fieldSelector=spec.host%3Dn1", pod("a", nodeName="n1"), True),
        ("pods", "fieldSelector=spec.nodeName!%3D", pod("a"), False),
        ("pods", "fieldSelector=spec.nodeName%3D", pod("a"), True),
        ("pods", "fieldSelector=spec.hostNetwork%3Dfalse", pod("a"), True),
        ("pods", "fieldSelector=spec.hostNetwork%3Dfalse", pod("a", hostNetwork=True), False),
        ("pods", "fieldSelector=status.podIP%3D10.1.1.1", pod("a", status={"podIPs": [{"ip": "10.1.1.1"}]}), True),
        ("nodes", "fieldSelector=spec.unschedulable%3Dfalse", {"metadata": {"name": "n"}}, True),
        ("jobs", "fieldSelector=status.successful%3D0", {"metadata": {"name": "n"}}, True),
        ("secrets", "fieldSelector=type%3DOpaque", {"metadata": {"name": "n"}, "type": "Opaque"}, True),
        ("widgets", "fieldSelector=spec.size%3D2,spec.color%3D", {"metadata": {}, "spec": {"size": 2}}, True),
        ("widgets", "fieldSelector=spec.color%3Dred", {"metadata": {}, "spec": {"color": "blue"}}, False),
        ("pods", "fieldSelector=metadata.name%3Da,metadata.name%3Db", pod("a"), False),
        ("pods", "labelSelector=env%3Dprod,size%3E2", pod("a"), True),
        ("pods", "labelSelector=env,size%3C3", pod("a"), False),
        ("pods", "labelSelector=env notin (prod,dev)", pod("a"), False),
        ("pods", "labelSelector=tier!%3Dweb,!x", pod("a"), True),
        ("pods", "labelSelector=a in ()", pod("a"), False),
    ],
)
def test_objects_are_selected_by_labels_and_fields(plural: str, query: str, value: Any, *, selected: bool) -> None:
    assert parse(query, plural).selection.matches(value) is selected


def test_flags_are_true_unless_they_say_no() -> None:
    assert parse("watch=maybe").watch
    assert parse("watch=").watch
    assert not parse("watch=0").watch
    assert not parse("watch=FALSE").watch
    assert parse("limit=1&limit=x").limit == 1


def test_a_watch_from_nowhere_begins_with_what_is_there() -> None:
    assert parse("watch=1").send_initial_events is True
    assert parse("watch=1&resourceVersion=0").send_initial_events is True
    assert parse("watch=1&resourceVersion=5").send_initial_events is None
    assert not parse("watch=1").ends_initial_events
    assert parse("watch=1&allowWatchBookmarks=1").ends_initial_events


def test_a_watch_of_one_object_selects_it_by_name() -> None:
    assert parse("", name="abc").selection.exact_name == "abc"
    assert parse("fieldSelector=metadata.name%3Dabc", name="abc").selection.exact_name == "abc"
    message = "fieldSelector metadata.name doesn't match requested name"
    assert refusal("fieldSelector=metadata.name%3Dfoo", name="abc") == (400, message)


def test_a_list_tells_of_the_moment_it_is_asked_for() -> None:
    assert parse("").moment() == Moment()
    assert parse("resourceVersion=7").moment() == Moment(not_before=7)
    assert parse("resourceVersion=7&limit=2").moment() == Moment(exact=7)
    assert parse("resourceVersion=7&resourceVersionMatch=Exact").moment() == Moment(exact=7)
    assert parse("resourceVersion=7&limit=2&resourceVersionMatch=NotOlderThan").moment() == Moment(not_before=7)
    assert parse(f"continue={continuation.after('ns/a', 9)}").moment() == Moment(exact=9, start="ns/a\0")
    assert parse(f"continue={continuation.encode(Place('a', -1))}").moment() == Moment(start="a")


BAD = "invalid continue token: continue key is not valid"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("continue=xxx", f"{BAD}: invalid character 'Ç' looking for beginning of value"),
        ("continue=e30", f"{BAD}: server does not recognize this encoded version "),
        ("continue=e30%3D", f"{BAD}: illegal base64 data at input byte 3"),
        ("continue=e3", f"{BAD}: unexpected end of JSON input"),
        ("continue=bm90anNvbg", f"{BAD}: invalid character 'o' in literal null (expecting 'u')"),
        ("continue=W10", f"{BAD}: json: cannot unmarshal array into Go value of type storage.continueToken"),
        (
            "continue=eyJydiI6IngifQ",
            f"{BAD}: json: cannot unmarshal string into Go struct field continueToken.rv of type int64",
        ),
        (
            "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0",
            f"{BAD}: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
        ),
        ("continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi9hIn0", f"{BAD}: ../a"),
        (
            "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIifQ",
            f"{BAD}: encoded start key empty (version meta.k8s.io/v1)",
        ),
        (
            "resourceVersion=1&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0",
            "specifying resource version is not allowed when using continue",
        ),
        (
            "resourceVersion=x",
            'invalid resource version: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax',
        ),
        (
            "resourceVersion=-1",
            'invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": invalid syntax',
        ),
    ],
)
def test_tokens_and_versions_that_cannot_be_read_are_refused(query: str, message: str) -> None:
    options = parse(query)
    with pytest.raises(ApiError) as refused:
        options.moment()
    assert (refused.value.status.code, refused.value.status.message) == (400, message)


def test_a_watch_from_no_version_is_an_error_without_reason() -> None:
    with pytest.raises(ApiError) as refused:
        parse("watch=1&resourceVersion=x").watch_from()
    status = refused.value.status
    assert (status.code, status.reason) == (500, "")
    assert status.message == 'resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax'


def test_a_token_whose_revision_is_gone_is_answered_with_one_for_now() -> None:
    status = continuation.place_too_old("ns/a").status.as_json()
    assert (status["code"], status["reason"]) == (410, "Expired")
    assert continuation.decode(status["metadata"]["continue"]) == Place("ns/a", -1)


def test_tokens_are_those_of_kubernetes() -> None:
    assert continuation.after("a", 5) == "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiJhXHUwMDAwIn0"


def test_a_revision_of_the_future_is_a_timeout() -> None:
    status = continuation.too_large(9, 5).status.as_json()
    assert status["message"] == "Timeout: Too large resource version: 9, current: 5"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    assert status["details"] == {"causes": [cause], "retryAfterSeconds": 1}
