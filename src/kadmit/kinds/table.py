"""The packaged table of built-in kinds: the one place that reads it.

The table is made by tools/build_kinds.py. It is decompressed once, on first use; its lines are found by name and
parsed one by one, when somebody asks for that schema. Everything here is raw JSON: `catalog` and `schema` give it meaning.
"""

import functools
import importlib.resources
import zlib
from collections.abc import KeysView
from typing import Any, TypeAlias

import orjson

Json: TypeAlias = Any

_FILE = "kubernetes-1.36.bin"


@functools.cache
def _lines() -> tuple[bytes, dict[str, bytes]]:
    data = importlib.resources.files("kadmit.kinds").joinpath("data", _FILE).read_bytes()
    head, *lines = zlib.decompress(data).split(b"\n")
    definitions: dict[str, bytes] = {}
    for line in lines:
        name, _, schema = line.partition(b" ")
        definitions[name.decode()] = schema
    return head, definitions


@functools.cache
def _head() -> dict[str, Json]:
    head: dict[str, Json] = orjson.loads(_lines()[0])
    return head


def resources() -> list[dict[str, Json]]:
    """One row per resource and version, in the order in which discovery lists them."""
    rows: list[dict[str, Json]] = _head()["resources"]
    return rows


def schema_names() -> dict[str, str]:
    """The schema of a kind, by "group/version/Kind"."""
    names: dict[str, str] = _head()["kinds"]
    return names


def definition_names() -> KeysView[str]:
    return _lines()[1].keys()


def definition(name: str) -> dict[str, Json]:
    """The schema of this name, as OpenAPI has it, references by name."""
    schema: dict[str, Json] = orjson.loads(_lines()[1][name])
    return schema
