"""Schemas as strategic merge patch needs them: structs, maps and lists by Go's names, patch strategies and merge keys.

Fields of a struct are made when a patch first touches one of them, so a kind that nobody patches costs nothing, and a
schema may hold itself.
"""

import functools
from collections.abc import Callable, Iterator, Mapping

from kadmit.kinds import schema as schemas
from kadmit.kinds.catalog import Gvk
from kadmit.kinds.schema import Node, Schema
from kadmit.patch.strategic import Field, PatchMeta

_SCALARS = {Node.STRING: "string", Node.BYTES: "slice", Node.NUMBER: "float64", Node.BOOLEAN: "bool"}


def for_kind(gvk: Gvk) -> PatchMeta | None:
    """The patch metadata of a built-in kind; custom kinds have none."""
    schema = schemas.for_kind(gvk)
    return of_definition(schema.name) if schema else None


@functools.cache
def of_definition(name: str) -> PatchMeta:
    return _struct(schemas.definition(name))


class _Fields(Mapping[str, Field]):
    """The fields of a struct, made on first use."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], dict[str, Field]]) -> None:
        self._make = make
        self._made: dict[str, Field] | None = None

    def _fields(self) -> dict[str, Field]:
        if self._made is None:
            self._made = self._make()
        return self._made

    def __getitem__(self, name: str) -> Field:
        return self._fields()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields())

    def __len__(self) -> int:
        return len(self._fields())


def _meta(schema: Schema) -> PatchMeta:
    if schema.name:
        return of_definition(schema.name)
    if schema.kind is Node.ARRAY:
        return PatchMeta("slice", element=_meta(schema.items) if schema.items else None)
    if schema.kind is Node.MAP:
        return PatchMeta("map")
    if schema.kind is Node.INTEGER:
        return PatchMeta(schema.format or "int64")
    return PatchMeta(_SCALARS[schema.kind]) if schema.kind in _SCALARS else _struct(schema)


def _struct(schema: Schema) -> PatchMeta:
    return PatchMeta("struct", schema.name.rpartition(".")[2], _Fields(functools.partial(_fields_of, schema)))


def _fields_of(schema: Schema) -> dict[str, Field]:
    return {
        name: Field(_meta(field.schema), field.patch_strategy, field.patch_merge_key) for name, field in schema.fields.items()
    }
