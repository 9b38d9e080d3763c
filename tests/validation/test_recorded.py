"""What kube-apiserver answered when objects were registered: every create, update and given of the registration cases.

Only what validation, defaults and conversion decide is compared; what HTTP decides (404, 409, 415, ...) is not asked here.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.conformance import ledger
from tests.validation.registry import Json, Registry, kind_of, status_of

from kadmit import validation
from kadmit.api import registration
from kadmit.api.errors import ApiError
from kadmit.patch import mergepatch

CASES = Path(__file__).parents[1] / "conformance" / "cases"
AREAS = [
    "registration-auth",
    "registration-crud",
    "registration-defaults",
    "registration-validation-map",
    "registration-validation-map-binding",
    "registration-validation-metadata",
    "registration-validation-vap",
    "registration-validation-vap-binding",
    "registration-validation-webhooks",
    "registration-versions",
]
VOLATILE = {"uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink", "deletionTimestamp"}
DECIDED = {200, 201, 422}  # what validation can answer; 422 may be decoding's, too
SHORT, LONG = "${x100k}", "x" * 100_000
RESERVED = "metadata.name: names ending"

# Steps that fail for a reason that is not validation's, by area/case#step.
EXPECTED_FAILURES: dict[str, str] = {
    "registration-validation-map/policies-may-match-policies#6": "a mutating policy labels it: no admission here",
    "registration-validation-map/policies-may-match-policies#7": "a mutating policy labels it: no admission here",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One recorded request about a kind of ours, and the answer."""

    id: str
    verb: str  # create, update, patch, status, get, delete or given
    body: Json
    answer: Mapping[str, Any]
    pick: str | None = None
    user: str = "admin"
    query: Mapping[str, Any] = field(default_factory=dict)
    save: Mapping[str, str] = field(default_factory=dict)

    @property
    def dry_run(self) -> bool:
        return "dryRun" in self.query

    def with_names(self, saved: Mapping[str, str]) -> "Step":
        """Names that steps before it saved are filled in."""
        text = json.dumps(self.body)
        for name, value in saved.items():
            text = text.replace(f"${{{name}}}", value)
        return replace(self, body=json.loads(text))


def steps_of(area: str, name: str) -> Iterator[Step]:
    case = yaml.load((CASES / area / f"{name}.yaml").read_text().replace(SHORT, LONG), Loader=yaml.CSafeLoader)
    recorded = json.loads((CASES / area / f"{name}.expected.json").read_text())["steps"]
    for i, obj in enumerate(case.get("given") or ()):
        yield Step(f"{area}/{name}#given{i}", "given", obj, {"status": 201})
    asked = [step for step in case["steps"] if "watch" not in step and "wait" not in step]
    for i, (step, answer) in enumerate(zip(asked, recorded, strict=True)):
        verb, body = _request(step)
        if isinstance(body, dict) and "accept" not in step:
            options = {"query": step.get("query") or {}, "save": step.get("save") or {}}
            yield Step(f"{area}/{name}#{i}", verb, body, answer, step.get("pick"), step.get("as", "admin"), **options)


def _request(step: Mapping[str, Any]) -> tuple[str, Any]:
    for verb in ("create", "update", "get", "delete"):
        if verb in step:
            return verb, step[verb]
    return _sent(step["send"]) if "send" in step else ("apply", step.get("apply"))


def _sent(request: Mapping[str, Any]) -> tuple[str, Any]:
    """A raw request, as far as it is one of those above."""
    found = re.fullmatch(r"/apis/admissionregistration\.k8s\.io/(\w+)/(\w+)(?:/([^/?]+))?(/status)?", request["path"])
    kind = next((k.name for k in registration.KINDS.values() if found and k.plural == found[2]), None)
    body = request.get("body")
    if found is None or kind is None or (body is not None and not isinstance(body, dict)):
        return "other", None
    named = {"apiVersion": f"{registration.GROUP}/{found[1]}", "kind": kind}
    merging = request["method"] == "PATCH" and request.get("contentType") == "application/merge-patch+json"
    if found[4]:
        return (
            ("status", {"name": found[3], "patch": body, **named}) if merging or request["method"] == "PUT" else ("other", None)
        )
    if merging:
        return "patch", {"name": found[3], "patch": body, **named}
    verbs = {"POST": "create", "PUT": "update"}
    return (verbs[request["method"]], {**named, **(body or {})}) if request["method"] in verbs else ("other", None)


# ---------------------------------------------------------------- comparing


def picked(value: Any, path: str | None) -> Any:
    for key, index in re.findall(r"([^.\[\]]+)|\[([^\]]*)\]", path or ""):
        if key or index.startswith('"'):
            value = value.get(key or index[1:-1]) if isinstance(value, dict) else None
        elif "=" in index:
            name, wanted = index.split("=", 1)
            value = next((v for v in value or [] if str(picked(v, name)) == wanted), None)
        else:
            value = value[int(index)] if isinstance(value, list) and len(value) > int(index) else None
    return value


def settled(value: Any, inside: str = "") -> Any:
    """Without what differs from run to run."""
    if isinstance(value, dict):
        return {k: settled(v, k) for k, v in value.items() if inside != "metadata" or k not in VOLATILE}
    if isinstance(value, list):
        return [settled(v, inside) for v in value]
    if not isinstance(value, str):
        return value
    return re.sub(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "<time>", value).replace(LONG, SHORT)


def agrees(recorded: Any, ours: Any) -> bool:
    """Equal, where a name that was generated may be any."""
    if isinstance(recorded, dict) and isinstance(ours, dict):
        return recorded.keys() == ours.keys() and all(agrees(recorded[k], ours[k]) for k in recorded)
    if isinstance(recorded, list) and isinstance(ours, list):
        return len(recorded) == len(ours) and all(map(agrees, recorded, ours))
    return recorded == ours or (isinstance(recorded, str) and recorded.startswith("${") and isinstance(ours, str))


def difference(step: Step, ours: Json) -> str | None:
    recorded, made = step.answer.get("body"), picked(settled(ours), step.pick)
    expected = settled(recorded, step.pick or "")
    if agrees(expected, settled(made, step.pick or "")):
        return None
    return f"\n  recorded {json.dumps(expected)}\n  ours     {json.dumps(made)}"


# ---------------------------------------------------------------- running


def is_ours(step: Step) -> bool:
    """A request that validation decides about, and that its answer shows."""
    if not registration.is_registration(kind_of(step.body)) or step.answer.get("status") not in DECIDED:
        return False
    body = step.answer.get("body")
    about = body.get("details", {}).get("kind") if isinstance(body, dict) and body.get("kind") == "Status" else None
    if "managedFields" in (step.pick or "") or "fieldValidation" in step.query:
        return False
    return step.verb != "delete" and step.verb != "apply" and (about is None or about in registration.KINDS)


def check(step: Step, registry: Registry) -> str | None:
    """What is wrong with our answer."""
    try:
        made = _answer(step, registry)
    except ApiError as refused:
        if step.verb == "given" or step.answer["status"] != 422:
            return f"refused: {refused}"
        return difference(step, status_of(refused))
    if step.answer["status"] == 422:
        return f"accepted; recorded {json.dumps(step.answer['body'])}"
    return _warned(step, made) or (None if step.verb == "given" else difference(step, made))


def _answer(step: Step, registry: Registry) -> Json:
    body = step.body
    match step.verb:
        case "create" | "given":
            return registry.create(body, user=step.user, dry_run=step.dry_run)
        case "update":
            return registry.update(body, user=step.user, dry_run=step.dry_run)
        case "get":
            stored = registry.objects[body["kind"], body["metadata"]["name"]]
            return registration.convert(stored, kind_of(body).version)
    old = registration.convert(registry.objects[body["kind"], body["name"]], kind_of(body).version)
    changed = mergepatch.apply(old, body["patch"])
    assert isinstance(changed, dict)
    return (
        registry.update_status(changed)
        if step.verb == "status"
        else registry.update(changed, user=step.user, dry_run=step.dry_run)
    )


def _warned(step: Step, made: Json) -> str | None:
    if step.verb not in ("create", "update"):
        return None
    recorded = [text for text in step.answer.get("warnings") or () if RESERVED in text or "is deprecated in" in text]
    ours = validation.warnings(made) + [text for text in [registration.deprecation(kind_of(made))] if text]
    said = [f"299 - {json.dumps(text)}" for text in ours]
    return None if recorded == said else f"warns {said}, recorded {recorded}"


def follow(step: Step, registry: Registry) -> None:
    """After a request that was not asked about: take over what the server held afterwards."""
    body = step.answer.get("body")
    if step.body.get("kind") in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"):
        registry.roles.append(step.body)
    elif step.verb == "delete" and step.answer.get("status") == 200 and not step.dry_run:
        registry.delete(step.body["kind"], step.body["metadata"]["name"])
    elif isinstance(body, dict) and body.get("kind") in registration.KINDS and "spec" in body:
        registry.put(body)


def answers(area: str, name: str) -> Iterator[tuple[Step, str | None]]:
    """Every step of a case that is ours, and what is wrong with our answer to it."""
    registry, saved = Registry(), dict[str, str]()
    for given in steps_of(area, name):
        step = given.with_names(saved)
        if not is_ours(step):
            follow(step, registry)
            continue
        yield step, ledger.attempt(lambda step=step: check(step, registry))  # type: ignore[misc]
        stored = registry.objects.get((step.body["kind"], (step.body.get("metadata") or {}).get("name") or ""))
        saved.update({name: str(picked(stored, path)) for name, path in step.save.items()})


@pytest.mark.parametrize("area", AREAS)
def test_registration_is_answered_as_recorded(area: str, record_property: ledger.Record) -> None:
    ran: list[str] = []
    failures: dict[str, str] = {}
    for path in sorted((CASES / area).glob("*.yaml")):
        for step, wrong in answers(area, path.stem):
            ran.append(step.id)
            if wrong is not None:
                failures[step.id] = wrong
    assert ran
    ledger.settle(record_property, area, ran=ran, failures=failures, expected=EXPECTED_FAILURES)
