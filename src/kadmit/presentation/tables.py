"""Objects as rows of a Table, or as nothing but their metadata: what kubectl get asks for.

    printer = tables.printer(resource)                   # or with the columns of a CustomResourceDefinition
    table = tables.table(value, printer, options, now=now)

A list makes a row per item. Kinds without a printer of their own show their name and when they were created. Ages are told
as of `now`. A watch lists the columns in its first event only (`TableOptions.headers`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from kadmit.api import errors, fields
from kadmit.api.errors import ApiError, Status
from kadmit.api.gojson import marshal
from kadmit.cel import gotext
from kadmit.kinds import conversion, times
from kadmit.kinds.catalog import Gvk, Resource
from kadmit.presentation import ages, columns, jsonpath, printers
from kadmit.presentation.columns import NAME, Cell, Column, Columns, Item
from kadmit.presentation.jsonpath import JsonPath, JsonPathError
from kadmit.presentation.media import Target
from kadmit.presentation.printers import pods

Json: TypeAlias = Any

METADATA, OBJECT, NONE = "Metadata", "Object", "None"
_INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_PACKAGES = {"": "core"}
_FIRST_BY_PRECEDENCE = ("flowcontrol.apiserver.k8s.io", "FlowSchema")
# Annotations that only stand in for fields of other versions; whoever asks for nothing but metadata does not see them.
_STAND_INS = frozenset(
    {
        "deprecated.daemonset.template.generation",
        "deprecated.deployment.rollback.to",
        *(f"autoscaling.alpha.kubernetes.io/{name}" for name in ("metrics", "current-metrics", "conditions", "behavior")),
    }
)
_METADATA_ORDER = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)
# Kinds that are shown as another version of theirs has them.
_SHOWN_AS: Mapping[Gvk, Gvk] = {
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): ("autoscaling", "v2", "HorizontalPodAutoscaler"),
    ("events.k8s.io", "v1", "Event"): ("", "v1", "Event"),
}


class TableOptions(Struct, frozen=True):
    include_object: str = METADATA
    headers: bool = True


def options(query: Mapping[str, Sequence[str]]) -> TableOptions:
    """Raises ApiError (400)."""
    values = query.get("includeObject")
    asked = values[0] if values else ""
    if asked not in ("", METADATA, OBJECT, NONE):
        problem = fields.invalid(fields.path("includeObject"), asked, "must be 'Metadata', 'Object', 'None', or empty")
        raise errors.bad_request(f"Unable to convert to Table as requested: {problem}")
    return TableOptions(asked or METADATA)


class Printer(Struct, frozen=True):
    """How objects of one kind are shown. `go_type`: what Go calls it. `shown_as`: the version whose fields the columns read."""

    columns: Columns
    go_type: str
    conditions: Callable[[Item], list[Json]] | None = None
    shown_as: Gvk | None = None
    by_precedence: bool = False

    def ordered(self, values: list[Json]) -> list[Json]:
        """The order of rows: that of the list, but for flow schemas."""
        return sorted(values, key=_precedence) if self.by_precedence else values

    def row(self, value: Json, now: float) -> dict[str, Json]:
        item = Item(value if self.shown_as is None else conversion.convert(value, self.shown_as), now)
        made: dict[str, Json] = {"cells": [column.cell(item) for column in self.columns]}
        told = self.conditions(item) if self.conditions else []
        return {**made, "conditions": told} if told else made


def _precedence(schema: Json) -> tuple[int, str]:
    return ((schema.get("spec") or {}).get("matchingPrecedence") or 0, schema["metadata"].get("name", ""))


def printer(
    resource: Resource, *, kind: Gvk | None = None, custom_columns: Iterable[Mapping[str, Json]] | None = None
) -> Printer:
    """`kind`: of a subresource that shows another one (Scale). `custom_columns`: additionalPrinterColumns of the version."""
    gvk = kind or resource.gvk
    if resource.custom and gvk == resource.gvk:
        return Printer(_custom(custom_columns or ()), "unstructured.Unstructured")
    shown_as = _SHOWN_AS.get(gvk)
    group, _, name = shown_as or gvk
    found = printers.BY_KIND.get((group, name), _DEFAULT)
    package = _PACKAGES.get(group, group.partition(".")[0])
    conditions = pods.conditions if found is pods.POD else None
    return Printer(found, f"{package}.{name}", conditions, shown_as, by_precedence=(group, name) == _FIRST_BY_PRECEDENCE)


def table(value: Json, printer: Printer, options: TableOptions, *, now: float, target: Target) -> dict[str, Json]:
    """`value`: an object or a list, with kind and apiVersion; items of a list need neither."""
    items = _items(value)
    listed = [value] if items is None else printer.ordered([_typed(value, item) for item in items])
    return {
        "kind": target.kind,
        "apiVersion": target.api_version,
        "metadata": _list_metadata(value),
        "columnDefinitions": [column.as_json() for column in printer.columns if column.name] if options.headers else None,
        "rows": [{**printer.row(one, now), "object": _shown(one, options, target)} for one in listed],
    }


def _items(value: Json) -> list[Json] | None:
    """The items of a list; None for what is no list."""
    if not value.get("kind", "").endswith("List") or "items" not in value:
        return None
    found: list[Json] = value["items"] or []
    return found


def _typed(listed: Json, item: Json) -> Json:
    if item.get("kind"):
        return item
    return {"kind": listed["kind"].removesuffix("List"), "apiVersion": listed.get("apiVersion", ""), **item}


def _list_metadata(value: Json) -> dict[str, Json]:
    metadata = value.get("metadata") or {}
    known = ("resourceVersion", "continue", "remainingItemCount")
    return {key: metadata[key] for key in known if metadata.get(key) not in (None, "")}


def _shown(value: Json, options: TableOptions, target: Target) -> Json:
    """NB: the bookmark that ends the initial events of a watch is shown whatever was asked for."""
    if options.include_object == OBJECT:
        return value
    ends = ((value.get("metadata") or {}).get("annotations") or {}).get(_INITIAL_EVENTS_END) == "true"
    return partial(value, target) if options.include_object == METADATA or ends else None


# ---------------------------------------------------------------- nothing but metadata


def partial(value: Json, target: Target) -> dict[str, Json]:
    """A PartialObjectMetadata."""
    metadata = value.get("metadata") or {}
    made = {key: metadata[key] for key in _METADATA_ORDER if key in metadata}
    if not _STAND_INS.isdisjoint(made.get("annotations") or ()):
        made["annotations"] = {key: text for key, text in made["annotations"].items() if key not in _STAND_INS}
    if not made.get("annotations", True):
        del made["annotations"]
    return {"kind": "PartialObjectMetadata", "apiVersion": target.api_version, "metadata": made}


def partial_list(value: Json, target: Target) -> dict[str, Json]:
    """A PartialObjectMetadataList. NB: of an empty list the items are null."""
    items = [partial(item, target) for item in _items(value) or ()]
    return {"kind": target.kind, "apiVersion": target.api_version, "metadata": _list_metadata(value), "items": items or None}


def transformed(value: Json, target: Target | None, printer: Printer, options: TableOptions, *, now: float) -> Json:
    """The object or list as the client asked for it; a Status as it is. Raises ApiError (406)."""
    if target is None or (value.get("kind") == "Status" and value.get("apiVersion") == "v1"):
        return value
    is_list = _items(value) is not None
    match target.kind:
        case "Table":
            return table(value, printer, options, now=now, target=target)
        case "PartialObjectMetadata" if not is_list:
            return partial(value, target)
        case "PartialObjectMetadataList" if is_list:
            return partial_list(value, target)
    what = f"is a list (*{printer.go_type}List)" if is_list else f"is not a list (*{printer.go_type})"
    text = f"you requested {target.kind}, but the requested object {what}"
    raise ApiError(Status(406, "NotAcceptable", text))


# ---------------------------------------------------------------- kinds without a printer, custom kinds


def _created_at(item: Item) -> Cell:
    found: str = item.at("metadata.creationTimestamp", "0001-01-01T00:00:00Z")
    return found


_DEFAULT: Columns = (NAME, Column("Created At", _created_at, type="date"))


def _custom(definitions: Iterable[Mapping[str, Json]]) -> Columns:
    """NB: a path that cannot be read ends the columns."""
    made = [NAME]
    listed = list(definitions)
    for definition in listed:
        try:
            made.append(_custom_column(definition))
        except JsonPathError:
            return tuple(made)
    return tuple(made) if listed else (NAME, Column("Age", columns.age, type="date"))


def _custom_column(definition: Mapping[str, Json]) -> Column:
    text: str = definition.get("jsonPath") or ""
    path, kind = jsonpath.compile_path(text), definition.get("type") or ""
    description = definition.get("description") or f"Custom resource definition column (in JSONPath format): {text}"
    return Column(
        definition.get("name") or "",
        _custom_cell(path, kind),
        type=kind,
        format=definition.get("format") or "",
        priority=definition.get("priority") or 0,
        description=description,
    )


def _custom_cell(path: JsonPath, kind: str) -> Callable[[Item], Cell]:
    show = _SHOW.get(kind, _nothing)

    def cell(item: Item) -> Cell:
        found = path.find(item.value)
        return show(found[0], item.now) if found else None

    return cell


def _text(value: Json, _: float) -> Cell:
    if isinstance(value, dict | list):
        return marshal(_sorted(value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return gotext.format_double(value)
    return "<no value>" if value is None else str(value)


def _sorted(value: Json) -> Json:
    """With all keys by the alphabet, as Go writes maps."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _whole(value: Json, _: float) -> Cell:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _fraction(value: Json, _: float) -> Cell:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _nothing(_: Json, __: float) -> Cell:
    return None


def _boolean(value: Json, _: float) -> Cell:
    return value if isinstance(value, bool) else None


def _date(value: Json, now: float) -> Cell:
    if not isinstance(value, str):
        return None
    try:
        moment = times.canonical(value)
    except times.TimeError:
        return "<invalid>"
    return ages.since(moment, now)


_SHOW: Mapping[str, Callable[[Json, float], Cell]] = {
    "string": _text,
    "integer": _whole,
    "number": _fraction,
    "boolean": _boolean,
    "date": _date,
}
