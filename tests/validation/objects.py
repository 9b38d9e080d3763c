"""One small valid object of each kind, and how to make others of them."""

import copy
from collections.abc import Mapping
from typing import Any

from kadmit.api.registration import GROUP

Json = dict[str, Any]
RULE: Json = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["widgets"]}
HOOK: Json = {
    "name": "a.hooks.example.com",
    "clientConfig": {"url": "https://hooks.example.com/a"},
    "rules": [RULE],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
MUTATION: Json = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
_CONSTRAINTS: Json = {"matchConstraints": {"resourceRules": [RULE]}}


def _object(kind: str, **parts: Any) -> Json:
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": "row.example.com"}, **parts}


BASES: Mapping[str, Json] = {
    "map": _object("MutatingAdmissionPolicy", spec={**_CONSTRAINTS, "mutations": [MUTATION], "reinvocationPolicy": "Never"}),
    "mapb": _object("MutatingAdmissionPolicyBinding", spec={"policyName": "demo.example.com"}),
    "vap": _object("ValidatingAdmissionPolicy", spec={**_CONSTRAINTS, "validations": [{"expression": "true"}]}),
    "vapb": _object("ValidatingAdmissionPolicyBinding", spec={"policyName": "demo.example.com", "validationActions": ["Deny"]}),
    "mwc": _object("MutatingWebhookConfiguration", webhooks=[HOOK]),
    "vwc": _object("ValidatingWebhookConfiguration", webhooks=[HOOK]),
}


def made(base: str, changes: Mapping[str, Any]) -> Json:
    """The object with values put at paths like spec/matchConstraints/resourceRules/0/scope."""
    obj = copy.deepcopy(BASES[base])
    for path, value in changes.items():
        at: Any = obj
        *walk, last = path.split("/")
        for key in walk:
            at = at[int(key)] if isinstance(at, list) else at.setdefault(key, {})
        at[int(last) if isinstance(at, list) else last] = copy.deepcopy(value)
    return obj
