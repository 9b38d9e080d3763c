"""/openapi/v2 as protobuf, in the messages of gnostic: the only form in which Go's discovery client asks for it.

kubectl needs it where no newer way will do: lists of mixed kinds, `explain --output=plaintext-openapiv2`, old releases. A table
says for each message which number a JSON key has and how its value is written; everything else follows.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import orjson

from kadmit.kinds.wireformat import double, integer, message

Json: TypeAlias = Any
Writer: TypeAlias = Callable[[int, Json], bytes]
Message: TypeAlias = Mapping[str, tuple[int, Writer]]


def document(swagger: Mapping[str, Json]) -> bytes:
    return _fields(_DOCUMENT, swagger)


def _fields(shape: Message, value: Mapping[str, Json]) -> bytes:
    """NB: clients want keys that begin with x- in a field of their own, whose number stands under x-."""
    made = []
    for key, held in value.items():
        found = shape.get(key)
        if found is not None:
            made.append(found[1](found[0], held))
        elif key.startswith("x-") and "x-" in shape:
            number, write = shape["x-"]
            made.append(write(number, {key: held}))
    return b"".join(made)


# ---------------------------------------------------------------- how values are written


def _text(number: int, value: Json) -> bytes:
    return message(number, value.encode())


def _flag(number: int, value: Json) -> bytes:
    return integer(number, 1) if value else b""


def _any(number: int, value: Json) -> bytes:
    """Any value, as the YAML that JSON is."""
    return message(number, message(2, orjson.dumps(value) + b"\n"))


def _all(write: Writer) -> Writer:
    return lambda number, values: b"".join(write(number, value) for value in values)


def _named(write: Writer) -> Writer:
    """Entries of a map, each with its name."""
    return lambda number, values: b"".join(
        message(number, message(1, name.encode()) + write(2, value)) for name, value in values.items()
    )


def _inside(write: Writer, place: int = 1) -> Writer:
    """In a message that has nothing else."""
    return lambda number, value: message(number, write(place, value))


def _one(shape: Callable[[], Message]) -> Writer:
    return lambda number, value: message(number, _fields(shape(), value))


def _additional(number: int, value: Json) -> bytes:
    inside = _schema(1, value) if isinstance(value, dict) else integer(2, int(value))
    return message(number, inside)


def _types(number: int, value: Json) -> bytes:
    return message(number, _texts(1, value if isinstance(value, list) else [value]))


def _items(number: int, value: Json) -> bytes:
    return message(number, _all(_schema)(1, value if isinstance(value, list) else [value]))


def _parameter(number: int, value: Json) -> bytes:
    """A reference, a body, or one of the kinds that differ in little but their number."""
    if "$ref" in value:
        return message(number, message(2, _text(1, value["$ref"])))
    if value["in"] == "body":
        return message(number, message(1, message(1, _fields(_BODY, value))))
    place, shape = _PLACES[value["in"]]
    return message(number, message(1, message(2, message(place, _fields(shape, value)))))


def _answers(number: int, value: Json) -> bytes:
    return message(number, _named(_inside(_one(lambda: _ANSWER)))(1, value))


def _security(number: int, value: Json) -> bytes:
    return message(number, _named(_inside(_one(lambda: _API_KEY), 2))(1, value))


_texts = _all(_text)
_extensions = _named(_any)
_schema = _one(lambda: _SCHEMA)
_operation = _one(lambda: _OPERATION)


# ---------------------------------------------------------------- messages


_SCHEMA: Message = {
    "$ref": (1, _text),
    "format": (2, _text),
    "title": (3, _text),
    "description": (4, _text),
    "default": (5, _any),
    "multipleOf": (6, double),
    "maximum": (7, double),
    "exclusiveMaximum": (8, _flag),
    "minimum": (9, double),
    "exclusiveMinimum": (10, _flag),
    "maxLength": (11, integer),
    "minLength": (12, integer),
    "pattern": (13, _text),
    "maxItems": (14, integer),
    "minItems": (15, integer),
    "uniqueItems": (16, _flag),
    "maxProperties": (17, integer),
    "minProperties": (18, integer),
    "required": (19, _texts),
    "enum": (20, _all(_any)),
    "additionalProperties": (21, _additional),
    "type": (22, _types),
    "items": (23, _items),
    "allOf": (24, _all(_schema)),
    "properties": (25, _inside(_named(_schema))),
    "example": (30, _any),
    "x-": (31, _extensions),
}
_BODY: Message = {
    "description": (1, _text),
    "name": (2, _text),
    "in": (3, _text),
    "required": (4, _flag),
    "schema": (5, _schema),
    "x-": (6, _extensions),
}
_BASE: Message = {"required": (1, _flag), "in": (2, _text), "description": (3, _text), "name": (4, _text)}
_WITHOUT_EMPTY: Message = {**_BASE, "type": (5, _text), "format": (6, _text), "uniqueItems": (19, _flag), "x-": (22, _extensions)}
_WITH_EMPTY: Message = {**_BASE, "type": (6, _text), "format": (7, _text), "uniqueItems": (20, _flag), "x-": (23, _extensions)}
_PLACES = {"header": (1, _WITHOUT_EMPTY), "formData": (2, _WITH_EMPTY), "query": (3, _WITH_EMPTY), "path": (4, _WITHOUT_EMPTY)}
_ANSWER: Message = {"description": (1, _text), "schema": (2, _inside(_schema)), "x-": (5, _extensions)}
_OPERATION: Message = {
    "tags": (1, _texts),
    "summary": (2, _text),
    "description": (3, _text),
    "operationId": (5, _text),
    "produces": (6, _texts),
    "consumes": (7, _texts),
    "parameters": (8, _all(_parameter)),
    "responses": (9, _answers),
    "schemes": (10, _texts),
    "deprecated": (11, _flag),
    "x-": (13, _extensions),
}
_PATH: Message = {
    "get": (2, _operation),
    "put": (3, _operation),
    "post": (4, _operation),
    "delete": (5, _operation),
    "options": (6, _operation),
    "head": (7, _operation),
    "patch": (8, _operation),
    "parameters": (9, _all(_parameter)),
    "x-": (10, _extensions),
}
_API_KEY: Message = {"type": (1, _text), "name": (2, _text), "in": (3, _text), "description": (4, _text)}
_DOCUMENT: Message = {
    "swagger": (1, _text),
    "info": (2, _one(lambda: {"title": (1, _text), "version": (2, _text)})),
    "paths": (8, _inside(_named(_one(lambda: _PATH)), 2)),
    "definitions": (9, _inside(_named(_schema))),
    "security": (12, _all(_inside(_named(_inside(_texts))))),
    "securityDefinitions": (13, _security),
}
