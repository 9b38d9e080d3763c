"""The shape of a story: who was asked, in order, who was not and why, what each expression came to, what was changed, and by whom
the request was refused. And its JSON, which docs/explain.md describes.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from kadmit.authoring.admission import Admission
from kadmit.authoring.manifests import Json
from kadmit.authoring.story import hints
from kadmit.cel import jsonform, room
from kadmit.cel.trace import Step
from kadmit.cel.values import CelError, Value

MAX_VALUE = 4096  # characters of a value's JSON; what is longer is cut, for a path repeats what the path around it shows


def value_json(value: Value) -> Json:
    """{"value": …}, cut where it is too long."""
    shown = value_text(value)
    if len(shown) > MAX_VALUE:
        return {"value": shown[:MAX_VALUE], "cut": True}
    return {"value": room.for_depth(jsonform.to_json, value)}


def value_text(value: Value) -> str:
    return room.for_depth(_dumped, value)


def _dumped(value: Value) -> str:
    import json

    return json.dumps(jsonform.to_json(value), ensure_ascii=False)


class Evaluated(NamedTuple):
    """An expression with what it came to. `variables` are those that were evaluated because it asked for them first."""

    what: str  # match condition, variable, validation, message, mutation, audit annotation
    name: str
    field: str  # where it stands in its object
    expression: str
    value: Value = None
    error: str = ""
    cost: int = 0
    place: str = ""
    steps: tuple[Step, ...] = ()
    variables: tuple["Evaluated", ...] = ()

    def as_json(self) -> Json:
        made: dict[str, Any] = {"what": self.what, "name": self.name, "field": self.field, "place": self.place}
        made = {k: v for k, v in made.items() if v} | {"expression": self.expression}
        made |= {"error": self.error} if self.error else value_json(self.value)
        made["cost"] = self.cost
        made["steps"] = [_step_json(step) for step in self.steps]
        return made | ({"variables": [v.as_json() for v in self.variables]} if self.variables else {})


def _step_json(step: Step) -> Json:
    made: dict[str, Any] = {"expression": step.text, "offset": step.offset, "depth": step.depth, "times": step.times}
    if step.value.__class__ is CelError:
        return {**made, "error": step.value.message}
    return made | value_json(step.value)


class Outcome(NamedTuple):
    """What a validation, mutation or audit annotation did."""

    did: str
    evaluated: Evaluated
    message: str = ""
    reason: str = ""
    said: Evaluated | None = None  # messageExpression
    patch: Sequence[Any] = ()

    @property
    def hint(self) -> str:
        """What may help, where something failed."""
        return hints.hint(self.message) if self.message else ""

    def as_json(self) -> Json:
        made: dict[str, Any] = {"did": self.did, "message": self.message, "reason": self.reason, "hint": self.hint}
        made = {k: v for k, v in made.items() if v} | self.evaluated.as_json()
        made |= {"messageExpression": self.said.as_json()} if self.said is not None else {}
        return made | ({"patch": list(self.patch)} if self.patch else {})


class Run(NamedTuple):
    """A policy through a binding with one params object, or with none."""

    did: str
    because: str = ""
    params: Json | None = None
    conditions: tuple[Evaluated, ...] = ()
    outcomes: tuple[Outcome, ...] = ()

    @property
    def cost(self) -> int:
        return sum(map(total_cost, (*self.conditions, *(e for o in self.outcomes for e in _all_of(o)))))

    def as_json(self) -> Json:
        made: dict[str, Any] = {"did": self.did} | ({"because": self.because} if self.because else {})
        made |= {"params": self.params} if self.params is not None else {}
        made["cost"] = self.cost
        made |= {"matchConditions": [c.as_json() for c in self.conditions]} if self.conditions else {}
        return made | {"outcomes": [o.as_json() for o in self.outcomes]}


def _all_of(outcome: Outcome) -> Sequence[Evaluated]:
    return (outcome.evaluated,) if outcome.said is None else (outcome.evaluated, outcome.said)


def total_cost(evaluated: Evaluated) -> int:
    """With the variables that it asked for."""
    return evaluated.cost + sum(map(total_cost, evaluated.variables))


class Bound(NamedTuple):
    """A binding of a policy that matched."""

    name: str
    did: str
    because: str = ""
    details: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    place: str = ""
    runs: tuple[Run, ...] = ()

    @property
    def hint(self) -> str:
        return hints.hint(self.because)

    def as_json(self) -> Json:
        made: dict[str, Any] = {"name": self.name, "did": self.did, "because": self.because, "hint": self.hint}
        made["place"] = self.place
        made |= {"details": list(self.details), "validationActions": list(self.actions)}
        return {k: v for k, v in made.items() if v} | {"runs": [r.as_json() for r in self.runs]}


class Called(NamedTuple):
    """A webhook's call. `review` is what it was sent, without a uid; `stand_in`: nobody was called."""

    target: str
    timeout: int
    review: Json
    stand_in: bool = False
    allowed: bool | None = None
    failure: str = ""
    warnings: tuple[str, ...] = ()
    annotations: Mapping[str, str] = MappingProxyType({})
    patch: Sequence[Any] = ()  # what it changed

    def as_json(self, *, reviews: bool) -> Json:
        made: dict[str, Any] = {"target": self.target, "timeoutSeconds": self.timeout, "standIn": self.stand_in}
        made |= {"allowed": self.allowed} if self.allowed is not None else {"failure": self.failure}
        optional = {"warnings": list(self.warnings), "auditAnnotations": dict(self.annotations), "patch": list(self.patch)}
        made |= {k: v for k, v in optional.items() if v}
        return made | ({"review": self.review} if reviews else {})


class Entry(NamedTuple):
    """A policy or a webhook, whether it did anything or not; `because` and `details` say why it did what it did."""

    kind: str
    name: str
    did: str
    because: str = ""
    details: tuple[str, ...] = ()
    configuration: str = ""  # of a webhook
    failure_policy: str = ""
    place: str = ""
    bindings: tuple[Bound, ...] = ()
    conditions: tuple[Evaluated, ...] = ()  # of a webhook
    call: Called | None = None

    def as_json(self, *, reviews: bool) -> Json:
        made: dict[str, Any] = {"kind": self.kind, "name": self.name, "configuration": self.configuration, "did": self.did}
        made |= {"because": self.because, "details": list(self.details)}
        made |= {"failurePolicy": self.failure_policy, "place": self.place}
        made |= {"bindings": [b.as_json() for b in self.bindings], "matchConditions": [c.as_json() for c in self.conditions]}
        made = {k: v for k, v in made.items() if v}
        return made | ({"call": self.call.as_json(reviews=reviews)} if self.call is not None else {})


class Stage(NamedTuple):
    """All policies, or all webhooks, of a half; the second time, `because` says why there is one."""

    name: str
    round: int = 0
    did: str = ""  # "", exempt, not reached, passed, refused
    because: str = ""
    entries: tuple[Entry, ...] = ()

    def as_json(self, *, reviews: bool) -> Json:
        made = {"stage": self.name, "round": self.round, "did": self.did, "because": self.because}
        return {k: v for k, v in made.items() if v != ""} | {"entries": [e.as_json(reviews=reviews) for e in self.entries]}


class Story(NamedTuple):
    """The whole of it."""

    admission: Admission
    request: Json
    stages: tuple[Stage, ...]
    metrics: tuple[Json, ...] = ()

    @property
    def cost(self) -> int:
        return sum(run.cost for s in self.stages for e in s.entries for b in e.bindings for run in b.runs) + sum(
            total_cost(c) for s in self.stages for e in s.entries for c in e.conditions
        )

    def as_json(self, *, reviews: bool = False) -> Json:
        told = self.admission
        made: dict[str, Any] = {"file": told.manifest.file.name, "line": told.manifest.line(), "request": self.request}
        made |= {"allowed": told.allowed, "changed": told.changed, "cost": self.cost}
        made |= {"status": told.status.as_json()} if told.status is not None else {}
        made["stages"] = [stage.as_json(reviews=reviews) for stage in self.stages]
        made |= {"warnings": list(told.warnings), "auditAnnotations": dict(told.annotations), "metrics": list(self.metrics)}
        return made | ({"object": told.object} if told.object is not None else {})
