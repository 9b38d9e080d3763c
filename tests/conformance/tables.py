"""The recorded CEL tables: each row an expression, what it was evaluated with, and what kube-apiserver answered.

The recorder put every expression into a mutating policy of its own that writes the value to /result of a custom resource
of kind Probe. Here the wrapping is taken off again: an answer is a value, a compile error at a field of the policy, or a
run-time error.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CASES = Path(__file__).parent / "cases"
WRAPPED = '[JSONPatch{op: "add", path: "/result", value: %s}]'
EXPRESSION_FIELD = "spec.mutations[0].jsonPatch.expression"

_INVALID = re.compile(r'Invalid value: (?:"(?:\\.|[^"\\])*"|null): ', re.DOTALL)
_DENIED = re.compile(r"policy '(e\d+)' with binding '\1' denied request: ", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Refused:
    """The policy could not be created: the texts by field."""

    causes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """The evaluation, or the patch after it, failed with this text."""

    text: str


@dataclass(frozen=True, slots=True)
class Gave:
    """The value, as it stood in the object that came back; volatile parts of texts are masked."""

    value: Any


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    text: str  # the mutation's whole expression
    namespace: str
    labels: Mapping[str, str]  # of the namespace
    object: Mapping[str, Any]
    user: str
    policy: Mapping[str, Any]  # what the row adds to the policy's spec
    given: Sequence[Mapping[str, Any]]  # the objects that were there before
    answer: Refused | Failed | Gave

    @property
    def name(self) -> str:
        return self.id.rsplit("/", 1)[1]


def files() -> list[Path]:
    return sorted(path for path in CASES.glob("cel*/*.yaml") if re.search(r"^cel:", path.read_text(), re.MULTILINE))


def rows(path: Path) -> Iterator[Row]:
    case = yaml.load(path.read_text(), yaml.CSafeLoader)
    namespace = _namespace(path)
    names = {"${ns}": namespace, "${x100k}": "x" * 100_000}
    recorded = _substituted(json.loads(path.with_suffix(".expected.json").read_text()), names)
    refusals = {step["given"].split()[1]: step["body"] for step in recorded["steps"] if "given" in step}
    answers = [step for step in recorded["steps"] if "cel" in step]
    for i, (written, step) in enumerate(zip(case["cel"], answers, strict=True)):
        row = _substituted({"expr": written} if isinstance(written, str) else written, names)
        name = f"e{i:03}"
        yield Row(
            id=f"{path.parent.name}/{path.stem}/{name}",
            text=WRAPPED % row["expr"],
            namespace=namespace,
            labels=case.get("namespaceLabels") or {},
            object={
                "apiVersion": "probe.example.com/v1",
                "kind": "Probe",
                **(row.get("object") or {}),
                "metadata": {"name": name, "namespace": namespace},
            },
            user=row.get("as", "admin"),
            policy=row.get("env") or {},
            given=case.get("given") or (),
            answer=_answer(step, refusals.get(name)),
        )


def _answer(step: Mapping[str, Any], refusal: Mapping[str, Any] | None) -> Refused | Failed | Gave:
    if refusal is not None:
        return Refused(tuple((cause["field"], _without_value(cause["message"])) for cause in refusal["details"]["causes"]))
    if "error" in step:
        return Failed(_DENIED.sub("", step["error"], count=1))
    return Gave(step["result"])


def _without_value(message: str) -> str:
    return _INVALID.sub("", message, count=1).removeprefix("Internal error: ")


def _namespace(path: Path) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", f"{path.parent.name}-{path.stem}".lower()).strip("-")
    return "t-" + (slug if len(slug) <= 50 else slug[:40] + hashlib.sha1(slug.encode()).hexdigest()[:8])


def _substituted(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for name, text in names.items():
            value = value.replace(name, text)
        return value
    if isinstance(value, list):
        return [_substituted(item, names) for item in value]
    if isinstance(value, dict):
        return {_substituted(k, names): _substituted(v, names) for k, v in value.items()}
    return value


def masked(value: Any) -> Any:
    """A value with the parts that differ from run to run written as the recorder wrote them."""
    if isinstance(value, str):
        value = re.sub(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>", value)
        return re.sub(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uid>", value)
    if isinstance(value, list):
        return [masked(item) for item in value]
    if isinstance(value, dict):
        return {masked(k): masked(v) for k, v in value.items()}
    return value
