"""What strategic merge knows of a few kinds, written by hand and only as far as these tests reach."""

from kadmit.patch.strategic import Field, PatchMeta

STRING = PatchMeta("string")
MAP = PatchMeta("map")


def struct(name: str, **fields: Field) -> PatchMeta:
    return PatchMeta("struct", name, fields)


def plain(meta: PatchMeta = STRING) -> Field:
    return Field(meta)


def items(meta: PatchMeta) -> Field:
    """A list that is replaced whole."""
    return Field(PatchMeta("slice", element=meta))


def merged(meta: PatchMeta, key: str) -> Field:
    """A list of maps that merge by a key."""
    return Field(PatchMeta("slice", element=meta), ("merge",), key)


OBJECT_META = struct(
    "ObjectMeta",
    labels=plain(MAP),
    annotations=plain(MAP),
    finalizers=Field(PatchMeta("slice", element=STRING), ("merge",)),
    ownerReferences=merged(struct("OwnerReference"), "uid"),
)


def kind(name: str, **fields: Field) -> PatchMeta:
    return struct(name, metadata=plain(OBJECT_META), **fields)


ENV_VAR = struct("EnvVar")
CONTAINER = struct(
    "Container",
    env=merged(ENV_VAR, "name"),
    args=items(STRING),
    ports=merged(struct("ContainerPort"), "containerPort"),
    resources=plain(struct("ResourceRequirements", limits=plain(MAP), requests=plain(MAP))),
)
VOLUME = struct("Volume", emptyDir=plain(struct("EmptyDirVolumeSource")), hostPath=plain(struct("HostPathVolumeSource")))
POD = kind(
    "Pod",
    spec=plain(
        struct(
            "PodSpec",
            containers=merged(CONTAINER, "name"),
            volumes=Field(PatchMeta("slice", element=VOLUME), ("merge", "retainKeys"), "name"),
            tolerations=items(struct("Toleration")),
            nodeSelector=plain(MAP),
            securityContext=plain(struct("PodSecurityContext")),
        )
    ),
)

CONDITION = struct("MatchCondition")
WEBHOOK = struct("MutatingWebhook", rules=items(struct("Rule")), matchConditions=merged(CONDITION, "name"))
MATCH_RESOURCES = struct("MatchResources", resourceRules=items(struct("NamedRuleWithOperations")))
BY_KIND = {
    "Pod": POD,
    "Service": kind("Service", spec=plain(struct("ServiceSpec", ports=merged(struct("ServicePort"), "port")))),
    "ServiceAccount": kind(
        "ServiceAccount",
        secrets=merged(struct("ObjectReference"), "name"),
        imagePullSecrets=items(struct("LocalObjectReference")),
    ),
    "Role": kind("Role", rules=items(struct("PolicyRule"))),
    "MutatingWebhookConfiguration": kind("MutatingWebhookConfiguration", webhooks=merged(WEBHOOK, "name")),
    "MutatingAdmissionPolicy": kind(
        "MutatingAdmissionPolicy",
        spec=plain(
            struct(
                "MutatingAdmissionPolicySpec",
                matchConditions=merged(CONDITION, "name"),
                matchConstraints=plain(MATCH_RESOURCES),
                mutations=items(struct("Mutation")),
                variables=items(struct("Variable")),
            )
        ),
    ),
    "ValidatingAdmissionPolicy": kind(
        "ValidatingAdmissionPolicy",
        spec=plain(
            struct(
                "ValidatingAdmissionPolicySpec",
                auditAnnotations=items(struct("AuditAnnotation")),
                matchConstraints=plain(MATCH_RESOURCES),
                validations=items(struct("Validation")),
                variables=merged(struct("Variable"), "name"),
            )
        ),
    ),
    "ValidatingAdmissionPolicyBinding": kind(
        "ValidatingAdmissionPolicyBinding",
        spec=plain(struct("ValidatingAdmissionPolicyBindingSpec", validationActions=items(STRING))),
    ),
}
