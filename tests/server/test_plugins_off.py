"""An admission plugin that is turned off leaves what is registered for it alone, and obeys the others."""

from kadmit.resources.state import State

_POLICY = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "no"},
    "spec": {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "matchPolicy": "Equivalent",
            "namespaceSelector": {},
            "objectSelector": {},
            "resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"], "scope": "*"}],
        },
        "validations": [{"expression": "false"}],
    },
}
_BINDING = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": {"name": "no"},
    "spec": {"policyName": "no", "validationActions": ["Deny"]},
}


def _state(*without: str) -> State:
    state = State(without=without)
    group = "admissionregistration.k8s.io"
    state.apply((group, "validatingadmissionpolicies"), ("", "no"), _POLICY, 2)
    state.apply((group, "validatingadmissionpolicybindings"), ("", "no"), _BINDING, 3)
    return state


def test_policies_are_obeyed() -> None:
    assert len(_state("ValidatingAdmissionWebhook").snapshot.validating_policies) == 1


def test_policies_of_a_plugin_that_is_off_are_not() -> None:
    assert len(_state("ValidatingAdmissionPolicy").snapshot.validating_policies) == 0
