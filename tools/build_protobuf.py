"""Makes the table of protobuf field numbers that kadmit.kinds carries, out of the message files that Kubernetes publishes.

    python tools/build_protobuf.py FOLDER --out FILE

FOLDER is searched for generated.proto. The table is zlib-compressed text. Every line is a schema: its name, then for each of its
fields the name and the number. What Go embeds is a message of its own on the wire, but not in JSON: such fields have a path of
numbers (`hostPath=2.1`). Types need no telling: the schema has them.
"""

import argparse
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from kadmit.kinds import table

Message: TypeAlias = dict[str, tuple[str, int]]  # field: type and number

_PACKAGE = re.compile(r"^package k8s\.io\.([\w.]+);", re.M)
_MESSAGE = re.compile(r"^message (\w+) \{(.*?)^\}", re.M | re.S)
_FIELD = re.compile(r"^  (?:optional|repeated|map<string,)\s*\.?([\w.]+)>?\s+(\w+) = (\d+);", re.M)
# JSON names that are no identifiers.
_RENAMED = {"schema": "$schema", "ref": "$ref"}


def messages(folder: Path) -> dict[str, Message]:
    """All messages by their name, which is their schema's name."""
    found: dict[str, Message] = {}
    for path in sorted(folder.rglob("generated.proto")):
        text = path.read_text()
        package = _PACKAGE.search(text)
        assert package is not None, path
        for name, body in _MESSAGE.findall(text):
            fields = {field: (_whole(of, package[1]), int(number)) for of, field, number in _FIELD.findall(body)}
            found[_schema_name(f"{package[1]}.{name}")] = fields
    return found


def _whole(name: str, package: str) -> str:
    return _schema_name(name.removeprefix("k8s.io.") if "." in name else f"{package}.{name}")


def _schema_name(name: str) -> str:
    first, dot, rest = name.partition(".")
    return f"{first.replace('_', '-')}{dot}{rest}"


def numbers(name: str, known: Mapping[str, Message], properties: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Each field's JSON name and the path to it."""
    for field, (of, number) in known.get(name, {}).items():
        shown = _json_name(field, properties)
        if shown is not None:
            yield shown, str(number)
        else:
            yield from ((inner, f"{number}.{path}") for inner, path in numbers(of, known, properties))


def _json_name(field: str, properties: Mapping[str, object]) -> str | None:
    dashed = re.sub(r"[A-Z]", lambda letter: f"-{letter[0].lower()}", field)
    capitals = next((name for name in properties if name.lower() == field.lower()), None)  # `aPIGroup`
    return next((name for name in (field, _RENAMED.get(field), dashed, capitals) if name in properties), None)


def lines(known: Mapping[str, Message]) -> Iterator[str]:
    for name in sorted(table.definition_names()):
        properties = table.definition(name).get("properties") or {}
        told = dict(numbers(name, known, properties)) if properties else {}
        if told:
            yield f"{name} " + " ".join(f"{field}={path}" for field, path in told.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    made = "\n".join(lines(messages(arguments.folder)))
    arguments.out.write_bytes(zlib.compress(made.encode(), 9))


if __name__ == "__main__":
    main()
