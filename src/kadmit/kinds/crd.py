"""Custom kinds: what a CustomResourceDefinition makes of them.

    kinds = crd.custom_kinds(definition)          # one per version, compiled when first used
    decoded = kinds["v1"].decode(body)            # unknown fields dropped and listed, defaults filled in
    errors = kinds["v1"].validate(new, old, rules=...)

The rules of `x-kubernetes-validations` are CEL, which is compiled and run elsewhere: `validate` takes them as an argument, calls
them after everything else, and not at all when what is wrong already would make them meaningless.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec.structs import replace

from kadmit.api import fields
from kadmit.api.fields import ErrorType, FieldError, Path
from kadmit.kinds import conformity, decoding, embedded, fulltext, listtypes, shapes, structural
from kadmit.kinds import schema as schemas
from kadmit.kinds.catalog import Resource, custom_resources
from kadmit.kinds.conformity import Rules
from kadmit.kinds.decoding import Decoded, DecodeError
from kadmit.kinds.fulltext import Problem
from kadmit.kinds.schema import Schema
from kadmit.patch import gotext
from kadmit.patch.shapes import Shape

Json: TypeAlias = Any
ObjectRules: TypeAlias = Callable[[dict[str, Json], dict[str, Json] | None], list[FieldError]]

_OBJECT_META = {"$ref": "apimachinery.pkg.apis.meta.v1.ObjectMeta"}
_TEXT = {"type": "string"}
_LONG_NUMBER = re.compile(rb"[0-9]{19}")
_MAX_INT32 = 2**31 - 1
_BLOCKING = frozenset(
    {ErrorType.NOT_SUPPORTED, ErrorType.REQUIRED, ErrorType.TOO_LONG, ErrorType.TOO_MANY, ErrorType.TYPE_INVALID}
)
_UNCHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
)


class CustomKind:
    """One version of a custom kind."""

    def __init__(
        self,
        resource: Resource,
        version: Mapping[str, Json],
        *,
        preserve_unknown: bool = False,
        versions: Collection[str] = (),
        storage: str = "",
    ) -> None:
        self.resource = resource
        self.versions = versions or (resource.version,)  # all of the definition
        self.storage = storage or resource.version  # the version in which its objects are kept
        self.raw: Mapping[str, Json] = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        self._preserve_unknown = preserve_unknown
        self._scale: Mapping[str, Json] = (version.get("subresources") or {}).get("scale") or {}
        self.printer_columns: list[Mapping[str, Json]] | None = version.get("additionalPrinterColumns")
        self.selectable_fields: list[str] = [f.get("jsonPath", "") for f in version.get("selectableFields") or ()]
        self._compiled: _Compiled | None = None
        self._bare: structural.Structure | None = None
        self._schema: Schema | None = None
        self._shape: Shape | None = None

    @property
    def schema(self) -> Schema:
        """The schema with what every object has: kind, apiVersion, metadata; also in embedded resources."""
        if self._schema is None:
            self._schema = schemas.custom(_published(self.raw, root=True))
        return self._schema

    @property
    def shape(self) -> Shape:
        """The schema as structured merge needs it."""
        if self._shape is None:
            self._shape = shapes.of_custom(self.schema, preserve_unknown=self._preserve_unknown)
        return self._shape

    @property
    def scale(self) -> Mapping[str, Json]:
        """Where the scale subresource finds its numbers."""
        return self._scale

    @property
    def structure(self) -> structural.Structure:
        """The schema as pruning and defaulting walk it."""
        return self._parts.structure

    def decode(self, body: bytes, value: Json = fulltext.UNREAD) -> Decoded:
        """The object in a JSON body. `value`: what `fulltext.loads` makes of it, if that is known. Raises DecodeError."""
        try:
            if value is fulltext.UNREAD:
                value = fulltext.loads(body)
            if fulltext.has_no_duplicates(body, value) and not _LONG_NUMBER.search(body):
                return self.normalise(value)
            full = fulltext.read(body)
            made = self.normalise(fulltext.plain(full))
            return Decoded(made.object, (*fulltext.duplicates(full), *made.found))
        except fulltext.SyntaxFault as fault:
            raise DecodeError(str(fault)) from None

    def normalise(self, value: Json) -> Decoded:
        """The object as the server holds it: pruned, defaulted, its metadata in order. The value is not changed."""
        if not isinstance(value, dict):
            raise DecodeError(f"json: cannot unmarshal {decoding.called(value)} into Go value of type map[string]interface {{}}")
        unknown_metadata: list[str] = []
        if "metadata" in value:
            metadata, unknown_metadata = structural.object_meta(value["metadata"])
            if metadata is not value["metadata"]:
                value = {**value, "metadata": metadata}
        shaped = self._parts.structure.shape_root(value)
        unknown = (*(f"metadata.{path}" for path in unknown_metadata), *shaped.unknown)
        return Decoded(shaped.object, tuple(Problem("unknown", path) for path in unknown))

    def pruned(self, value: dict[str, Json]) -> dict[str, Json]:
        """An object that was converted to this version. NB: it gets no defaults: those of the version that is kept count."""
        if self._bare is None:
            self._bare = structural.Structure(self._schema_of_objects, defaulting=False)
        return self._bare.shape_root(value).object

    def validate(
        self,
        new: dict[str, Json],
        old: dict[str, Json] | None = None,
        *,
        rules: ObjectRules | None = None,
        metadata: embedded.MetadataCheck | None = None,
    ) -> list[FieldError]:
        """What is wrong with an object, or with the change from `old`. Its own kind and metadata are checked elsewhere.

        rules: its x-kubernetes-validations. metadata: what is asked of any object's metadata, for embedded resources.
        """
        errors = conformity.validate(self._parts.rules, new, old)
        errors += _scale_errors(self._scale, new)
        if self._parts.embedded is not None:
            errors += self._parts.embedded(new, Path(), metadata)
        errors += self._list_errors(new, old)
        return errors + rule_errors(rules, errors, new, old)

    def validate_status(
        self, new: dict[str, Json], old: dict[str, Json], *, rules: ObjectRules | None = None
    ) -> list[FieldError]:
        """What is wrong with a change of the status alone."""
        errors: list[FieldError] = []
        status_rules = self._parts.rules.properties.get("status")
        if "status" in new and status_rules is not None:
            found = conformity.validate(status_rules, new["status"], old.get("status"))
            errors += (replace(error, field=_in_status(error.field)) for error in found)
        errors += _scale_errors({key: self._scale[key] for key in self._scale if key != "specReplicasPath"}, new)
        errors += self._list_errors(new, old)
        return errors + rule_errors(rules, errors, new, old)

    def _list_errors(self, new: dict[str, Json], old: dict[str, Json] | None) -> list[FieldError]:
        """Repeated items. Who had some before may keep them, and get more."""
        check = self._parts.lists
        if check is None or (old is not None and next(check(old, ""), None) is not None):
            return []
        return list(check(new, ""))

    @property
    def _parts(self) -> "_Compiled":
        if self._compiled is None:
            self._compiled = _Compiled(self._schema_of_objects)
        return self._compiled

    @property
    def _schema_of_objects(self) -> Mapping[str, Json]:
        return {**self.raw, "x-kubernetes-preserve-unknown-fields": True} if self._preserve_unknown else self.raw


class _Compiled:
    """What requests need of a schema."""

    __slots__ = ("embedded", "lists", "rules", "structure")

    def __init__(self, raw: Mapping[str, Json]) -> None:
        self.structure = structural.Structure(raw)
        self.rules = Rules(raw)
        self.lists = listtypes.compiled(raw)
        self.embedded = embedded.compiled(raw)


def custom_kinds(definition: Mapping[str, Json]) -> dict[str, CustomKind]:
    """The kinds of a CustomResourceDefinition, by version."""
    spec = definition.get("spec") or {}
    versions = spec.get("versions") or ()
    preserve = bool(spec.get("preserveUnknownFields"))
    names = [version.get("name") or "" for version in versions]
    storage = next((version.get("name") or "" for version in versions if version.get("storage")), "")
    return {
        resource.version: CustomKind(resource, version, preserve_unknown=preserve, versions=names, storage=storage)
        for resource, version in zip(custom_resources(definition), versions, strict=True)
    }


def rule_errors(
    rules: ObjectRules | None, errors: list[FieldError], new: dict[str, Json], old: dict[str, Json] | None
) -> list[FieldError]:
    if rules is None:
        return []
    if any(error.type in _BLOCKING for error in errors):
        return [fields.invalid(Path(), None, _UNCHECKED)]
    return rules(new, old)


def _in_status(field: str) -> str:
    """NB: the message keeps the path as it is within the status."""
    return "status" if field == str(Path()) else f"status.{field}"


def _published(raw: Mapping[str, Json], *, root: bool = False) -> Mapping[str, Json]:
    made = dict(raw)
    if raw.get("properties"):
        made["properties"] = {name: _published(part) for name, part in raw["properties"].items()}
    for part in ("items", "additionalProperties"):
        if isinstance(raw.get(part), Mapping):
            made[part] = _published(raw[part])
    if root or raw.get("x-kubernetes-embedded-resource"):
        identity = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": _OBJECT_META}
        made["properties"] = {**made.get("properties", {}), **identity}
    return made


# --- The scale subresource -------------------------------------------------------------------------------------------


def _scale_errors(scale: Mapping[str, Json], value: dict[str, Json]) -> Iterator[FieldError]:
    for name in ("specReplicasPath", "statusReplicasPath"):
        if scale.get(name):
            yield from _replicas_errors(scale[name], value)
    if scale.get("labelSelectorPath"):
        selector, wrong = _nested(value, scale["labelSelectorPath"], str, "string")
        if wrong:
            yield fields.invalid(Path(scale["labelSelectorPath"]), selector or "", wrong)


def _replicas_errors(path: str, value: dict[str, Json]) -> Iterator[FieldError]:
    replicas, wrong = _nested(value, path, int, "int64")
    at, number = Path(path), replicas or 0
    if wrong:
        yield fields.invalid(at, 0, wrong)
    elif number < 0:
        yield fields.invalid(at, number, "should be a non-negative integer")
    elif number > _MAX_INT32:
        yield fields.invalid(at, number, f"should be less than or equal to {_MAX_INT32}")


def _nested(value: Json, path: str, kind: type, go_type: str) -> tuple[Json, str]:
    """The value at a path such as .spec.replicas, or what is wrong with it; None if there is nothing."""
    names = path.removeprefix(".").split(".")
    for index, name in enumerate(names):
        if value is None:
            return None, ""
        if not isinstance(value, dict):
            return None, _accessor_error(names[: index + 1], value, "map[string]interface{}")
        if name not in value:
            return None, ""
        value = value[name]
    return (value, "") if value.__class__ is kind else (None, _accessor_error(names, value, go_type))


def _accessor_error(names: list[str], value: Json, wanted: str) -> str:
    given = "<nil>" if value is None else gotext.type_name(value)
    return f".{'.'.join(names)} accessor error: {gotext.value_text(value)} is of the type {given}, expected {wanted}"
