"""What clients may ask an answer to be, and what bodies may be; texts as kube-apiserver v1.36.4 gave them."""

import pytest

from kadmit.api.errors import ApiError
from kadmit.presentation import media
from kadmit.presentation.media import JSON, PROTOBUF, YAML, Endpoint, Representation, Target

TABLE = "as=Table;v=v1;g=meta.k8s.io"
ROUTER = (
    "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf"
)
ROUTER_OF_LISTS = ROUTER + ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
ONLY = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"
ONLY_STREAMS = (
    "only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
)
UNKNOWN_BODY = (
    "the body of the request was in an unknown format - accepted media types include: "
    "application/json, application/yaml, application/vnd.kubernetes.protobuf"
)
UNKNOWN_PATCH = "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, "


@pytest.mark.parametrize(
    "accept", ["", "*/*", JSON, YAML, "text/html, application/json;q=0.5", f"{JSON};{TABLE}", "text/*,*/*;q=0.1"]
)
def test_the_router_lets_known_names_pass(accept: str) -> None:
    media.route(accept)


@pytest.mark.parametrize("accept", ["text/html", "application/*", "*", "application/cbor"])
def test_the_router_knows_no_wildcard_subtypes(accept: str) -> None:
    with pytest.raises(ApiError) as refused:
        media.route(accept)
    assert refused.value.status.message == ROUTER
    assert refused.value.status.as_json()["details"] == {}
    with pytest.raises(ApiError) as refused:
        media.route(accept, lists=True)
    assert refused.value.status.message == ROUTER_OF_LISTS


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", Representation(JSON)),
        ("*", Representation(JSON)),
        ("application/*", Representation(JSON)),
        ("application/json;q=0", Representation(JSON)),
        ("application/yaml;q=0.9, application/json;q=0.1", Representation(YAML)),
        ("text/html;q=0.9, application/yaml;q=0.1", Representation(YAML)),
        ("application/vnd.kubernetes.protobuf,application/json", Representation(JSON)),
        ("application/json;pretty=1", Representation(JSON, pretty=True)),
        ("application/json;stream=watch", Representation(JSON)),
        ("application/json;sv=v1", Representation(JSON)),
        ("application/json;foo=bar", Representation(JSON)),
        (f"application/json;{TABLE}", Representation(JSON, target=Target("meta.k8s.io", "v1", "Table"))),
        (f"application/yaml;{TABLE}", Representation(YAML, target=Target("meta.k8s.io", "v1", "Table"))),
        (f"*/*;{TABLE}", Representation(JSON, target=Target("meta.k8s.io", "v1", "Table"))),
        ("application/json;as=Table;v=v2;g=meta.k8s.io, application/json", Representation(JSON)),
        (f"application/vnd.kubernetes.protobuf;{TABLE},application/json", Representation(JSON)),
        (f"application/json;{TABLE}, application/json", Representation(JSON, target=Target("meta.k8s.io", "v1", "Table"))),
    ],
)
def test_the_best_clause_that_can_be_served_wins(accept: str, expected: Representation) -> None:
    assert media.negotiate(accept) == expected


@pytest.mark.parametrize(
    "accept",
    [
        "text/html",
        "application/json;as=Table",
        "application/json;as=Table;v=v2;g=meta.k8s.io",
        "application/json;as=Nothing;v=v1;g=meta.k8s.io",
        "application/json;stream=foo",
        "application/vnd.kubernetes.protobuf",
        f"application/vnd.kubernetes.protobuf;{TABLE}",
        "application/json;as=PartialObjectMetadata;v=v1alpha1;g=meta.k8s.io",
    ],
)
def test_what_cannot_be_served_is_refused(accept: str) -> None:
    with pytest.raises(ApiError) as refused:
        media.negotiate(accept)
    assert refused.value.status.message == ONLY
    assert refused.value.status.code == 406


def test_a_watch_is_json_only() -> None:
    assert media.negotiate_stream("application/json;stream=watch").media_type == JSON
    for accept in ("application/yaml", f"application/yaml;{TABLE}", "application/yaml,application/json;q=0.3"):
        with pytest.raises(ApiError) as refused:
            media.negotiate_stream(accept)
        assert refused.value.status.message == ONLY_STREAMS


def test_errors_are_written_in_the_negotiated_form_or_as_pretty_json() -> None:
    assert media.negotiate_error("application/yaml") == Representation(YAML)
    assert media.negotiate_error("application/*") == Representation(JSON)
    assert media.negotiate_error("text/html") == Representation(JSON, pretty=True)
    assert media.negotiate_error(f"application/yaml;{TABLE}") == Representation(JSON, pretty=True)


def test_plain_documents_allow_no_conversion() -> None:
    with pytest.raises(ApiError):
        media.negotiate("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList", endpoint=Endpoint.PLAIN)


@pytest.mark.parametrize(
    ("accept", "aggregated"),
    [
        ("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", True),
        ("application/json,application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", True),
        ("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer", True),
        ("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList", False),
        ("application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList,application/json", False),
        ("application/json", False),
        ("", False),
    ],
)
def test_aggregated_discovery_is_asked_for_by_name(accept: str, *, aggregated: bool) -> None:
    assert media.wants_aggregated_discovery(accept) is aggregated


@pytest.mark.parametrize(
    ("query", "agent", "pretty"),
    [
        (None, "kubectl/v1.36", False),
        (None, "curl/8.0", True),
        (None, "Mozilla/5.0 (X11)", True),
        ("false", "curl/8.0", False),
        ("true", "kubectl", True),
        ("1", "kubectl", True),
        ("yes", "curl/8.0", False),
        ("", "curl/8.0", True),
    ],
)
def test_answers_are_pretty_for_people(query: str | None, agent: str, *, pretty: bool) -> None:
    assert media.wants_pretty(query, agent) is pretty


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("", JSON),
        ("application/json", JSON),
        ("application/json; charset=utf-8", JSON),
        ("Application/JSON", JSON),
        ("application/yaml", YAML),
        ('application/yaml; a="b;c";', YAML),
        (PROTOBUF, PROTOBUF),
    ],
)
def test_bodies_are_json_or_yaml_or_protobuf(header: str, found: str) -> None:
    assert media.body_type(header) == found


@pytest.mark.parametrize(
    "header", ["text/plain", "a/b/c; =", "application/json; x", "application/json; a=1; A=2", "application/*"]
)
def test_other_bodies_are_refused(header: str) -> None:
    with pytest.raises(ApiError) as refused:
        media.body_type(header)
    assert (refused.value.status.code, refused.value.status.message) == (415, UNKNOWN_BODY)


def test_custom_kinds_have_no_protobuf() -> None:
    with pytest.raises(ApiError) as refused:
        media.body_type(PROTOBUF, custom=True)
    assert refused.value.status.code == 415


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("", JSON),
        ("*/*", JSON),
        ("application/com.github.proto-openapi.spec.v2@v1.0+protobuf", media.OPENAPI_V2),
        (f"application/json;q=0.5, {media.OPENAPI_V2}", media.OPENAPI_V2),
        ("text/html", None),
    ],
)
def test_swagger_is_json_or_protobuf(header: str, found: str | None) -> None:
    assert media.swagger_type(header) == found


def test_patches_are_told_by_their_content_type() -> None:
    assert media.patch_type("application/merge-patch+json; charset=utf-8") == media.MERGE_PATCH
    assert media.patch_type("application/strategic-merge-patch+json") == media.STRATEGIC_MERGE_PATCH
    assert media.patch_type("application/apply-patch+yaml", custom=True) == media.APPLY_PATCH


@pytest.mark.parametrize(
    ("header", "custom", "message"),
    [
        ("text/plain", False, "415: Unsupported Media Type"),
        ("", False, "415: Unsupported Media Type"),
        ("application/json", False, "415: Unsupported Media Type"),
        (
            "application/merge-patch+json,x/y",
            False,
            UNKNOWN_PATCH + "application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml",
        ),
        (
            "application/strategic-merge-patch+json",
            True,
            UNKNOWN_PATCH + "application/merge-patch+json, application/apply-patch+yaml",
        ),
    ],
)
def test_other_patches_are_refused(header: str, message: str, *, custom: bool) -> None:
    with pytest.raises(ApiError) as refused:
        media.patch_type(header, custom=custom)
    assert refused.value.status.message == message


def test_a_header_of_very_many_clauses_is_read_quickly() -> None:
    assert media.negotiate(",".join(["text/html;q=0.1"] * 20_000) + ",application/yaml").media_type == YAML
