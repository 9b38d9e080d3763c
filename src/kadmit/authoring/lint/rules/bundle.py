"""KA502: a caBundle that holds no certificates."""

from collections.abc import Iterator

from kadmit.authoring.lint import bundles
from kadmit.authoring.lint.project import Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding

RULE = Rule(
    code="KA502",
    title="caBundle cannot be used",
    severity=Severity.ERROR,
    explanation="""\
The server takes any base64 as a caBundle. When the webhook is called it must hold PEM certificates, or each call
fails with `unable to parse bytes as PEM block`. Bundles that cert-manager or OpenShift fill in, by annotation, are
not looked at.""",
    fix="encode the PEM certificates of the CA: base64 -w0 ca.crt",
    bad="""\
name: labels.example.com
clientConfig:
  url: "https://hooks.example.com/labels"
  caBundle: bm90IGEgY2VydGlmaWNhdGU=
rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
timeoutSeconds: 3
sideEffects: None
admissionReviewVersions: [v1]
""",
    good="""\
name: labels.example.com
clientConfig:
  url: "https://hooks.example.com/labels"  # signed by a CA that the API server trusts anyway
rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
timeoutSeconds: 3
sideEffects: None
admissionReviewVersions: [v1]
""",
)


def find(project: Project) -> Iterator[Finding]:
    for bundle in bundles.of(project):
        found = bundles.certificates(bundle)
        if isinstance(found, str):
            text = f'the caBundle of the webhook "{bundle.webhook.name}" cannot be used: {found}'
            yield finding(RULE, bundle.webhook.manifest, bundle.field, text)
