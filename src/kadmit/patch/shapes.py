"""What structured merge must know of a kind: where its maps and lists are granular, and by which keys.

A shape is made once per kind by kadmit.kinds (built-in schemas, CRD schemas) and shared by all requests. This module
knows no kind and no OpenAPI, so that the merge stays plain data in, plain data out.
"""

import enum
from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct, field


class Scalar(enum.Enum):
    """What a leaf may hold. UNTYPED takes any scalar (int-or-string, quantities)."""

    STRING = "string"
    NUMERIC = "numeric"
    BOOLEAN = "boolean"
    UNTYPED = "untyped"


class Leaf(Struct, frozen=True):
    scalar: Scalar


class Atomic(Struct, frozen=True):
    """Anything, owned as a whole: unknown JSON, preserved unknown fields that are declared atomic."""


class Deduced(Struct, frozen=True):
    """No schema: maps are granular, lists atomic, as Kubernetes deduces for untyped objects and unknown fields."""


class Lazy(Struct, frozen=True):
    """A shape that refers to itself (JSONSchemaProps): resolved when walked."""

    resolve: "Callable[[], Shape]"


class ListShape(Struct, frozen=True):
    """keys: a list map; keys empty and associative: a set; not associative: atomic."""

    element: "Shape"
    associative: bool = False
    keys: tuple[str, ...] = ()
    defaults: Mapping[str, object] = field(default_factory=dict)  # values of keys that an item may leave out


class MapShape(Struct, frozen=True):
    """fields: an object's; element: the shape of every other key (None: there is no other key)."""

    fields: Mapping[str, "Shape"] = field(default_factory=dict)
    element: "Shape | None" = None
    atomic: bool = False


Shape: TypeAlias = Leaf | Atomic | Deduced | Lazy | ListShape | MapShape
