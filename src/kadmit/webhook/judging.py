"""Reviews answered by policies: the handlers of a server, each with its share of what a view has published.

What goes wrong here is nobody's verdict: the caller gets an HTTP error, and its failurePolicy decides.
"""

import asyncio
import logging
import re
from collections.abc import Mapping

from kadmit.api.errors import ApiError
from kadmit.cel.library.authorizer import Decision
from kadmit.matching.attributes import Json
from kadmit.webhook import questions
from kadmit.webhook.answering import Handler
from kadmit.webhook.cluster import Cluster, Unreachable
from kadmit.webhook.policies import Share, judge, shares
from kadmit.webhook.questions import TURNS, Answers, Nowhere, Questions
from kadmit.webhook.review import BadReview, NoVerdict, Response, Review
from kadmit.webhook.surroundings import Surroundings
from kadmit.webhook.view import GROUP, View

_ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_ALLOWED = Response(allowed=True)
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_LOG = logging.getLogger("kadmit.webhook")


class Judging:
    """`cluster` is who is asked what the view does not know; None behind files alone."""

    def __init__(self, view: View, cluster: Cluster | None) -> None:
        self._view = view
        self._cluster = cluster

    def handlers(self) -> Mapping[str, Handler]:
        return {share.path: self._handler(share) for share in shares()}

    def _handler(self, share: Share) -> Handler:
        async def handler(review: Review) -> Response:
            try:
                return await self.answer(review, share)
            except BadReview as error:
                raise NoVerdict(str(error), 400) from None
            except NoVerdict:
                raise
            except Exception:
                _LOG.exception("review %s at %s could not be judged", review.uid, share.path)
                raise NoVerdict("the review could not be judged; the webhook's log tells why") from None

        return handler

    async def answer(self, review: Review, share: Share) -> Response:
        """Raises BadReview and NoVerdict."""
        if _is_own(review.request):
            return _ALLOWED
        snapshot, world = self._view.published.get(share), self._view.world
        if snapshot is None:
            raise NoVerdict("policies have not been seen yet", 503)
        if self._cluster is None:
            return judge(review.request, share, snapshot, Surroundings(world, Nowhere()))
        answers = Answers()
        for _ in range(TURNS):
            asked = Questions(answers)
            response = judge(review.request, share, snapshot, Surroundings(world, asked))
            if not asked.is_open:
                return response
            await self._ask(self._cluster, asked, answers)
        raise NoVerdict(f"policies asked new questions {TURNS} times in a row", 500)

    async def _ask(self, cluster: Cluster, asked: Questions, answers: Answers) -> None:
        access = list(asked.open_access.items())
        namespaces = sorted(asked.open_namespaces)
        decisions, found = await asyncio.gather(
            asyncio.gather(*(_decision(cluster, spec) for _, spec in access)),
            asyncio.gather(*(_namespace(cluster, name) for name in namespaces)),
        )
        answers.access.update(zip((key for key, _ in access), decisions, strict=True))
        answers.namespaces.update(zip(namespaces, found, strict=True))


def _is_own(request: Json) -> bool:
    """Our own policies are as exempt from policies as the API's are, or a bad one could not be taken back."""
    resource = request.get("resource")
    return isinstance(resource, dict) and resource.get("group") == GROUP


async def _decision(cluster: Cluster, spec: Json) -> Decision:
    """NB: who cannot be asked has not allowed anything; policies see the error."""
    try:
        return questions.decision(await cluster.send("POST", _ACCESS_REVIEWS, questions.access_review(spec)))
    except ApiError as error:
        return Decision(is_allowed=False, error=str(error))
    except Unreachable as error:
        return Decision(is_allowed=False, error=f"cannot ask the API server: {str(error) or type(error).__name__}")


async def _namespace(cluster: Cluster, name: str) -> Json | None:
    """NB: whoever calls may send any text for a name, which must not lead elsewhere in the API. Raises NoVerdict."""
    if not _NAME.fullmatch(name):
        return None
    try:
        return await cluster.get(f"/api/v1/namespaces/{name}")
    except ApiError as error:
        if error.status.code == 404:
            return None
        raise NoVerdict(f"cannot find namespace {name!r}: {error}", 503) from None
    except Unreachable as error:
        raise NoVerdict(f"cannot find namespace {name!r}: {str(error) or type(error).__name__}", 503) from None
