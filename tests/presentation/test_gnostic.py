"""Swagger in protobuf: the numbers that gnostic gives to its messages."""

from typing import Any

import pytest

from kadmit.kinds.wireformat import double, integer, message
from kadmit.presentation.openapi import gnostic


def text(number: int, value: str) -> bytes:
    return message(number, value.encode())


def definition(schema: bytes) -> bytes:
    return message(9, message(1, text(1, "a.B") + message(2, schema)))


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({"type": "string", "format": "byte"}, message(22, text(1, "string")) + text(2, "byte")),
        ({"$ref": "#/definitions/c"}, text(1, "#/definitions/c")),
        ({"maximum": 2, "maxLength": 300}, double(7, 2) + integer(11, 300)),
        ({"required": ["a", "b"]}, text(19, "a") + text(19, "b")),
        ({"items": {"type": "x"}}, message(23, message(1, message(22, text(1, "x"))))),
        ({"properties": {"p": {"title": "t"}}}, message(25, message(1, text(1, "p") + message(2, text(3, "t"))))),
        ({"additionalProperties": {"title": "t"}}, message(21, message(1, text(3, "t")))),
        ({"additionalProperties": True}, message(21, integer(2, 1))),
        ({"default": {}}, message(5, text(2, "{}\n"))),
        ({"x-a": ["b"]}, message(31, text(1, "x-a") + message(2, text(2, '["b"]\n')))),
        ({"what-nobody-knows": 1}, b""),
    ],
)
def test_schemas(schema: dict[str, Any], written: bytes) -> None:
    assert gnostic.document({"definitions": {"a.B": schema}}) == definition(written)


def test_paths() -> None:
    body = {"name": "body", "in": "body", "schema": {"title": "t"}}
    query = {"name": "q", "in": "query", "type": "string"}
    operation = {"parameters": [body, query], "responses": {"200": {"description": "OK"}}}
    parameters = message(8, message(1, message(1, text(2, "body") + text(3, "body") + message(5, text(3, "t"))))) + message(
        8, message(1, message(2, message(3, text(4, "q") + text(2, "query") + text(6, "string"))))
    )
    answers = message(9, message(1, text(1, "200") + message(2, message(1, text(1, "OK")))))
    path = message(2, text(1, "/a") + message(2, message(8, parameters + answers)))
    assert gnostic.document({"paths": {"/a": {"patch": operation}}}) == message(8, path)
