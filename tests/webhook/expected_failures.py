"""Recorded cases that a webhook cannot answer as the server does, each with its reason. docs/webhook.md lists the reasons."""

_AGAIN = (
    "a second call cannot be told from the first, so a policy with IfNeeded has its second run at once, before other webhooks"
)

EXPECTED: dict[str, str] = {
    "policy-order-reinvocation/dry-run": _AGAIN,
    "policy-order-reinvocation/late-match-by-condition": _AGAIN,
    "policy-order-reinvocation/one-reinvocation-only": _AGAIN,
    "policy-order-reinvocation/validating-policy-before-webhook": "an API server calls all validating webhooks at the same time",
    "policy-validating/admission-resources-exempt": "no webhook is ever called for a webhook configuration",
}
