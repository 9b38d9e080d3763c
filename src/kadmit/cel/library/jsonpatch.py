"""jsonpatch.escapeKey: a map's key as one step of a JSON pointer. Only mutations declare it."""

from kadmit.cel import types
from kadmit.cel.declarations import Example, Function, function, plain
from kadmit.cel.library import traversal
from kadmit.cel.values import Value


def escape_key(key: str) -> Value:
    return key.replace("~", "~0").replace("/", "~1")


FUNCTIONS: tuple[Function, ...] = (
    function(
        "jsonpatch.escapeKey",
        plain("string_jsonpatch_escapeKey_string", (types.STRING,), types.STRING, escape_key, since=32),
        cost=traversal.reading,
        doc="Escapes a key for use in the path of a JSONPatch: ~ becomes ~0, / becomes ~1.",
        examples=(Example("jsonpatch.escapeKey('example.com/a~b')", "example.com~1a~0b"),),
    ),
)
