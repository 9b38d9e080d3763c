"""Tables, compared with what kube-apiserver v1.36.4 made of the same objects (tables.json, columns.json, recorded cases)."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.presentation import recorded

from kadmit.api.errors import ApiError
from kadmit.kinds import catalog
from kadmit.kinds.catalog import Catalog, Resource
from kadmit.presentation import ages, jsonpath, tables
from kadmit.presentation.media import Target
from kadmit.presentation.tables import Printer, TableOptions

HERE = Path(__file__).parent
KINDS: list[dict[str, Any]] = json.loads((HERE / "tables.json").read_text())
COLUMNS: dict[str, Any] = json.loads((HERE / "columns.json").read_text())
TABLE = Target("meta.k8s.io", "v1", "Table")
NOW = 1_800_000_000.0


def found(group: str, version: str, plural: str, served: Catalog | None = None) -> Resource:
    resource = (served or catalog.builtin()).resource(group, version, plural)
    assert resource is not None
    return resource


def made(value: Any, printer: Printer, options: TableOptions | None = None) -> dict[str, Any]:
    return tables.table(value, printer, options or TableOptions(), now=NOW, target=TABLE)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind['plural']}.{kind['group']}")
def test_rows_are_those_of_kubernetes(kind: dict[str, Any]) -> None:
    printer = tables.printer(found(kind["group"], kind["version"], kind["plural"]))
    listed = [column.as_json() for column in printer.columns if column.name]
    assert [[c["name"], c["type"], c["format"], c["priority"]] for c in listed] == kind["columns"]
    for row in kind["rows"]:
        shown = printer.row(row["object"], kind["now"])
        assert shown == {key: value for key, value in row.items() if key != "object"}


@pytest.mark.parametrize("column", COLUMNS["columns"], ids=lambda column: f"{column['jsonPath']}-{column['type']}")
def test_custom_columns_are_those_of_kubernetes(column: dict[str, Any]) -> None:
    served = catalog.builtin().with_crds(recorded.given("kinds-verbs/table-custom"))
    printer = tables.printer(found("kinds-q.example.com", "v1", "widgets", served), custom_columns=[column])
    cell = printer.row({"metadata": {"name": "a"}, "spec": COLUMNS["spec"]}, NOW)["cells"][1]
    assert (cell, type(cell)) == (column["cell"], type(column["cell"]))


def test_recorded_tables_of_a_custom_kind() -> None:
    case = "kinds-verbs/table-custom"
    definitions = recorded.given(case)
    served = catalog.builtin().with_crds(definitions)
    columns = definitions[0]["spec"]["versions"][0]["additionalPrinterColumns"]
    expected = [answer["body"] for step, answer in recorded.steps(case) if "list" in step]
    objects = [step["create"] for step, _ in recorded.steps(case) if "create" in step]
    for plural, custom, wanted in (("widgets", columns, expected[0]), ("gears", None, expected[1])):
        printer = tables.printer(found("kinds-q.example.com", "v1", plural, served), custom_columns=custom)
        listed = [{key: c[key] for key in ("format", "name", "priority", "type")} for c in made({}, printer)["columnDefinitions"]]
        assert listed == wanted["columnDefinitions"]
    widgets = [value for value in objects if value["kind"] == "Widget"]
    printer = tables.printer(found("kinds-q.example.com", "v1", "widgets", served), custom_columns=columns)
    assert [printer.row(value, NOW)["cells"][:-1] for value in widgets] == [row["cells"][:-1] for row in expected[0]["rows"]]


def test_a_list_makes_rows_with_metadata_none_or_the_whole_object() -> None:
    printer = tables.printer(found("", "v1", "configmaps"))
    item = {"metadata": {"name": "a", "labels": {"x": "y"}, "creationTimestamp": "2027-01-15T07:59:55Z"}, "data": {"k": "v"}}
    listed = {
        "kind": "ConfigMapList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "5", "continue": "c", "remainingItemCount": 2},
        "items": [item],
    }
    table = made(listed, printer)
    assert table["metadata"] == listed["metadata"]
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": item["metadata"]}
    assert table["rows"] == [{"cells": ["a", 1, "5s"], "object": partial}]
    assert made(listed, printer, TableOptions(tables.NONE))["rows"][0]["object"] is None
    whole = made(listed, printer, TableOptions(tables.OBJECT))["rows"][0]["object"]
    assert whole == {"kind": "ConfigMap", "apiVersion": "v1", **item}


def test_later_events_of_a_watch_have_no_columns() -> None:
    printer = tables.printer(found("", "v1", "configmaps"))
    assert made({"metadata": {}}, printer, TableOptions(headers=False))["columnDefinitions"] is None


def test_the_end_of_initial_events_is_shown_even_if_no_objects_are_asked_for() -> None:
    bookmark = {"metadata": {"annotations": {"k8s.io/initial-events-end": "true"}}}
    row = made(bookmark, tables.printer(found("", "v1", "configmaps")), TableOptions(tables.NONE))["rows"][0]
    assert row["object"]["metadata"] == bookmark["metadata"]


def test_what_rows_may_carry_is_checked() -> None:
    assert tables.options({}).include_object == tables.METADATA
    assert tables.options({"includeObject": [""]}).include_object == tables.METADATA
    with pytest.raises(ApiError) as refused:
        tables.options({"includeObject": ["Everything"]})
    assert str(refused.value) == (
        'Unable to convert to Table as requested: includeObject: Invalid value: "Everything": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )


HOOKS = ("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations")
HOOK = {"kind": "MutatingWebhookConfiguration", "apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "a"}}
HOOK_LIST = {"kind": "MutatingWebhookConfigurationList", "apiVersion": HOOK["apiVersion"], "metadata": {}, "items": [HOOK]}


def transformed(value: Any, kind: str, resource: tuple[str, str, str] = HOOKS) -> Any:
    target = Target("meta.k8s.io", "v1", kind)
    return tables.transformed(value, target, tables.printer(found(*resource)), TableOptions(), now=NOW)


def test_metadata_alone_is_that_of_one_object_or_of_a_list() -> None:
    assert transformed(HOOK, "PartialObjectMetadata")["metadata"] == {"name": "a"}
    assert transformed(HOOK_LIST, "PartialObjectMetadataList")["items"] == [transformed(HOOK, "PartialObjectMetadata")]
    assert transformed({**HOOK_LIST, "items": []}, "PartialObjectMetadataList")["items"] is None


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (
            HOOK_LIST,
            "PartialObjectMetadata",
            (
                "you requested PartialObjectMetadata, but the requested object is a list "
                "(*admissionregistration.MutatingWebhookConfigurationList)"
            ),
        ),
        (
            HOOK,
            "PartialObjectMetadataList",
            (
                "you requested PartialObjectMetadataList, but the requested object is not a list "
                "(*admissionregistration.MutatingWebhookConfiguration)"
            ),
        ),
    ],
    ids=["list", "object"],
)
def test_the_other_is_refused(value: Any, kind: str, message: str) -> None:
    with pytest.raises(ApiError) as refused:
        transformed(value, kind)
    assert (refused.value.status.code, refused.value.status.message) == (406, message)


def test_a_status_is_never_transformed() -> None:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Success"}
    assert transformed(status, "Table") is status


def test_annotations_that_stand_in_for_fields_are_not_metadata() -> None:
    value = {"kind": "DaemonSet", "metadata": {"name": "a", "annotations": {"deprecated.daemonset.template.generation": "1"}}}
    assert tables.partial(value, TABLE)["metadata"] == {"name": "a"}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1.5, "0s"),
        (0.9, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (599, "9m59s"),
        (600, "10m"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 60, "3h1m"),
        (8 * 3600, "8h"),
        (48 * 3600 - 1, "47h"),
        (48 * 3600, "2d"),
        (49 * 3600, "2d1h"),
        (8 * 86400, "8d"),
        (2 * 365 * 86400 - 1, "729d"),
        (2 * 365 * 86400, "2y"),
        (2 * 365 * 86400 + 86400, "2y1d"),
        (8 * 365 * 86400, "8y"),
    ],
)
def test_ages_are_told_in_few_characters(seconds: float, text: str) -> None:
    assert ages.human(seconds) == text


@pytest.mark.parametrize("path", [".a[", ".a[?(@.b]", ".a[x]", "." + "[?(@.x==1)]" * 600 + "x" * 4000, "name"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(jsonpath.JsonPathError):
        jsonpath.compile_path(path)


def test_a_path_that_finds_too_much_finds_nothing() -> None:
    value = {"a": [[[[1] * 20] * 20] * 20] * 20}
    assert jsonpath.compile_path(".a[*][*][*][*][*]").find(value) == []
