"""Changed objects: decoded again as far as they changed, refused in Kubernetes' words."""

import copy
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.conformance import ledger

from kadmit.api.errors import ApiError
from kadmit.kinds import decoding, defaults, schema, settling
from kadmit.kinds.catalog import Gvk
from kadmit.kinds.settling import Unconvertible
from kadmit.kinds.structural import Structure

Json = Any
HERE = Path(__file__).parent
DEPLOYMENT: Gvk = ("apps", "v1", "Deployment")
POD: Gvk = ("", "v1", "Pod")
SCHEME = 'in scheme "pkg/api/legacyscheme/scheme.go:30"'
ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}
MISMATCH = "json: cannot unmarshal"
NO_KIND = "couldn't get version/kind; json parse error: json: cannot unmarshal"
WIDGET: Gvk = ("example.com", "v1", "Widget")

# What Kubernetes' own conversion made of objects with one odd value each, or how it refused them.
MERGED = [json.loads(line) for line in (HERE / "merged.jsonl").read_text().splitlines()]
# Objects with all their defaults, to be changed.
BODIES = [json.loads(line)["defaulted"] for line in (HERE / "defaulted.jsonl").read_text().splitlines()]


def deployment() -> Json:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x:1"}]}}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "labels": {"a": "b"}},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }
    return settled(DEPLOYMENT, body)


def settled(gvk: Gvk, body: Json) -> Json:
    """The long way: everything is decoded, everything gets defaults."""
    node = schema.for_kind(gvk)
    assert node is not None
    return defaults.apply(gvk, decoding.normalise(node, body).object)


def changed(value: Json, path: str, new: Json = None) -> Json:
    """The object with something else at a path such as /spec/replicas, copied along that path only. No value: it is gone."""
    step, _, rest = path.removeprefix("/").partition("/")
    if isinstance(value, list):
        index = int(step) if step != "-" else len(value)
        inner = [changed(value[index], rest, new)] if rest else [new]
        return [*value[:index], *inner, *value[index + 1 :]]
    if rest:
        return {**value, step: changed(value.get(step, {}), rest, new)}
    return {key: member for key, member in value.items() if key != step} | ({} if new is GONE else {step: new})


GONE: Json = object()


def failure(path: str, new: Json, *, strict: bool = True) -> str:
    before = deployment()
    with pytest.raises(ApiError) as caught:
        settling.settle(DEPLOYMENT, changed(before, path, new), before, strict=strict)
    assert caught.value.status.code == 500
    return str(caught.value)


@pytest.mark.parametrize(
    ("path", "new", "text"),
    [
        ("/spec/nosuch", 1, 'strict decoding error: unknown field "spec.nosuch"'),
        ("/spec/template/spec/containers/0/a", 1, 'strict decoding error: unknown field "spec.template.spec.containers[0].a"'),
        (
            "/spec/replicas",
            1.5,
            "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        ("/metadata/labels/a", 1, "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string"),
        ("/kind", "ControllerRevision", 'strict decoding error: unknown field "spec", unknown field "status"'),
        ("/kind", "Nosuch", f'no kind "Nosuch" is registered for version "apps/v1" {SCHEME}'),
        ("/apiVersion", "a/v1", f'no kind "Deployment" is registered for version "a/v1" {SCHEME}'),
        ("/apiVersion", "a/b/c", "unexpected GroupVersion string: a/b/c"),
        ("/kind", 5, f"{NO_KIND} number into Go struct field .kind of type string"),
    ],
)
def test_a_patched_object_that_does_not_decode_is_an_internal_error(path: str, new: Json, text: str) -> None:
    assert failure(path, new) == f"Internal error occurred: {text}"


def test_unknown_fields_are_named_by_the_alphabet() -> None:
    before = deployment()
    value = changed(changed(changed(before, "/spec/zzz", 1), "/spec/aaa", 1), "/spec/template/nosuch", 1)
    with pytest.raises(ApiError, match=r'"spec.aaa", unknown field "spec.template.nosuch", unknown field "spec.zzz"$'):
        settling.settle(DEPLOYMENT, value, before, strict=True)


def test_a_webhook_may_send_unknown_fields_and_they_are_dropped() -> None:
    before = deployment()
    made = settling.patched(DEPLOYMENT, changed(before, "/spec/nosuch", 1), before, strict=False)
    assert made == before


BARE = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}


@pytest.mark.parametrize(
    ("api_version", "kind", "text"),
    [
        ("batch/v1", "Job", f'v1.Job is not suitable for converting to "apps/v1" {SCHEME}'),
        ("apps/v1beta2", "Deployment", "converting (v1beta2.Deployment) to (v1.Deployment): unknown conversion"),
        ("extensions/v1beta1", "Ingress", f'v1beta1.Ingress is not suitable for converting to "apps/v1" {SCHEME}'),
    ],
)
def test_an_object_of_another_version_or_group_is_refused_also_of_one_that_is_no_longer_served(
    api_version: str, kind: str, text: str
) -> None:
    with pytest.raises(Unconvertible) as caught:
        settling.settle(DEPLOYMENT, {**BARE, "apiVersion": api_version, "kind": kind}, BARE, strict=True)
    assert str(caught.value) == text


def test_an_object_of_another_kind_in_the_same_version_is_refused_when_all_is_done() -> None:
    with pytest.raises(ApiError, match=r"failed to convert object: converting \(v1.ReplicaSet\) to \(apps.Deployment\)"):
        settling.settle(DEPLOYMENT, {**BARE, "kind": "ReplicaSet"}, BARE, strict=True)


@pytest.mark.parametrize("path", ["/kind", "/apiVersion"])
def test_a_kind_that_a_patch_removed_is_put_back(path: str) -> None:
    before = deployment()
    assert settling.settle(DEPLOYMENT, changed(before, path, GONE), before, strict=True) == before


@pytest.mark.parametrize(
    ("path", "new", "at", "expected"),
    [
        ("/spec/replicas", GONE, "replicas", 1),
        (
            "/spec/strategy",
            GONE,
            "strategy",
            {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
        ),
        (
            "/spec/strategy",
            None,
            "strategy",
            {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
        ),
        ("/spec/minReadySeconds", 0, "minReadySeconds", None),
        ("/spec/paused", False, "paused", None),
        ("/spec/paused", True, "paused", True),
    ],
)
def test_what_a_patch_leaves_is_decoded_and_defaulted(path: str, new: Json, at: str, expected: Json) -> None:
    before = deployment()
    made = settling.settle(DEPLOYMENT, changed(before, path, new), before, strict=True)
    assert made["spec"].get(at) == expected


@pytest.mark.parametrize("strict", [True, False])
def test_only_the_changed_path_is_new(*, strict: bool) -> None:
    before = deployment()
    made = settling.settle(DEPLOYMENT, changed(before, "/metadata/labels/c", "d"), before, strict=strict)
    assert made["metadata"]["labels"] == {"a": "b", "c": "d"}
    assert made["spec"] is before["spec"]


@pytest.mark.parametrize("strict", [True, False])
def test_an_unchanged_object_is_returned_itself(*, strict: bool) -> None:
    before = deployment()
    assert settling.settle(DEPLOYMENT, before, before, strict=strict) is before


def test_a_kind_that_nobody_describes_is_taken_as_it_is() -> None:
    options = {"apiVersion": "v1", "kind": "PodExecOptions", "stdin": True}
    assert settling.settle(("", "v1", "PodExecOptions"), options, {"kind": "PodExecOptions"}, strict=False) is options


def test_a_value_that_is_nested_too_deeply_is_refused() -> None:
    deep: Json = {}
    for _ in range(5000):
        deep = {"a": deep}
    before = deployment()
    with pytest.raises(ApiError, match="exceeded max depth"):
        settling.settle(DEPLOYMENT, {**before, "nosuch": deep}, before, strict=True)


# ---------------------------------------------------------------- merges


@pytest.mark.parametrize("row", MERGED, ids=[f"{index}-{row['value']['kind']}" for index, row in enumerate(MERGED)])
def test_merged_objects_are_converted_as_go_converts_them(row: Json) -> None:
    gvk = decoding.kind_of(row["value"])
    made, error = None, None
    try:
        made = settling.merged(gvk, row["value"], {})
    except Unconvertible as refusal:
        error = str(refusal)
    assert error == row.get("error")
    assert ledger.same(row.get("merged"), made), f"{row} is not {made}"


@pytest.mark.parametrize(("given", "held"), [(5000000000, 705032704), (3.0, 3), (-1, -1)])
def test_numbers_of_a_merge_lose_what_their_field_cannot_hold(given: Json, held: int) -> None:
    before = deployment()
    made = settling.settle(DEPLOYMENT, changed(before, "/spec/replicas", given), before, strict=False)
    assert made["spec"]["replicas"] == held
    assert made["spec"]["template"] is before["spec"]["template"]


def test_a_fraction_is_no_integer() -> None:
    before = deployment()
    with pytest.raises(Unconvertible) as caught:
        settling.settle(DEPLOYMENT, changed(before, "/spec/replicas", 3.5), before, strict=False)
    text = "unable to convert unstructured object to apps/v1, Kind=Deployment: cannot convert float64 to int32"
    assert str(caught.value) == text


# ---------------------------------------------------------------- the short way is the long way


@st.composite
def mutations(draw: st.DrawFn) -> tuple[Json, Json]:
    """A settled object, and the same with some places changed, removed or exchanged; only the paths to them are copied."""
    body = draw(st.sampled_from(BODIES))
    # NB: what one default writes can call for another, the next time.
    before = value = settled(decoding.kind_of(body), body)
    for _ in range(draw(st.integers(1, 3))):
        value = draw_change(draw, value)
        assume(isinstance(value, dict) and value)
    return before, value


def draw_change(draw: st.DrawFn, value: Json) -> Json:
    if isinstance(value, dict) and value and draw(st.integers(0, 4)):
        key = draw(st.sampled_from(sorted(value)))
        if key in ("apiVersion", "kind"):
            return value
        if not draw(st.integers(0, 5)):
            return {name: member for name, member in value.items() if name != key}
        return {**value, key: draw_change(draw, value[key])}
    if isinstance(value, list) and value and draw(st.integers(0, 4)):
        index = draw(st.integers(0, len(value) - 1))
        choice = draw(st.integers(0, 3))
        if choice == 0:
            return [*value[:index], *value[index + 1 :]]
        if choice == 1:
            return [value[index], *value]
        return [*value[:index], draw_change(draw, value[index]), *value[index + 1 :]]
    return draw(st.sampled_from([None, {}, [], "", "x", 0, 1, True, False, "1", "500u", value]))


@settings(max_examples=400, deadline=None)
@given(mutations())
def test_settling_a_change_gives_what_decoding_everything_gives(mutation: tuple[Json, Json]) -> None:
    before, value = mutation
    gvk = decoding.kind_of(before)
    untouched = copy.deepcopy((before, value))
    try:
        expected = settled(gvk, value)
    except decoding.DecodeError:
        expected = None
    try:
        made = settling.patched(gvk, value, before, strict=False)
    except ApiError:
        made = None
    assert made == expected
    assert (before, value) == untouched


# ---------------------------------------------------------------- custom kinds


class Widgets(NamedTuple):
    structure: Structure
    versions: tuple[str, ...] = ("v1", "v2")


CUSTOM = Widgets(
    Structure(
        {
            "type": "object",
            "properties": {
                "spec": {
                    "type": "object",
                    "properties": {
                        "lid": {"type": "object", "properties": {"color": {"type": "string", "default": "red"}}},
                        "items": {"type": "array", "items": {"type": "object", "properties": {"unit": {"default": "m"}}}},
                        "sizes": {"type": "object", "additionalProperties": {"type": "string", "default": "big"}},
                        "loose": {"type": "string"},
                    },
                }
            },
        }
    )
)


def widget(**spec: Json) -> Json:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "spec": spec}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"lid": {}}, {"lid": {"color": "red"}}),
        ({"lid": {"color": None}}, {"lid": {"color": "red"}}),
        ({"items": [{}, {"unit": "k"}]}, {"items": [{"unit": "m"}, {"unit": "k"}]}),
        ({"sizes": {"a": None}}, {"sizes": {"a": "big"}}),
        ({"loose": None}, {"loose": None}),
        ({"unknown": {"a": 1}}, {"unknown": {"a": 1}}),
        ({"lid": 5}, {"lid": 5}),
    ],
)
def test_a_custom_object_gets_defaults_and_keeps_everything_else(spec: Json, expected: Json, *, strict: bool) -> None:
    made = settling.settle(WIDGET, widget(**spec), widget(), strict=strict, custom=CUSTOM)
    assert made == widget(**expected)


def test_defaults_of_custom_objects_reach_only_what_changed() -> None:
    lid: Json = {}
    made = settling.settle(WIDGET, widget(lid=lid, loose="x"), widget(lid=lid), strict=True, custom=CUSTOM)
    assert made["spec"]["lid"] is lid


@pytest.mark.parametrize(
    ("path", "new", "text"),
    [
        ("/kind", GONE, """Object 'Kind' is missing in '{"apiVersion":"example.com/v1","spec":{"a":"\\u003c"}}'"""),
        (
            "/apiVersion",
            GONE,
            'failed to convert object: /, Kind=Widget is unstructured and is not suitable for converting to "example.com/v1"',
        ),
        (
            "/apiVersion",
            "example.com/v9",
            "failed to convert object: request to convert CR from an invalid group/version: example.com/v9",
        ),
    ],
)
def test_a_custom_object_must_say_what_it_is(path: str, new: Json, text: str) -> None:
    before = widget(a="<")
    with pytest.raises(ApiError) as caught:
        settling.settle(WIDGET, changed(before, path, new), before, strict=True, custom=CUSTOM)
    assert str(caught.value) == f"Internal error occurred: {text}"


def test_a_custom_object_of_another_kind_is_left_to_validation() -> None:
    before = widget()
    made = settling.settle(WIDGET, {**before, "kind": "Other"}, before, strict=True, custom=CUSTOM)
    assert made == {**before, "kind": "Other"}
