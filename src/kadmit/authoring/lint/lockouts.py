"""Requests on which a cluster lives, and whether a policy or webhook stands in their way.

What fails closed and is asked about these can stop the cluster, and its own repair. Selectors, rules, bindings and conditions
are asked as a server would ask them, each about a request that a cluster makes all the time.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from kadmit.api.errors import ApiError
from kadmit.api.meta import GroupVersionKind, GroupVersionResource
from kadmit.authoring.lint.project import Expression, Policy, Project, Webhook
from kadmit.cel import environment
from kadmit.cel.library.authorizer import User
from kadmit.cel.source import CompileError
from kadmit.matching.attributes import Attributes, Json
from kadmit.matching.criteria import Criteria, compile_policy_criteria, compile_webhook_criteria
from kadmit.policy.bindings import variables

SYSTEM = "kube-system"
_NAMESPACE_NAME = "kubernetes.io/metadata.name"
_CONTROLLERS = ("system:serviceaccounts", f"system:serviceaccounts:{SYSTEM}", "system:authenticated")
_CONTROLLER = User(f"system:serviceaccount:{SYSTEM}:replicaset-controller", "", _CONTROLLERS)
_NODE = User("system:node:node-1", "", ("system:nodes", "system:authenticated"))


class Vital(Struct, frozen=True):
    """A request that must not be refused."""

    text: str
    group: str
    version: str
    kind: str
    resource: str
    operation: str
    namespace: str = ""
    subresource: str = ""
    user: User = _CONTROLLER

    def attributes(self) -> Attributes:
        metadata = {"name": "sample", **({"namespace": self.namespace} if self.namespace else {})}
        group_version = f"{self.group}/{self.version}" if self.group else self.version
        value: Json = {"apiVersion": group_version, "kind": self.kind, "metadata": metadata, "spec": {}}
        return Attributes(
            GroupVersionKind(self.group, self.version, self.kind),
            GroupVersionResource(self.group, self.version, self.resource),
            self.operation,
            "sample",
            self.namespace,
            self.subresource,
            object=value,
            old_object=None if self.operation == "CREATE" else value,
            user=self.user,
        )


HEARTBEATS = (
    Vital("leases of nodes", "coordination.k8s.io", "v1", "Lease", "leases", "UPDATE", namespace="kube-node-lease", user=_NODE),
    Vital("leases of controllers", "coordination.k8s.io", "v1", "Lease", "leases", "UPDATE", namespace=SYSTEM),
    Vital("the status of nodes", "", "v1", "Node", "nodes", "UPDATE", subresource="status", user=_NODE),
)
NODES = Vital("nodes", "", "v1", "Node", "nodes", "CREATE", user=_NODE)
SYSTEM_PODS = Vital("pods", "", "v1", "Pod", "pods", "CREATE", namespace=SYSTEM)


def workloads(namespace: str) -> Iterator[Vital]:
    """What a webhook's own server is made of."""
    yield Vital("pods", "", "v1", "Pod", "pods", "CREATE", namespace=namespace)
    for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"):
        yield Vital(f"{kind.lower()}s", "apps", "v1", kind, f"{kind.lower()}s", "UPDATE", namespace=namespace)


class _Namespaces(Struct, frozen=True):
    """Namespaces of the files with their labels; any other has the one label that each has."""

    project: Project

    def namespace(self, name: str) -> Json | None:
        labels: Mapping[str, str] = {}
        for manifest in self.project.manifests:
            if (manifest.kind.group, manifest.kind.kind, manifest.name) == ("", "Namespace", name):
                labels = manifest.metadata.get("labels") or {}
        return {"metadata": {"name": name, "labels": {**labels, _NAMESPACE_NAME: name}}}


# ---------------------------------------------------------------- whether it is asked


def policy_stops(policy: Policy, vital: Vital) -> bool:
    """Whether a policy that fails closed is asked about the request, by a binding that denies."""
    if not policy.fails or not _matches(policy.project, compile_policy_criteria(policy.constraints), vital):
        return False
    return _is_bound(policy, vital) and _holds(policy.conditions, vital) and not _consents(policy, vital)


def _consents(policy: Policy, vital: Vital) -> bool:
    """Whether a validating policy lets even the barest of such objects pass. NB: variables and params are not tried."""
    if policy.mutating or not policy.validations or policy.declared or policy.param_kind is not None:
        return False
    return _holds(policy.validations, vital)


def _is_bound(policy: Policy, vital: Vital) -> bool:
    """NB: a policy without a binding among the files is taken to have one, without any limits."""
    bindings = policy.project.bindings_of(policy)
    for binding in bindings:
        denies = policy.mutating or "Deny" in (binding.spec.get("validationActions") or ())
        resources = binding.spec.get("matchResources")
        if denies and (resources is None or _matches(policy.project, compile_policy_criteria(resources), vital)):
            return True
    return not bindings


def webhook_stops(project: Project, webhook: Webhook, vital: Vital) -> bool:
    """Whether a webhook that fails closed is called for the request."""
    criteria = compile_webhook_criteria(webhook.made)
    return webhook.fails and _matches(project, criteria, vital) and _holds(webhook.conditions, vital)


def _matches(project: Project, criteria: Criteria, vital: Vital) -> bool:
    found = criteria.match(vital.attributes(), project.known, _Namespaces(project))
    return found is not None and not isinstance(found, ApiError)


def _holds(conditions: Sequence[Expression], vital: Vital) -> bool:
    """Whether all conditions are true; one that fails on this small object may well be false on a real one."""
    if not conditions:
        return True
    attributes = vital.attributes()
    bound = variables(attributes, attributes.resource, attributes.kind)
    for condition in conditions:
        try:
            value, _ = environment.admission().compile(condition.text).evaluate(bound)
        except CompileError:
            return False
        if value is not True:
            return False
    return True


# ---------------------------------------------------------------- everything


def is_about_everything(rules: Sequence[Mapping[str, object]]) -> bool:
    return any(_has_all(rule, "apiGroups") and _has_all(rule, "resources") for rule in rules)


def _has_all(rule: Mapping[str, object], field: str) -> bool:
    listed = rule.get(field) or ()
    return isinstance(listed, list) and any(item in ("*", "*/*") for item in listed)


def stops_all(project: Project, subject: Policy | Webhook) -> bool:
    """Whether it is asked about everything: its rules say so, and nothing exempts what a cluster lives on."""
    if isinstance(subject, Policy):
        rules = subject.constraints.get("resourceRules") or ()
        return is_about_everything(rules) and (policy_stops(subject, SYSTEM_PODS) or _stops_heartbeats(project, subject))
    return is_about_everything(subject.rules) and (
        webhook_stops(project, subject, SYSTEM_PODS) or _stops_heartbeats(project, subject)
    )


def _stops_heartbeats(project: Project, subject: Policy | Webhook) -> bool:
    return bool(stopped(project, subject, HEARTBEATS))


def stopped(project: Project, subject: Policy | Webhook, vitals: Sequence[Vital]) -> list[Vital]:
    if isinstance(subject, Policy):
        return [vital for vital in vitals if policy_stops(subject, vital)]
    return [vital for vital in vitals if webhook_stops(project, subject, vital)]
