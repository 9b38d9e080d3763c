"""What a cluster needs to run the webhook: as few rights as it can do with, and as hard to take down as it should be.

Two replicas on different nodes, one of which may be away at a time; containers that pass the "restricted" level of pod security
and can write nowhere. The webhook configurations are empty here: the webhook fills them in, and nobody else has to know of rules.
"""

from typing import Any

from msgspec import Struct

from kadmit import __version__
from kadmit.api import registration
from kadmit.matching.attributes import Json
from kadmit.webhook.certificates import service_names
from kadmit.webhook.configuration import INJECT, MANAGER, NAME
from kadmit.webhook.view import GROUP, POLICIES

PORT = 9443
UID = 65532
AGGREGATE = "kadmit.dev/aggregate-to-webhook-params"
_READ = ["get", "list", "watch"]


class Wanted(Struct, frozen=True):
    """`params`: resources that policies have as params, such as configmaps or limits.example.com. `cert_manager`: it makes the
    certificates. `policies`: whose policies are obeyed."""

    namespace: str = "kadmit-system"
    name: str = "kadmit-webhook"
    image: str = f"kadmit:{__version__}"
    replicas: int = 2
    cert_manager: bool = False
    policies: str = "auto"
    params: tuple[str, ...] = ()
    configuration: str = NAME

    @property
    def secret(self) -> str:
        return f"{self.name}-tls"

    @property
    def labels(self) -> dict[str, str]:
        return {"app.kubernetes.io/name": "kadmit-webhook", "app.kubernetes.io/instance": self.name}


def manifests(wanted: Wanted) -> list[Json]:
    """In the order in which they are to be applied."""
    made = [_namespace(wanted), _account(wanted), *_roles(wanted), _service(wanted)]
    made += _certificates(wanted) if wanted.cert_manager else []
    return [*made, _disruption_budget(wanted), _deployment(wanted), *_configurations(wanted)]


def _made(api_version: str, kind: str, name: str, wanted: Wanted, *, namespaced: bool = True, **rest: Any) -> Json:
    metadata: Json = {"name": name, **({"namespace": wanted.namespace} if namespaced else {}), "labels": wanted.labels}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def _namespace(wanted: Wanted) -> Json:
    made = _made("v1", "Namespace", wanted.namespace, wanted, namespaced=False)
    enforced = {"pod-security.kubernetes.io/enforce": "restricted"}
    return {**made, "metadata": {**made["metadata"], "labels": {**wanted.labels, **enforced}}}


def _account(wanted: Wanted) -> Json:
    return _made("v1", "ServiceAccount", wanted.name, wanted, automountServiceAccountToken=False)


# ---------------------------------------------------------------- rights


def _roles(wanted: Wanted) -> list[Json]:
    rbac = "rbac.authorization.k8s.io/v1"
    params = f"{wanted.name}-params"
    selected = {"clusterRoleSelectors": [{"matchLabels": {AGGREGATE: "true"}}]}
    made = [
        _made(rbac, "ClusterRole", wanted.name, wanted, namespaced=False, rules=_cluster_rules(wanted)),
        _bound(wanted, "ClusterRoleBinding", "ClusterRole", wanted.name),
        _made(rbac, "ClusterRole", params, wanted, namespaced=False, aggregationRule=selected, rules=[]),
        _bound(wanted, "ClusterRoleBinding", "ClusterRole", params),
        _made(rbac, "Role", wanted.name, wanted, rules=_own_rules(wanted)),
        _bound(wanted, "RoleBinding", "Role", wanted.name),
    ]
    if wanted.params:
        granted = _made(rbac, "ClusterRole", f"{params}-given", wanted, namespaced=False, rules=_param_rules(wanted))
        labels = {**wanted.labels, AGGREGATE: "true"}
        made.insert(2, {**granted, "metadata": {**granted["metadata"], "labels": labels}})
    return made


def _bound(wanted: Wanted, kind: str, role_kind: str, role: str) -> Json:
    subject = {"kind": "ServiceAccount", "name": wanted.name, "namespace": wanted.namespace}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role}
    namespaced = kind == "RoleBinding"
    made = _made("rbac.authorization.k8s.io/v1", kind, role, wanted, namespaced=namespaced)
    return {**made, "roleRef": reference, "subjects": [subject]}


def _cluster_rules(wanted: Wanted) -> list[Json]:
    """What is followed, who is asked, and the two configurations that are written. NB: creating cannot be limited by name."""
    plurals = [plural for _, plural in POLICIES]
    configurations = [registration.KINDS[k].plural for k in (registration.MUTATING_WEBHOOKS, registration.VALIDATING_WEBHOOKS)]
    return [
        {"apiGroups": [registration.GROUP, GROUP], "resources": plurals, "verbs": _READ},
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": _READ},
        {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": _READ},
        {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
        {"apiGroups": [registration.GROUP], "resources": configurations, "verbs": ["create"]},
        {
            "apiGroups": [registration.GROUP],
            "resources": configurations,
            "resourceNames": [wanted.configuration],
            "verbs": ["get", "patch"],
        },
    ]


def _own_rules(wanted: Wanted) -> list[Json]:
    """The Lease and, if nobody else makes certificates, the Secret."""
    leases = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    rules: list[Json] = [{**leases, "verbs": ["create"]}, {**leases, "resourceNames": [wanted.name], "verbs": ["get", "update"]}]
    if not wanted.cert_manager:
        secrets = {"apiGroups": [""], "resources": ["secrets"]}
        rules.append({**secrets, "verbs": ["create"]})
        rules.append({**secrets, "resourceNames": [wanted.secret], "verbs": [*_READ, "update"]})
    return rules


def _param_rules(wanted: Wanted) -> list[Json]:
    split = [given.partition(".") for given in wanted.params]
    return [{"apiGroups": [group], "resources": [resource], "verbs": _READ} for resource, _, group in split]


# ---------------------------------------------------------------- reaching it


def _service(wanted: Wanted) -> Json:
    port = {"name": "https", "port": 443, "targetPort": "https"}
    return _made("v1", "Service", wanted.name, wanted, spec={"selector": wanted.labels, "ports": [port]})


def _configurations(wanted: Wanted) -> list[Json]:
    made = []
    for kind in (registration.MUTATING_WEBHOOKS, registration.VALIDATING_WEBHOOKS):
        each = _made(f"{registration.GROUP}/v1", kind, wanted.configuration, wanted, namespaced=False)
        labels = {**wanted.labels, "app.kubernetes.io/managed-by": MANAGER}
        annotations = {"annotations": {INJECT: f"{wanted.namespace}/{wanted.name}"}} if wanted.cert_manager else {}
        made.append({**each, "metadata": {**each["metadata"], "labels": labels, **annotations}})
    return made


def _certificates(wanted: Wanted) -> list[Json]:
    issuer = {"name": wanted.name, "kind": "Issuer"}
    names = list(service_names(wanted.namespace, wanted.name)[:2])
    spec = {"secretName": wanted.secret, "dnsNames": names, "issuerRef": issuer, "privateKey": {"rotationPolicy": "Always"}}
    return [
        _made("cert-manager.io/v1", "Issuer", wanted.name, wanted, spec={"selfSigned": {}}),
        _made("cert-manager.io/v1", "Certificate", wanted.name, wanted, spec=spec),
    ]


# ---------------------------------------------------------------- running it


def _disruption_budget(wanted: Wanted) -> Json:
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": wanted.labels}}
    return _made("policy/v1", "PodDisruptionBudget", wanted.name, wanted, spec=spec)


def _deployment(wanted: Wanted) -> Json:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    template = {"metadata": {"labels": wanted.labels}, "spec": _pod(wanted)}
    spec = {"replicas": wanted.replicas, "selector": {"matchLabels": wanted.labels}, "strategy": strategy, "template": template}
    return _made("apps/v1", "Deployment", wanted.name, wanted, spec=spec)


def _pod(wanted: Wanted) -> Json:
    selector = {"matchLabels": wanted.labels}
    term = {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": selector,
    }
    made: Json = {
        "serviceAccountName": wanted.name,
        "automountServiceAccountToken": True,
        "priorityClassName": "system-cluster-critical",
        "terminationGracePeriodSeconds": 45,
        "affinity": {
            "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]}
        },
        "topologySpreadConstraints": [spread],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": UID,
            "runAsGroup": UID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(wanted)],
    }
    if wanted.cert_manager:
        made["volumes"] = [{"name": "tls", "secret": {"secretName": wanted.secret}}]
    return made


def _container(wanted: Wanted) -> Json:
    made: Json = {
        "name": "webhook",
        "image": wanted.image,
        "args": _arguments(wanted),
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "PYTHONDONTWRITEBYTECODE", "value": "1"},
        ],
        "ports": [{"name": "https", "containerPort": PORT}],
        "startupProbe": {**_probe("/readyz"), "failureThreshold": 60, "periodSeconds": 2},
        "livenessProbe": {**_probe("/healthz"), "periodSeconds": 10, "timeoutSeconds": 5},
        "readinessProbe": {**_probe("/readyz"), "periodSeconds": 5},
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "privileged": False,
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
        },
    }
    if wanted.cert_manager:
        made["volumeMounts"] = [{"name": "tls", "mountPath": "/tls", "readOnly": True}]
    return made


def _probe(path: str) -> Json:
    return {"httpGet": {"path": path, "port": "https", "scheme": "HTTPS"}}


def _arguments(wanted: Wanted) -> list[str]:
    made = ["webhook", "serve", f"--port={PORT}", f"--namespace={wanted.namespace}", f"--service={wanted.name}"]
    made += [f"--lease={wanted.name}", f"--secret={wanted.secret}", "--identity=$(POD_NAME)", "--drain-delay=5"]
    made += ["--logging-format=json"]
    if wanted.configuration != NAME:
        made.append(f"--configuration-name={wanted.configuration}")
    if wanted.policies != "auto":
        made.append(f"--policies={wanted.policies}")
    if wanted.cert_manager:
        made += ["--tls-cert-file=/tls/tls.crt", "--tls-private-key-file=/tls/tls.key"]
        made.append(f"--inject-ca-from={wanted.namespace}/{wanted.name}")
    return made


# ---------------------------------------------------------------- kustomize


def kustomization(made: list[Json], namespace: str) -> dict[str, list[Json] | Json]:
    """Files of a kustomize base by name, `kustomization.yaml` among them."""
    files: dict[str, list[Json] | Json] = {}
    for each in made:
        files.setdefault(_file(each), []).append(each)  # type: ignore[union-attr]  # only lists so far
    base = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "namespace": namespace}
    return {**files, "kustomization.yaml": {**base, "resources": sorted(files)}}


def _file(value: Json) -> str:
    kind = str(value["kind"])
    if kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "ServiceAccount"):
        return "rbac.yaml"
    if kind in (registration.MUTATING_WEBHOOKS, registration.VALIDATING_WEBHOOKS):
        return "configurations.yaml"
    if kind in ("Issuer", "Certificate"):
        return "certificates.yaml"
    return "definitions.yaml" if kind == "CustomResourceDefinition" else f"{kind.lower()}.yaml"
