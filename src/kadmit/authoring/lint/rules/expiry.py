"""KA503: a certificate of a caBundle that has expired, or is about to."""

from collections.abc import Iterator
from datetime import timedelta

from kadmit.authoring.lint import bundles
from kadmit.authoring.lint.bundles import Bundle
from kadmit.authoring.lint.project import Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding

DAYS = 30

RULE = Rule(
    code="KA503",
    title="certificate of a caBundle expires",
    severity=Severity.WARNING,
    explanation=f"""\
When the last certificate of a caBundle has expired, no call of the webhook succeeds any more. It is told {DAYS} days
ahead, and is an error afterwards. `--now` sets the day.""",
    fix="renew the CA certificate, and put the new one into the bundle beside the old one",
    bad="""\
# kadmit check --now 2026-11-01T00:00:00Z
name: labels.example.com
clientConfig:
  url: "https://hooks.example.com/labels"
  caBundle: <a certificate that ends on 2026-11-15>
rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
timeoutSeconds: 3
sideEffects: None
admissionReviewVersions: [v1]
""",
    good="""\
# kadmit check --now 2026-11-01T00:00:00Z
name: labels.example.com
clientConfig:
  url: "https://hooks.example.com/labels"
  caBundle: <a certificate that ends on 2036-11-15>
rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
timeoutSeconds: 3
sideEffects: None
admissionReviewVersions: [v1]
""",
)


def find(project: Project) -> Iterator[Finding]:
    for bundle in bundles.of(project):
        yield from _in_bundle(project, bundle)


def _in_bundle(project: Project, bundle: Bundle) -> Iterator[Finding]:
    found = bundles.certificates(bundle)
    if isinstance(found, str) or not found:
        return
    last = max(map(bundles.ends, found))
    left = last - project.now
    if left > timedelta(days=DAYS):
        return
    day = last.date().isoformat()
    when = f"expired on {day}" if left < timedelta() else f"expires on {day}, in {_days(left)}"
    severity = Severity.ERROR if left < timedelta() else None
    text = f'the CA certificate of the webhook "{bundle.webhook.name}" {when}'
    yield finding(RULE, bundle.webhook.manifest, bundle.field, text, severity=severity)


def _days(left: timedelta) -> str:
    return "one day" if left.days == 1 else f"{left.days} days" if left.days else "less than a day"
