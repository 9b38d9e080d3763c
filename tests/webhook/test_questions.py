"""Questions that policies ask and only the API server can answer."""

from typing import Any, TypeAlias, cast

import pytest
from tests.webhook.reviewing import config_map, judged, label_of, mutating, request, view

from kadmit.access import reviews
from kadmit.api.errors import ApiError, Status
from kadmit.cel.library.authorizer import Attributes, User
from kadmit.cel.library.selectors import FieldRequirement, LabelRequirement
from kadmit.webhook.cluster import Cluster
from kadmit.webhook.judging import Judging
from kadmit.webhook.policies import Share
from kadmit.webhook.questions import NO_CLUSTER, access_spec, decision
from kadmit.webhook.review import NoVerdict, Response, Review

Json: TypeAlias = dict[str, Any]

ALICE = User("alice", "7", ("people",), {"scopes": ("a", "b")})
MUTATE = Share(mutating=True)


@pytest.mark.parametrize(
    "asked",
    [
        Attributes(ALICE, "get", path="/healthz"),
        Attributes(ALICE, "create", resource_request=True, group="apps", version="*", resource="deployments", namespace="n"),
        Attributes(
            ALICE, "list", resource_request=True, version="*", resource="pods", subresource="log", name="a",
            field_selector=(FieldRequirement("spec.nodeName", "=", "x"), FieldRequirement("a", "!=", "y")),
            label_selector=(LabelRequirement("a", "in", ("b", "c")), LabelRequirement("d", "exists"), LabelRequirement("e", "!")),
        ),
    ],
)  # fmt: skip
def test_a_review_of_access_asks_what_the_policy_asked(asked: Attributes) -> None:
    assert reviews.attributes_of(reviews.SUBJECT_ACCESS, access_spec(asked), User()) == asked


def test_an_answer_is_read() -> None:
    status = {"allowed": False, "reason": "no", "evaluationError": "partly"}
    found = decision({"status": status})
    assert (found.is_allowed, found.reason, found.error) == (False, "no", "partly")
    assert decision({}).is_allowed is False


class Answering:
    """A cluster that knows who may do what, and its namespaces."""

    def __init__(self, allowed: set[str], namespaces: set[str] = frozenset({"shop"})) -> None:  # type: ignore[assignment]
        self._allowed, self._namespaces = allowed, namespaces
        self.asked: list[str] = []

    async def send(self, method: str, path: str, body: Json) -> Json:
        verb = body["spec"]["resourceAttributes"]["verb"]
        self.asked.append(verb)
        return {"status": {"allowed": verb in self._allowed}}

    async def get(self, path: str) -> Json:
        name = path.rpartition("/")[2]
        self.asked.append(name)
        if name not in self._namespaces:
            raise ApiError(Status(404, "NotFound", "not found"))
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def policy(expression: str) -> list[Json]:
    return mutating("p", label_of("may", f"string({expression})"))


async def answered(expression: str, cluster: Answering, **asked: Any) -> Response:
    judging = Judging(view(policy(expression)), cast("Cluster", cluster))
    return await judging.answer(Review("v1", "1", request(config_map(), **asked)), MUTATE)


def label_in(response: Response) -> str:
    (operation,) = response.patch
    text: str = operation["value"]["may"]
    return text


def check(verb: str) -> str:
    return f'authorizer.requestResource.check("{verb}").allowed()'


@pytest.mark.parametrize(("allowed", "text"), [({"sing"}, "true"), (set(), "false")])
async def test_the_api_server_is_asked_who_may(allowed: set[str], text: str) -> None:
    assert label_in(await answered(check("sing"), Answering(allowed))) == text


async def test_a_question_is_asked_once_for_a_request() -> None:
    cluster = Answering({"sing"})
    assert label_in(await answered(f"{check('sing')} && {check('sing')}", cluster)) == "true"
    assert sorted(cluster.asked) == ["shop", "sing"]


async def test_a_question_that_follows_from_an_answer_is_asked_then() -> None:
    cluster = Answering({"sing", "dance"})
    assert label_in(await answered(f"{check('sing')} && {check('dance')}", cluster)) == "true"
    assert cluster.asked.index("sing") < cluster.asked.index("dance")


async def test_a_namespace_that_was_not_seen_yet_is_looked_for() -> None:
    assert label_in(await answered("namespaceObject.metadata.name == 'shop'", Answering(set()))) == "true"


async def test_a_namespace_that_is_not_there_refuses() -> None:
    response = await answered("true", Answering(set(), namespaces=set()))
    assert response.status is not None
    assert response.status["message"] == 'namespaces "shop" not found'


@pytest.mark.parametrize("name", ["../secrets", "a/b", "A", "", "x" * 64, "a?b"])
async def test_a_name_that_is_none_leads_nowhere_in_the_api(name: str) -> None:
    cluster = Answering(set(), namespaces=set())
    await answered("true", cluster, namespace=name)
    assert cluster.asked == []


class Silent(Answering):
    async def send(self, method: str, path: str, body: Json) -> Json:
        raise OSError("no route")

    async def get(self, path: str) -> Json:
        if self._namespaces:
            return await super().get(path)
        raise OSError("no route")


async def test_who_cannot_be_asked_has_not_allowed_anything() -> None:
    text = label_in(await answered('authorizer.requestResource.check("sing").error()', Silent(set())))
    assert text == "cannot ask the API server: no route"


async def test_without_an_answer_about_a_namespace_there_is_no_verdict() -> None:
    with pytest.raises(NoVerdict):
        await answered("true", Silent(set(), namespaces=set()))


async def test_before_policies_were_seen_there_is_no_verdict() -> None:
    from kadmit.webhook.view import View

    with pytest.raises(NoVerdict):
        await Judging(View(), None).answer(Review("v1", "1", request(config_map())), MUTATE)


async def test_policies_of_our_own_group_are_never_judged() -> None:
    resource = {"group": "policies.kadmit.dev", "version": "v1", "resource": "mutatingadmissionpolicies"}
    assert (await answered("object.nothing", Answering(set()), resource=resource)).allowed


def test_behind_files_nobody_may_do_anything() -> None:
    response = judged(view(policy('authorizer.requestResource.check("sing").reason()')), request(config_map()))
    assert label_in(response) == NO_CLUSTER
