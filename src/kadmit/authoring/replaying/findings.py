"""What policies would do to many requests, counted: by policy, effect, message and resource, with users, namespaces and examples.

Memory is bounded, however long a log is: beyond a number of different messages, users or namespaces, the rest is one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct, field

from kadmit.authoring.explanation import AUDITED, CHANGED, DENIED, FAILED, IGNORED, NOT_CALLED, WARNED, Step

Json: TypeAlias = dict[str, Any]

CALLED = "called"
EFFECTS = (DENIED, CHANGED, WARNED, AUDITED, IGNORED, CALLED)  # in the order of a report
OTHERS = "(others)"
MAX_GROUPS, MAX_NAMES = 2000, 500
SHOWN_NAMES = 5

_WORDS = {
    DENIED: "denied by",
    CHANGED: "changed by",
    WARNED: "warned of by",
    AUDITED: "audited by",
    IGNORED: "not judged by, for it fails and its failure policy is Ignore:",
    CALLED: "would be sent to",
}
_EFFECTS = {DENIED: DENIED, CHANGED: CHANGED, WARNED: WARNED, AUDITED: AUDITED, IGNORED: IGNORED, NOT_CALLED: CALLED}


class Judged(Struct, frozen=True):
    """One request and what policies did with it. `example` says where it stands, in fields that people can follow."""

    operation: str
    resource: str  # pods, deployments.apps, pods/status
    namespace: str
    name: str
    user: str
    allowed: bool
    steps: Sequence[Step]
    message: str = ""  # of the refusal
    example: Mapping[str, Any] = field(default_factory=dict)

    def effects(self) -> Iterator[tuple[Step, str]]:
        """Steps that did something, each with its effect. NB: a failure refuses only if nothing else did."""
        refusers = [step for step in self.steps if step.did == DENIED] or [s for s in self.steps if s.did == FAILED][-1:]
        if not self.allowed and not refusers:
            refusers = [step for step in self.steps if step.did == CHANGED]
        for step in self.steps:
            if not self.allowed and any(step is refuser for refuser in refusers):
                yield step, DENIED
            elif step.did == FAILED:
                yield step, IGNORED
            elif step.did in _EFFECTS:
                yield step, _EFFECTS[step.did]


class Key(Struct, frozen=True):
    kind: str
    policy: str
    binding: str
    effect: str
    message: str
    resource: str


class Group(Struct):
    """Requests to which one policy did one thing."""

    count: int = 0
    users: Counter[str] = field(default_factory=Counter)
    namespaces: Counter[str] = field(default_factory=Counter)
    examples: list[Json] = field(default_factory=list)


class Missed(Struct):
    """Requests that were not replayed, for one reason. `is_lost`: they should have been."""

    is_lost: bool
    count: int = 0
    example: Json = field(default_factory=dict)


class Findings(Struct):
    """Grows with each request."""

    examples: int = 3
    replayed: int = 0
    effects: Counter[str] = field(default_factory=Counter)  # requests, not steps
    unaffected: int = 0
    groups: dict[Key, Group] = field(default_factory=dict)
    missed: dict[str, Missed] = field(default_factory=dict)
    assumed: Counter[str] = field(default_factory=Counter)

    def add(self, judged: Judged) -> None:
        self.replayed += 1
        met = set()
        for step, effect in judged.effects():
            met.add(effect)
            self._count(judged, step, effect)
        self.effects.update(met)
        if not met:
            self.unaffected += 1

    def miss(self, reason: str, example: Json | None = None, *, is_lost: bool = True) -> None:
        """One that was not replayed; not `is_lost`: for there was nothing to replay."""
        key = reason if reason in self.missed or len(self.missed) < MAX_GROUPS else OTHERS
        missed = self.missed.setdefault(key, Missed(is_lost, example=example or {}))
        missed.count += 1

    @property
    def lost(self) -> int:
        return sum(m.count for m in self.missed.values() if m.is_lost)

    def assume(self, what: str) -> None:
        """One that was replayed with something made up."""
        self.assumed[what] += 1

    def _count(self, judged: Judged, step: Step, effect: str) -> None:
        message = step.detail if effect in (step.did, DENIED, IGNORED) and step.did != NOT_CALLED else ""
        if effect == DENIED and step.did == CHANGED:
            message = f"what it makes is refused: {judged.message}"
        key = Key(step.kind, step.name, step.binding, effect, message, judged.resource)
        if key not in self.groups and len(self.groups) >= MAX_GROUPS:
            key = Key(step.kind, step.name, step.binding, effect, OTHERS, OTHERS)
        group = self.groups.setdefault(key, Group())
        group.count += 1
        _count(group.users, judged.user)
        _count(group.namespaces, judged.namespace)
        if len(group.examples) < self.examples:
            group.examples.append(_example(judged))

    @property
    def denied(self) -> int:
        return self.effects[DENIED]

    @property
    def changed(self) -> int:
        return self.effects[CHANGED]

    # ------------------------------------------------------------ telling

    def ordered(self) -> list[tuple[Key, Group]]:
        """By effect and policy, the most frequent first."""

        def order(item: tuple[Key, Group]) -> tuple[Any, ...]:
            key, group = item
            return (EFFECTS.index(key.effect), key.kind, key.policy, key.binding, -group.count, key.message, key.resource)

        return sorted(self.groups.items(), key=order)

    def as_json(self) -> Json:
        return {
            "replayed": self.replayed,
            **{effect: self.effects[effect] for effect in EFFECTS},
            "unaffected": self.unaffected,
            "lost": self.lost,
            "findings": [_finding(key, group) for key, group in self.ordered()],
            "assumed": [{"assumption": what, "count": n} for what, n in _sorted(self.assumed)],
            "notReplayed": [
                {"reason": reason, "lost": m.is_lost, "count": m.count, **({"example": m.example} if m.example else {})}
                for reason, m in self._missed()
            ],
        }

    def lines(self, noun: str, done: str) -> Iterator[str]:
        """For people. What was done: a request replayed, an object tried."""
        yield self.summary(noun, done)
        last = None
        for key, group in self.ordered():
            who = (key.effect, key.kind, key.policy, key.binding)
            if who != last:
                through = f" (binding {key.binding})" if key.binding else ""
                yield ""
                yield f"{_WORDS[key.effect]} {key.kind} {key.policy}{through}"
            last = who
            yield from _told(key, group)
        if self.assumed:
            yield from ("", "judged with an assumption")
            yield from (f"  {n}: {what}" for what, n in _sorted(self.assumed))
        for is_lost, title in ((True, "could not be judged"), (False, "nothing to judge")):
            told = [f"  {m.count}: {reason}" for reason, m in self._missed() if m.is_lost is is_lost]
            yield from ("", title, *told) if told else ()

    def _missed(self) -> list[tuple[str, Missed]]:
        """What should have been replayed first, then by number."""
        return sorted(self.missed.items(), key=lambda item: (not item[1].is_lost, -item[1].count, item[0]))

    def summary(self, noun: str, done: str) -> str:
        words = {DENIED: "denied", CHANGED: "changed", WARNED: "warned of", AUDITED: "audited"}
        told = ", ".join(f"{self.effects[effect]} {word}" for effect, word in words.items())
        left = f"; {self.lost} could not be" if self.lost else ""
        return f"{self.replayed} {noun}{'' if self.replayed == 1 else 's'} {done}: {told}, {self.unaffected} unaffected{left}"


def _count(counter: Counter[str], name: str) -> None:
    counter[name if name in counter or len(counter) < MAX_NAMES else OTHERS] += 1


def _sorted(counter: Mapping[str, int]) -> Iterable[tuple[str, int]]:
    return sorted(counter.items(), key=lambda item: (-item[1], item[0]))


def _example(judged: Judged) -> Json:
    made = {"operation": judged.operation, "namespace": judged.namespace, "name": judged.name, "user": judged.user}
    return {k: v for k, v in {**made, **judged.example}.items() if v}


def _finding(key: Key, group: Group) -> Json:
    made = {"effect": key.effect, "kind": key.kind, "policy": key.policy, "binding": key.binding, "message": key.message}
    return {
        **{k: v for k, v in made.items() if v},
        "resource": key.resource,
        "count": group.count,
        "users": dict(_sorted(group.users)),
        "namespaces": dict(_sorted(group.namespaces)),
        "examples": group.examples,
    }


def _told(key: Key, group: Group) -> Iterator[str]:
    message = f": {key.message}" if key.message else ""
    yield f"  {group.count} {key.resource}{message}"
    for word, counter in (("users", group.users), ("namespaces", group.namespaces)):
        named = {name: n for name, n in counter.items() if name}
        if named:
            yield f"    {word}: {_few(named)}"
    for example in group.examples:
        place = "/".join(p for p in (example.get("namespace"), example.get("name")) if p)
        rest = ", ".join(str(example[k]) for k in ("file", "at", "auditID") if example.get(k))
        yield f"    for example {example['operation']} {place}" + (f" ({rest})" if rest else "")


def _few(counter: Mapping[str, int]) -> str:
    ordered = list(_sorted(counter))
    shown = ", ".join(f"{name} {n}" for name, n in ordered[:SHOWN_NAMES])
    more = len(ordered) - SHOWN_NAMES
    return shown + (f" and {more} more" if more > 0 else "")
