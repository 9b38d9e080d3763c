"""Reviews: questions that are posted like objects and answered at once, without being stored."""

from kadmit.access import reviews
from kadmit.access.identity import Identities
from kadmit.access.reviews import Reviewer, Rules
from kadmit.matching.attributes import Json
from kadmit.resources import bodies, checks
from kadmit.resources.context import Context, Target

_GROUPS = ("authorization.k8s.io", "authentication.k8s.io")


def is_review(target: Target) -> bool:
    return target.resource.group in _GROUPS and target.resource.kind in reviews.KINDS and not target.subresource


def review(context: Context, target: Target, body: bytes, authorizer: Rules, identities: Identities, *, is_yaml: bool) -> Json:
    """The answer to a review. Raises ApiError."""
    asked = checks.in_namespace(target, bodies.read(context, target, body, is_yaml=is_yaml))
    refused = reviews.refusal(target.resource.kind, asked)
    if refused is not None:
        raise refused
    return reviews.answer(target.resource.kind, asked, Reviewer(context.user, authorizer, identities))
