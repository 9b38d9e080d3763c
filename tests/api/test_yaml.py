"""YAML as Kubernetes reads it."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml as pyyaml

from kadmit.api import yaml

# What sigs.k8s.io/yaml made of these documents, leniently and strictly.
RECORDED = [json.loads(line) for line in Path(__file__).with_name("yaml.jsonl").read_text().splitlines()]
CASES = Path(__file__).parents[1] / "conformance" / "cases"


def exact(value: Any) -> str:
    """Text that tells 1 from 1.0 and True."""
    return json.dumps(value, sort_keys=True)


def whole_numbers(text: str) -> int | float:
    number = int(text)
    return number if -(2**63) <= number < 2**63 else float(text)


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: row["yaml"])
def test_kubernetes_reads_the_same(row: dict[str, Any]) -> None:
    if "error" in row:
        with pytest.raises(yaml.YamlError) as caught:
            yaml.load(row["yaml"])
        assert str(caught.value) == row["error"]
        return
    document = yaml.load(row["yaml"].encode())
    assert exact(document.value) == exact(json.loads(row["json"], parse_int=whole_numbers))
    assert document.strict_error == row.get("strict", "")


@pytest.mark.parametrize("text", ["", "# nothing", "---", "--- ~"])
def test_an_empty_document_is_null(text: str) -> None:
    assert yaml.load(text) == yaml.Document(None)


def test_all_documents_of_a_text() -> None:
    assert [document.value for document in yaml.load_all("a: 1\n---\n---\n- b\n")] == [{"a": 1}, None, ["b"]]


def test_only_the_first_document_is_looked_at() -> None:
    assert yaml.load("a: 1\n---\n[").value == {"a": 1}


def test_the_last_of_repeated_keys_counts() -> None:
    document = yaml.load("a: 1\nb: {c: 1, c: 2}\na: 3\n")
    assert document.value == {"a": 3, "b": {"c": 2}}
    assert document.repeated == ('line 2: key "c" already set in map', 'line 3: key "a" already set in map')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "yaml: exceeded max depth of 254"),
        ("\n".join(f"{' ' * depth}a:" for depth in range(400)), "yaml: exceeded max depth of 254"),
        ("a: &a\n  b: *a", "yaml: anchor 'a' value contains itself"),
        (
            "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "\n".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)),
            "yaml: document contains excessive aliasing",
        ),
        (b"\xff\xff", "yaml: invalid leading UTF-8 octet"),
        ("a: \x01", "yaml: control characters are not allowed"),
    ],
    ids=["brackets", "indents", "self", "aliases", "bytes", "control"],
)
def test_hostile_documents_are_refused(text: str | bytes, message: str) -> None:
    with pytest.raises(yaml.YamlError) as caught:
        yaml.load(text)
    assert str(caught.value) == message


def test_case_files_read_the_same_by_plain_pyyaml() -> None:
    """The recorded cases keep to what all readers agree on."""
    for file in sorted(CASES.glob("smoke/*.yaml")):
        assert yaml.load(file.read_bytes()).value == pyyaml.safe_load(file.read_text())
