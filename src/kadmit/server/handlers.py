"""Resource requests: find the resource, run the verb, show the answer in the form that was asked for."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from kadmit.access.attributes import RequestInfo
from kadmit.access.identity import Identities
from kadmit.access.reviews import Rules
from kadmit.admission.answers import Answer
from kadmit.admission.webhooks import Call
from kadmit.api import errors
from kadmit.api.errors import ApiError
from kadmit.api.meta import GroupResource, GroupVersionKind, GroupVersionResource
from kadmit.kinds.catalog import Resource
from kadmit.kinds.known import Known
from kadmit.matching.attributes import Json
from kadmit.presentation import encoding, fieldselectors, listing, media
from kadmit.presentation.media import Representation
from kadmit.presentation.runtimeconfig import RuntimeConfig
from kadmit.resources import connections, deprecation, subresources, verbs
from kadmit.resources import options as write_options
from kadmit.resources.context import Context, Options, Target, metadata_of
from kadmit.resources.effects import Exists, Put, Stale
from kadmit.resources.state import place_of
from kadmit.resources.verbs import Answered, Effect, Verb
from kadmit.server import chance, connecting, podlogs, reading, reviewing, shapes, watching
from kadmit.server.cache import Cache
from kadmit.server.exchange import Exchange, Reply, Waited
from kadmit.server.plain import no_page


class WebhookCaller(Protocol):
    """Calls webhooks. A seam, so that tests can answer without a network."""

    async def call(self, calls: Sequence[Call], *, deadline: float | None = None) -> list[Answer]: ...


class _Plan(NamedTuple):
    """Who answers requests to a URL, as long as these kinds are known."""

    known: Known
    target: Target
    handler: "Callable[[Resources, Exchange, Target], Awaitable[Reply]]"
    is_deprecated: bool


_PLAN = (_Plan,)


class Resources:
    """Answers requests for resources out of a cache, and writes through it."""

    def __init__(
        self,
        cache: Cache,
        webhooks: WebhookCaller,
        authorizer: Rules | None,
        *,
        serves: RuntimeConfig | None = None,
        identities: Identities | None = None,
        allow_privileged: bool = False,
        watch_seconds: int = watching.LEAST_SECONDS,
    ) -> None:
        self.cache = cache
        self.webhooks = webhooks
        self._authorizer = authorizer  # None: the roles of the cluster decide
        self.serves = serves or RuntimeConfig()
        self.identities = identities or Identities()
        self._known: Known | None = None
        self._found: dict[GroupVersionResource, Resource] = {}  # what is served of these kinds, as far as it was asked for
        self._allow_privileged = allow_privileged
        self.watch_seconds = watch_seconds  # how long a watch lasts at least whose client does not say how long

    @property
    def authorizer(self) -> Rules:
        return self._authorizer if self._authorizer is not None else self.cache.state.rbac

    # ------------------------------------------------------------ finding

    def _served(self, info: RequestInfo) -> Resource | None:
        known = self.cache.state.known
        if known is not self._known:
            self._known, self._found = known, {}
        key = GroupVersionResource(info.group, info.version, info.resource)
        found = self._found.get(key)
        if found is None:
            found = known.resource(key)
            if found is None or not found.served or not (found.custom or self.serves.serves(info.group, info.version)):
                return None
            self._found[key] = found
        return found

    def _has_group(self, group: str, version: str) -> bool:
        """NB: another version of a built-in group is a resource that is not there; of a custom group, no page."""
        known = self.cache.state.known
        return group in known.builtin_groups or known.catalog.serves(group, version)

    def knows(self, info: RequestInfo) -> bool:
        found = self._served(info)
        return found is not None and (not info.subresource or _has_part(found, info.subresource))

    def resource(self, info: RequestInfo) -> Resource:
        found = self._served(info)
        if found is None:
            raise errors.not_found_path()
        return found

    def target(self, exchange: Exchange) -> Target:
        info = exchange.info
        resource = self.resource(info)
        if info.subresource and not _has_part(resource, info.subresource):
            raise _no_part(resource, info.name)
        is_itself = resource.gvr == ("", "v1", "namespaces") and info.name == info.namespace
        if info.namespace and not resource.namespaced and not is_itself:
            raise errors.not_found_path()
        namespace = info.namespace if resource.namespaced else ""
        # NB: a list's name comes from its field selector, not from its path
        name = "" if info.verb in ("list", "watch", "deletecollection") else info.name
        return Target(resource, namespace, name, info.subresource)

    async def handle(self, exchange: Exchange) -> Reply:
        """Raises ApiError."""
        plan: _Plan | None = exchange.memory.held.get(_PLAN)
        if plan is None or plan.known is not self.cache.state.known:
            if not self._has_group(exchange.info.group, exchange.info.version):
                return no_page()
            plan = self._plan(exchange)
            exchange.memory.add(_PLAN, plan)
        elif plan.is_deprecated:
            deprecation.warn(plan.target, exchange.record)
        if self.cache.shared and plan.handler is not connecting.connect:
            await self.cache.settled(wait=True)
        reply: Reply = await plan.handler(self, exchange, plan.target)
        return reply

    def _plan(self, exchange: Exchange) -> "_Plan":
        """Who answers about what. Raises ApiError.

        NB: what a handler refuses comes with a warning of old versions, too; what has no handler, without.
        """
        known, target = self.cache.state.known, self.target(exchange)
        handler = connecting.connect if connections.is_about(target) else _handler(exchange, target)
        deprecation.warn(target, exchange.record)
        return _Plan(known, target, handler, deprecation.text(target) is not None)

    # ------------------------------------------------------------ writing

    def context(self, exchange: Exchange, options: Options) -> Context:
        state = self.cache.state
        return Context(
            state.known,
            state.world(self.authorizer),
            state.snapshot,
            exchange.user,
            options,
            chance.given(),
            exchange.record,
            state.pool if exchange.info.resource == "services" else None,
            allow_privileged=self._allow_privileged,
        )

    async def run(self, verb: Verb, exchange: Exchange | None = None) -> Answered:
        """Do what a verb asks for, until it answers. `exchange`: for which request."""
        try:
            effect = next(verb)
            while True:
                if isinstance(effect, Put):
                    try:
                        revision = await self.cache.put(effect)
                    except (Exists, Stale) as e:
                        effect = verb.throw(e)
                        continue
                    effect = verb.send(revision)
                else:
                    effect = _in_time(verb, await self._called(effect, exchange), exchange)
        except StopIteration as end:
            answered: Answered = end.value
            return answered

    async def _called(self, calls: Sequence[Call], exchange: Exchange | None) -> list[Answer]:
        answers = await self.webhooks.call(calls, deadline=None if exchange is None else exchange.deadline)
        if exchange is not None:
            pairs = zip(calls, answers, strict=True)
            exchange.waited += [Waited(call.webhook.name, call.mutating, answer.seconds) for call, answer in pairs]
        return answers

    async def create(self, exchange: Exchange, target: Target) -> Reply:
        how, body_type, options = _wanted(exchange, target)
        is_yaml = reading.is_yaml(exchange, target, body_type)
        context = self.context(exchange, options)
        if reviewing.is_review(target):
            verb = reviewing.review(context, target, exchange.body, self.authorizer, self.identities, is_yaml=is_yaml)
        else:
            verb = verbs.create(context, self.cache.state, target, exchange.body, is_yaml=is_yaml, value=exchange.value)
        answered = await self.run(verb, exchange)
        return self._shown(exchange, target, answered, how)

    async def update(self, exchange: Exchange, target: Target) -> Reply:
        how = _negotiated(exchange, target)
        options = _options("UpdateOptions", exchange)
        is_yaml = reading.is_yaml(exchange, target)
        context = self.context(exchange, options)
        verb = verbs.update(context, self.cache.state, target, exchange.body, is_yaml=is_yaml, value=exchange.value)
        return self._shown(exchange, target, await self.run(verb, exchange), how)

    async def patch(self, exchange: Exchange, target: Target) -> Reply:
        patch_type = media.patch_type(exchange.content_type, custom=target.resource.custom)
        how = _negotiated(exchange, target)
        options = _options("PatchOptions", exchange, patch_type)
        verb = verbs.patch(self.context(exchange, options), self.cache.state, target, exchange.body, patch_type)
        return self._shown(exchange, target, await self.run(verb, exchange), how)

    async def delete(self, exchange: Exchange, target: Target) -> Reply:
        how = _negotiated(exchange, target)
        options, delete_options = reading.delete_options(exchange, target)
        verb = verbs.delete(self.context(exchange, options), self.cache.state, target, delete_options)
        return self._shown(exchange, target, await self.run(verb, exchange), how)

    async def delete_collection(self, exchange: Exchange, target: Target) -> Reply:
        how = _negotiated(exchange, target)
        listed = listing.parse(exchange.query, self.fields_of(target))
        options, delete_options = reading.delete_options(exchange, target)
        made = await reading.listed(self, target, listed)
        for value in made["items"]:
            one = Target(target.resource, metadata_of(value).get("namespace") or "", metadata_of(value)["name"])
            context = self.context(exchange, options)
            try:
                await self.run(verbs.delete(context, self.cache.state, one, delete_options, of_many=True), exchange)
            except ApiError as e:
                if e.status.code != 404:
                    raise
        return self._shown(exchange, target, Answered(made), how)

    # ------------------------------------------------------------ reading

    def fields_of(self, target: Target) -> fieldselectors.SelectableFields:
        custom = self.cache.state.known.custom.get(target.resource.gvk)
        paths = custom.selectable_fields if custom is not None else ()
        return fieldselectors.of(target.resource, custom_fields=paths)

    def objects(self, target: Target) -> list[Json]:
        """All objects of a list, in the version of its URL."""
        state = self.cache.state
        kind = GroupVersionKind(*target.resource.gvk)
        place = place_of(target.resource)
        return [state.known.read(o, kind) for o in state.all(place, target.namespace or None)]

    async def get(self, exchange: Exchange, target: Target) -> Reply:
        how = _negotiated(exchange, target)
        reading.check_get(self, exchange)
        live = verbs.find(self.cache.state, target)
        if podlogs.is_about(target):
            node = (live.get("spec") or {}).get("nodeName") or ""
            return podlogs.read(target, live, exchange.query, is_node=self.cache.state.get(("", "nodes"), "", node) is not None)
        return self._shown(exchange, target, Answered(subresources.view(target, live, self.cache.state.known)), how)

    async def list(self, exchange: Exchange, target: Target) -> Reply:
        name = exchange.info.name or None
        listed = listing.parse(exchange.query, self.fields_of(target), name=name)
        if listed.watch or exchange.info.verb == "watch":
            _route(exchange, target)
            how = media.negotiate_stream(exchange.accept, pretty=_pretty(exchange))
            events = watching.stream(self, exchange, target, listed, how)
            first: AsyncIterator[bytes] = await watching.started(events)
            return Reply(200, stream=first, content_type=watching.content_type(how))
        how = _negotiated(exchange, target)
        made = await reading.listed(self, target, listed)
        return self._shown(exchange, target, Answered(made), how)

    # ------------------------------------------------------------ showing

    def _shown(self, exchange: Exchange, target: Target, answered: Answered, how: Representation) -> Reply:
        """The answer in the form that was asked for."""
        value = shapes.represent(answered.object, how, target, exchange, self.cache.state.known)
        body = encoding.encode(value, how, go_floats=target.resource.custom)
        return Reply(answered.code, body, how.media_type, object=answered.object)


_TICK = 0.001  # seconds by which a timer may be early


def _in_time(verb: Verb, answers: list[Answer], exchange: Exchange | None) -> Effect:
    """What a verb does next. NB: after the deadline it still takes note of the answers, but nobody waits for more."""
    deadline = None if exchange is None else exchange.deadline
    if deadline is None or asyncio.get_running_loop().time() < deadline - _TICK:
        return verb.send(answers)
    with contextlib.suppress(ApiError, StopIteration):
        verb.send(answers)
    verb.close()
    raise errors.out_of_time()


def _no_part(resource: Resource, name: str) -> ApiError:
    """NB: what is missing of a custom object is told as if the object were."""
    return errors.not_found(GroupResource(resource.group, resource.plural), name) if resource.custom else errors.not_found_path()


def _has_part(resource: Resource, subresource: str) -> bool:
    return resource.subresource(subresource) is not None or connections.takes(resource, subresource)


def _negotiated(exchange: Exchange, target: Target) -> Representation:
    key = (Representation, exchange.accept, exchange.user_agent)
    found: Representation | None = exchange.memory.held.get(key)
    if found is None:
        found = _negotiate(exchange, target)
        exchange.memory.add(key, found)
    return found


def _options(kind: str, exchange: Exchange, patch_type: str = "") -> Options:
    key = (kind, exchange.user_agent, patch_type)
    found: Options | None = exchange.memory.held.get(key)
    if found is None:
        found = write_options.read(kind, exchange.query, user_agent=exchange.user_agent, patch_type=patch_type)
        exchange.memory.add(key, found)
    return found


class _Wanted(NamedTuple):
    """What the headers of a create say: how to answer, in which form the body is, and the options."""

    how: Representation
    body_type: str
    options: Options


def _wanted(exchange: Exchange, target: Target) -> _Wanted:
    headers = exchange.headers
    key = (_Wanted, headers.get("Accept", ""), headers.get("Content-Type", ""), headers.get("User-Agent", ""))
    found: _Wanted | None = exchange.memory.held.get(key)
    if found is None:
        how = _negotiate(exchange, target)
        body_type = media.body_type(exchange.content_type, custom=target.resource.custom)
        options = write_options.read("CreateOptions", exchange.query, user_agent=exchange.user_agent)
        found = _Wanted(how, body_type, options)
        exchange.memory.add(key, found)
    return found


def _route(exchange: Exchange, target: Target) -> None:
    """Raises ApiError (406)."""
    if not target.resource.custom:
        media.route(exchange.accept, lists=exchange.method == "GET" and not target.name)


def _negotiate(exchange: Exchange, target: Target) -> Representation:
    _route(exchange, target)
    return media.negotiate(exchange.accept, pretty=_pretty(exchange))


def _pretty(exchange: Exchange) -> bool:
    return media.wants_pretty(exchange.asked("pretty"), exchange.user_agent)


def _handler(exchange: Exchange, target: Target) -> Any:
    """Raises ApiError (405)."""
    handler = _HANDLERS.get((exchange.method, bool(target.name)))
    if exchange.method == "POST" and target.name and not target.subresource:
        raise errors.method_not_allowed()
    if exchange.method != "GET" and exchange.info.verb == "watch":
        raise errors.method_not_allowed()
    if handler is None or (target.resource.namespaced and not target.namespace and exchange.method != "GET"):
        raise errors.method_not_allowed()
    _check_verb(exchange, target)
    return handler


def _check_verb(exchange: Exchange, target: Target) -> None:
    """Raises ApiError (405) for what a resource does not do."""
    wanted = {"POST": "create", "PUT": "update", "PATCH": "patch"}.get(exchange.method, "")
    if exchange.method == "DELETE":
        wanted = "delete" if target.name else "deletecollection"
    if exchange.method == "GET":
        wanted = "get" if target.name else "list"
    sub = target.resource.subresource(target.subresource) if target.subresource else None
    offered: Sequence[str] = sub.verbs if sub is not None else target.resource.verbs
    if wanted not in offered and not (wanted == "list" and exchange.info.verb == "watch"):
        raise errors.method_not_allowed()


_HANDLERS: Mapping[tuple[str, bool], Any] = {
    ("GET", True): Resources.get,
    ("GET", False): Resources.list,
    ("POST", False): Resources.create,
    ("POST", True): Resources.create,
    ("PUT", True): Resources.update,
    ("PATCH", True): Resources.patch,
    ("DELETE", True): Resources.delete,
    ("DELETE", False): Resources.delete_collection,
}
