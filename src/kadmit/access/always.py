"""--authorization-mode=AlwaysAllow: everybody may do everything."""

from kadmit.access.policyrules import PolicyRule
from kadmit.access.rbac import Found
from kadmit.cel.library.authorizer import Attributes, Decision, User

_EVERYTHING = (
    PolicyRule(verbs=("*",), api_groups=("*",), resources=("*",)),
    PolicyRule(verbs=("*",), non_resource_urls=("*",)),
)


class AlwaysAllow:
    def check(self, attributes: Attributes) -> Decision:
        return Decision(True)

    def rules_for(self, user: User, namespace: str, *, reported_as: str = "") -> Found:
        return Found(_EVERYTHING, None)
