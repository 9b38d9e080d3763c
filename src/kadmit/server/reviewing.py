"""Reviews: questions that are posted like objects and answered at once, without being stored."""

from kadmit.access import reviews
from kadmit.access.identity import Identities
from kadmit.access.reviews import Reviewer, Rules
from kadmit.kinds import metadata
from kadmit.matching.attributes import Json
from kadmit.resources import bodies, checks, ownership, writing
from kadmit.resources.context import Context, Target, metadata_of
from kadmit.resources.verbs import Answered, Verb

_GROUPS = ("authorization.k8s.io", "authentication.k8s.io")


def is_review(target: Target) -> bool:
    return target.resource.group in _GROUPS and target.resource.kind in reviews.KINDS and not target.subresource


def review(context: Context, target: Target, body: bytes, authorizer: Rules, identities: Identities, *, is_yaml: bool) -> Verb:
    """Answers a review. NB: webhooks see the question like any new object, and may change it. Raises ApiError."""
    given = checks.in_namespace(target, bodies.read(context, target, body, is_yaml=is_yaml))
    asked = yield from writing.asked(context, target, given)
    refused = reviews.refusal(target.resource.kind, _as_new(context, target, asked))
    if refused is not None:
        raise refused
    yield from writing.judged(context, target, asked)
    return Answered(reviews.answer(target.resource.kind, asked, Reviewer(context.user, authorizer, identities)), 201)


def _as_new(context: Context, target: Target, asked: Json) -> Json:
    """NB: a question is treated like any new object before it is looked at, and its metadata are shown so."""
    cleared = metadata.cleared_on_create(metadata_of(asked), namespaced=True)
    return ownership.own(context, target, None, {**asked, "metadata": cleared}) if cleared else asked
