"""CONNECT: exec, attach, portforward and proxies. Admission is asked as in a real cluster; then there is no node to connect to."""

from typing import TYPE_CHECKING

from kadmit.admission import chain
from kadmit.api import errors
from kadmit.api.errors import ApiError, Status
from kadmit.api.meta import GroupVersionKind
from kadmit.matching.attributes import CONNECT, Attributes
from kadmit.resources import verbs
from kadmit.resources.context import Options, Target
from kadmit.resources.verbs import Answered, Verb
from kadmit.server.exchange import Exchange, Reply

if TYPE_CHECKING:
    from kadmit.server.handlers import Resources

_OPTIONS = {
    ("pods", "exec"): "PodExecOptions",
    ("pods", "attach"): "PodAttachOptions",
    ("pods", "portforward"): "PodPortForwardOptions",
    ("pods", "proxy"): "PodProxyOptions",
    ("services", "proxy"): "ServiceProxyOptions",
    ("nodes", "proxy"): "NodeProxyOptions",
}
KNOWN = frozenset(sub for _, sub in _OPTIONS)


def is_connect(target: Target) -> bool:
    return target.resource.group == "" and (target.resource.plural, target.subresource.split("/")[0]) in _OPTIONS


async def connect(resources: "Resources", exchange: Exchange, target: Target) -> Reply:
    """Raises ApiError: refused by admission, or because there is nothing to connect to."""
    answered = await resources.run(_connect(resources, exchange, target), exchange.deadline)
    return Reply(answered.code)


def _connect(resources: "Resources", exchange: Exchange, target: Target) -> Verb:
    kind = _OPTIONS[target.resource.plural, target.subresource.split("/")[0]]
    context = resources.context(exchange, Options())
    attributes = Attributes(
        kind=GroupVersionKind("", "v1", kind),
        resource=target.gvr,
        operation=CONNECT,
        name=target.name,
        namespace=target.namespace,
        subresource=target.subresource,
        object=_options(kind, exchange),
        user=exchange.user,
    )
    after = yield from chain.mutate(context.snapshot, attributes, context.world, context.record)
    yield from chain.validate(context.snapshot, after, context.world, context.record)
    verbs.find(resources.cache.state, target)
    raise _nowhere(target)
    return Answered({})


def _options(kind: str, exchange: Exchange) -> dict[str, object]:
    made: dict[str, object] = {"kind": kind, "apiVersion": "v1"}
    for name in ("container", "path"):
        if exchange.asked(name):
            made[name] = exchange.asked(name)
    for name in ("stdin", "stdout", "stderr", "tty"):
        if name in exchange.query:
            made[name] = exchange.asked(name) in ("true", "1", "")
    if exchange.query.get("command"):
        made["command"] = list(exchange.query["command"])
    return made


def _nowhere(target: Target) -> ApiError:
    if target.resource.plural == "pods":
        return errors.bad_request(f"pod {target.name} does not have a host assigned")
    return ApiError(Status(503, "ServiceUnavailable", f'no endpoints available for service "{target.name}"'))
