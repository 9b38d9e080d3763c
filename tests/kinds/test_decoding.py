"""Bodies of built-in kinds: what the server holds of them, what it says of them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kadmit.kinds import decoding, fulltext, merging, roundtrip, schema, structs
from kadmit.kinds.catalog import Gvk
from kadmit.kinds.schema import Schema

# What Go's own decoder and encoder made of bodies that were drawn from the schemas, a few values of each wrong or odd.
RECORDED = [json.loads(line) for line in Path(__file__).with_name("decoded.jsonl").read_text().splitlines()]
CASES = Path(__file__).parents[1] / "conformance" / "cases"
POD = ("", "v1", "Pod")
NO_KIND = "couldn't get version/kind; json parse error: json: cannot unmarshal "
TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'


def schema_of(gvk: Gvk) -> Schema:
    found = schema.for_kind(gvk)
    assert found is not None
    return found


def decode(gvk: Gvk, body: Any) -> decoding.Decoded:
    return decoding.decode(schema_of(gvk), body if isinstance(body, bytes) else orjson.dumps(body))


def error_of(gvk: Gvk, body: Any) -> str:
    with pytest.raises(decoding.DecodeError) as caught:
        decode(gvk, body)
    return str(caught.value)


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: row["kind"][2])
def test_go_reads_and_writes_the_same(row: dict[str, Any]) -> None:
    gvk, body = tuple(row["kind"]), row["body"].encode()
    if "error" in row:
        assert error_of(gvk, body) == row["error"]
    else:
        decoded = decode(gvk, body)
        assert list(decoded.problems) == row.get("problems", [])
        assert decoded.object == row["object"]


# Go writes its zero time as null, and null is read as no time at all: only such bodies change twice.
WRITTEN = [row for row in RECORDED if "object" in row and "0001-01-01T00:00:00Z" not in row["body"]]


@pytest.mark.parametrize("row", WRITTEN, ids=lambda row: row["kind"][2])
def test_what_was_written_is_left_alone(row: dict[str, Any]) -> None:
    walk = roundtrip.walker(schema_of(tuple(row["kind"])))
    assert walk(row["object"]) is row["object"]


# --- The recorded server ---------------------------------------------------------------------------------------------


def steps(area: str, name: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    case = yaml.safe_load((CASES / area / f"{name}.yaml").read_text())
    expected = json.loads((CASES / area / f"{name}.expected.json").read_text())
    yield from zip(case["steps"], expected["steps"], strict=True)


def group_version_kind(value: dict[str, Any]) -> Gvk:
    group, _, version = value["apiVersion"].rpartition("/")
    return (group, version, value["kind"])


REFUSED = [
    pytest.param(step["create"], answer["body"]["message"], id=f"{name}-{number}")
    for name in ("wrong-types", "wrong-encodings")
    for number, (step, answer) in enumerate(steps("kinds-validation", name))
]


@pytest.mark.parametrize(("sent", "message"), REFUSED)
def test_the_server_refuses_in_these_words(sent: dict[str, Any], message: str) -> None:
    kind = sent["kind"]
    masked = re.sub(r"2006-01-02T15:04:05(\.000000)?Z", "<time>", error_of(group_version_kind(sent), sent))
    assert f'{kind} in version "v1" cannot be handled as a {kind}: {masked}' == message


def test_the_server_names_unknown_fields_by_path() -> None:
    sent, answer = next(steps("kinds-validation", "unknown-fields-nested"))
    said = "strict decoding error: " + ", ".join(decode(group_version_kind(sent["create"]), sent["create"]).problems)
    assert answer["body"]["message"].endswith(said)


def test_the_server_names_duplicate_fields_by_path() -> None:
    (first, warned), (second, refused), *_ = steps("kinds-validation", "duplicate-fields")
    decoded = decode(("", "v1", "ConfigMap"), first["send"]["body"].encode())
    assert [json.loads(warning.removeprefix("299 - ")) for warning in warned["warnings"]] == list(decoded.problems)
    assert decoded.object["metadata"] == {"name": "b"}
    assert decoded.object["data"] == warned["body"]["data"]
    said = ", ".join(decode(("", "v1", "ConfigMap"), second["send"]["body"].encode()).problems)
    assert refused["body"]["message"].endswith("strict decoding error: " + said)


def answered_objects() -> Iterator[Any]:
    for file in sorted(CASES.glob("kinds-*/*.expected.json")):
        text = file.read_text().replace('"<time>"', '"2024-01-02T03:04:05Z"')
        for number, step in enumerate(json.loads(text)["steps"]):
            body = step.get("body") if isinstance(step, dict) else None
            if isinstance(body, dict) and {"kind", "apiVersion"} <= body.keys() and schema.for_kind(group_version_kind(body)):
                yield pytest.param(body, id=f"{file.parent.name}-{file.name.partition('.')[0]}-{number}")


# Micro times and counts are masked in the recording, so these answers are not what the server wrote.
MASKED = ("Lease", "Event", "ConfigMapList")


@pytest.mark.parametrize("answer", list(answered_objects()))
def test_every_answer_of_the_server_goes_through_its_structs_unchanged(answer: dict[str, Any]) -> None:
    if answer["kind"] not in MASKED:
        assert decoding.normalise(schema_of(group_version_kind(answer)), answer) == decoding.Decoded(answer)


# --- Rules, one by one -----------------------------------------------------------------------------------------------


def test_plain_structs_appear_and_empty_fields_vanish() -> None:
    container: dict[str, Any] = {"name": "a", "args": [], "env": None, "stdin": False, "imagePullPolicy": ""}
    spec = {"containers": [container], "hostNetwork": False, "shareProcessNamespace": False}
    body = {"metadata": {"name": "p", "labels": {}}, "spec": spec}
    assert decode(POD, body).object == {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "a", "resources": {}}], "shareProcessNamespace": False},
        "status": {},
    }


def test_required_fields_show_their_zero_value() -> None:
    made = decode(("apps", "v1", "DaemonSet"), {}).object
    assert made["spec"] == {"selector": None, "template": {"metadata": {}, "spec": {"containers": None}}, "updateStrategy": {}}
    assert made["status"] == {"currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0}


def test_null_counts_as_nothing() -> None:
    made = decode(("", "v1", "ConfigMap"), {"data": {"a": None, "b": "x"}, "immutable": None, "metadata": None}).object
    assert made == {"data": {"a": "", "b": "x"}, "metadata": {}}
    assert decode(("", "v1", "ConfigMap"), b"null").object == {"metadata": {}}


def test_quantities_times_and_bytes_become_canonical() -> None:
    limits = {"cpu": 0.5, "memory": "1024Ki", "a": 1000, "b": " 1Gi "}
    pod = decode(POD, {"spec": {"containers": [{"name": "c", "resources": {"limits": limits}}]}}).object
    assert pod["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "500m", "memory": "1Mi", "a": "1k", "b": "1Gi"}
    lease = decode(("coordination.k8s.io", "v1", "Lease"), {"spec": {"renewTime": "2024-01-02T03:04:05.500000+01:00"}}).object
    assert lease["spec"]["renewTime"] == "2024-01-02T02:04:05.500000Z"
    assert decode(("", "v1", "Secret"), {"data": {"k": "YW\nJj"}}).object["data"] == {"k": "YWJj"}


def test_structs_given_twice_are_merged_and_lists_replaced() -> None:
    second = b'{"hostname":"b","containers":[{"name":"x"}],"containers":[{"image":"i"}]}'
    body = b'{"spec":{"hostname":"a","nodeName":"n"},"spec":' + second + b"}"
    decoded = decode(POD, body)
    assert decoded.object["spec"]["hostname"] == "b"
    assert decoded.object["spec"]["nodeName"] == "n"
    # NB: Go fills the list that is already there, so its first item keeps the name.
    assert decoded.object["spec"]["containers"] == [{"image": "i", "name": "x", "resources": {}}]
    assert decoded.problems == ('duplicate field "spec"', 'duplicate field "spec.containers"')


def test_duplicates_are_found_however_the_body_is_written() -> None:
    pretty = b'{\n  "data": {"a" : "1", "a": "2"},\n  "metadata": {"name": "\\":"}\n}'
    assert decode(("", "v1", "ConfigMap"), pretty).problems == ('duplicate field "data.a"',)


def test_problems_are_counted_up_to_a_hundred() -> None:
    assert len(decode(("", "v1", "ConfigMap"), {f"x{i}": i for i in range(150)}).problems) == 100


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "unexpected end of JSON input"),
        (b'{"kind":', "unexpected end of JSON input"),
        (b"{'a':1}", "invalid character '\\'' looking for beginning of object key string"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b'{"a":NaN}', "invalid character 'N' looking for beginning of value"),
        (b"[]", "json: cannot unmarshal array into Go value of type v1.Pod"),
    ],
)
def test_a_body_that_is_no_object(body: bytes, message: str) -> None:
    assert error_of(POD, body) == message


def test_embedded_structs_are_named_in_errors() -> None:
    body = {"spec": {"containers": [{"livenessProbe": {"httpGet": {"host": 1}}}], "volumes": [{"emptyDir": 1}]}}
    where = "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.host"
    assert error_of(POD, body) == f"json: cannot unmarshal number into Go struct field {where} of type string"


def test_the_first_type_error_is_told_unless_a_value_reads_itself() -> None:
    body = {"spec": {"hostname": 1, "containers": [{"resources": {"limits": {"cpu": "lots"}}}]}}
    assert error_of(POD, body).startswith("quantities must match")


def test_schemas_within_schemas_drop_what_they_do_not_know_without_a_word() -> None:
    crd = ("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    inner = {"type": "object", "zzz": 1, "additionalProperties": {"type": "string", "nope": 1}}
    decoded = decode(crd, {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": inner}}]}})
    assert decoded.problems == ('unknown field "spec.versions[0].schema.openAPIV3Schema.zzz"',)
    assert decoded.object["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {
        "type": "object",
        "additionalProperties": {"type": "string"},
    }


def test_bodies_that_are_nested_too_deeply_are_refused() -> None:
    crd = ("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    deep = b'{"not":' * 2000 + b"{}" + b"}" * 2000
    assert error_of(crd, b'{"spec":{"versions":[{"schema":{"openAPIV3Schema":' + deep + b"}}]}}") == "exceeded max depth"
    inside = b'{"not":' * 500 + b"{}" + b"}" * 500
    assert error_of(crd, b'{"spec":{"versions":[{"schema":{"openAPIV3Schema":' + inside + b"}}]}}") == "exceeded max depth"


def test_text_that_is_not_unicode_is_replaced() -> None:
    decoded = decode(("", "v1", "ConfigMap"), b'{"data":{"a":"\\ud800","b":"\xff"}}')
    assert decoded.object["data"] == {"a": "\ufffd", "b": "\ufffd"}


def test_the_given_object_is_never_changed() -> None:
    given = {"metadata": {"labels": {}}, "spec": {"containers": [{"name": "a", "args": []}]}}
    before = orjson.dumps(given)
    decoding.normalise(schema_of(POD), given)
    assert orjson.dumps(given) == before


SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=3)
VALUES = st.recursive(SCALARS, lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=3), part, max_size=3))
MEMBERS = st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["1", '"\\":"', '{"a" :1}', '{"a":1,"a":2}']))


@given(VALUES)
def test_duplicates_are_ruled_out_only_when_there_are_none(value: Any) -> None:
    for body in (orjson.dumps(value), json.dumps(value, indent=1).encode(), json.dumps(value, ensure_ascii=True).encode()):
        if fulltext.has_no_duplicates(body, orjson.loads(body)):
            assert fulltext.duplicates(fulltext.read(body)) == []


@given(st.lists(MEMBERS, max_size=3))
def test_duplicates_are_never_missed(pairs: list[tuple[str, str]]) -> None:
    body = ("{" + ",".join(f'"{key}":{value}' for key, value in pairs) + "}").encode()
    if fulltext.duplicates(fulltext.read(body)):
        assert not fulltext.has_no_duplicates(body, orjson.loads(body))


# --- Which kind a body is --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"apiVersion": "apps/v1", "kind": "Deployment"}, ("apps", "v1", "Deployment")),
        ({"apiVersion": "v1", "kind": "Pod"}, ("", "v1", "Pod")),
        ({"APIVERSION": "v1", "Kind": "Pod"}, ("", "v1", "Pod")),
        ({"apiVersion": None}, ("", "", "")),
        ({"apiVersion": "/"}, ("", "", "")),
        (None, ("", "", "")),
    ],
)
def test_a_body_names_its_kind(value: Any, expected: Gvk) -> None:
    assert decoding.kind_of(value) == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c"),
        ({"apiVersion": 1}, f"{NO_KIND}number into Go struct field .apiVersion of type string"),
        ("x", f"{NO_KIND}string into Go value of type {TYPE_META}"),
    ],
)
def test_a_body_that_names_no_kind(value: Any, message: str) -> None:
    with pytest.raises(decoding.DecodeError) as caught:
        decoding.kind_of(value)
    assert str(caught.value) == message


def test_careful_reading_and_the_fast_walk_agree() -> None:
    """Where the fast walk has an answer, reading with care has the same one."""
    for row in RECORDED:
        node = schema_of(tuple(row["kind"]))
        value = fulltext.loads(row["body"].encode())
        try:
            fast = roundtrip.walker(node)(value)
        except roundtrip.Unusual:
            continue
        clean, problems = structs.read(node, value)
        assert problems == []
        assert roundtrip.walker(node)(clean) == fast


class TestRestoring:
    """What a strategic merge made, read by Go's reflection and not from JSON."""

    @staticmethod
    def restored(value: dict[str, Any]) -> decoding.Decoded:
        found = schema.for_kind(("admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicyBinding"))
        assert found is not None
        return decoding.restore(found, value, {})

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ({"spec": "x"}, "cannot restore struct from: string"),
            ({"spec": {"policyName": 1}}, "cannot convert int64 to string"),
            ({"spec": {"policyName": {}}}, "unrecognized type: string"),
            ({"spec": {"matchResources": {"resourceRules": {}}}}, "cannot restore slice from map"),
            ({"metadata": {"labels": ["a"]}}, "cannot restore map from slice"),
        ],
    )
    def test_what_does_not_fit_is_told_in_other_words(self, value: dict[str, Any], text: str) -> None:
        with pytest.raises(merging.Unconvertible) as refused:
            self.restored(value)
        assert str(refused.value) == text

    def test_unknown_fields_are_told_sorted(self) -> None:
        value = {"zebra": 1, "spec": {"colour": 1, "policyName": "p", "matchResources": {"resourceRules": [{}, {"what": 1}]}}}
        told = self.restored(value).problems
        paths = ("spec.colour", "spec.matchResources.resourceRules[1].what", "zebra")
        assert told == tuple(f'unknown field "{path}"' for path in paths)
