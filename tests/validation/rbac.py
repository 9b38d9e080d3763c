"""RBAC in a page: whether the roles of a recorded case let a user do something."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kadmit.cel.library.authorizer import Attributes, Decision, User

USERS = {
    "admin": User("admin", "admin-uid", ("system:masters", "system:authenticated")),
    "alice": User("alice", "alice-uid", ("developers", "system:authenticated")),
    "bob": User("bob", "bob-uid", ("operators", "auditors", "system:authenticated")),
}


@dataclass(frozen=True, slots=True)
class Roles:
    """An Authorizer made of Role, ClusterRole and binding objects."""

    objects: Sequence[Mapping[str, Any]]

    def check(self, attributes: Attributes) -> Decision:
        return Decision(any(_allows(rule, attributes) for rule in self._rules(attributes)))

    def _rules(self, attributes: Attributes) -> Iterator[Mapping[str, Any]]:
        for binding in self.objects:
            everywhere = binding["kind"] == "ClusterRoleBinding"
            here = binding["kind"] == "RoleBinding" and binding["metadata"].get("namespace", "default") == attributes.namespace
            if (everywhere or here) and any(_is(subject, attributes.user) for subject in binding["subjects"]):
                yield from self._role(binding["roleRef"])

    def _role(self, ref: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        return next(o["rules"] for o in self.objects if (o["kind"], o["metadata"]["name"]) == (ref["kind"], ref["name"]))


def _is(subject: Mapping[str, Any], user: User) -> bool:
    return subject["name"] == user.name if subject["kind"] == "User" else subject["name"] in user.groups


def _allows(rule: Mapping[str, Any], asked: Attributes) -> bool:
    return (
        _in(rule["verbs"], asked.verb)
        and _in(rule["apiGroups"], asked.group)
        and _in(rule["resources"], asked.resource)
        and (not rule.get("resourceNames") or asked.name in rule["resourceNames"])
    )


def _in(items: Sequence[str], wanted: str) -> bool:
    return wanted in items or "*" in items
