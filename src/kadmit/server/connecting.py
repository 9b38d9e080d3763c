"""CONNECT: exec, attach, portforward and proxies. Admission is asked as in a cluster; then there is no node to connect to."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from kadmit.admission import chain
from kadmit.api import errors
from kadmit.api.errors import ApiError, Details, Status
from kadmit.api.gojson import quoted
from kadmit.api.meta import GroupResource
from kadmit.matching.attributes import Json
from kadmit.presentation import queries
from kadmit.resources import connections, verbs
from kadmit.resources.context import Options, Target, metadata_of
from kadmit.resources.verbs import Verb
from kadmit.server.exchange import Exchange, Reply

if TYPE_CHECKING:
    from kadmit.server.handlers import Resources

_PROXY = "proxy"
_NODES = ("", "nodes")
_UPGRADES = frozenset(("GET", "POST"))
_MAX_PORT = 65535


async def connect(resources: "Resources", exchange: Exchange, target: Target) -> Reply:
    """Raises ApiError: refused by admission, or because there is nothing to connect to."""
    if target.subresource != _PROXY and exchange.method not in _UPGRADES:
        text = "the server does not allow this method on the requested resource"
        raise ApiError(Status(405, "MethodNotAllowed", text, Details()))
    if "dryRun" in exchange.query:
        raise errors.bad_request("dryRun is not supported")
    answered = await resources.run(_connect(resources, exchange, target), exchange)
    return Reply(answered.code)


def _connect(resources: "Resources", exchange: Exchange, target: Target) -> Verb:
    context = resources.context(exchange, Options())
    options = _options(connections.options_kind(target), exchange)
    attributes = connections.attributes(target, options, exchange.user)
    if context.mutating:
        attributes = yield from chain.mutate(context.snapshot, attributes, context.world, context.record)
    if context.validating:
        yield from chain.validate(context.snapshot, attributes, context.world, context.record)
    live = verbs.find(resources.cache.state, target)
    node = (live.get("spec") or {}).get("nodeName") if target.resource.plural == "pods" else ""
    if node and target.subresource != _PROXY and resources.cache.state.get(_NODES, "", node) is None:
        raise no_node(node)
    raise _nowhere(target, live, str((attributes.object or options).get("container") or ""))


def no_node(name: str) -> ApiError:
    """NB: Kubernetes calls the node a pod."""
    return errors.not_found(GroupResource("", "pods"), name)


# ---------------------------------------------------------------- options


def _flag(values: Sequence[str]) -> bool:
    """NB: even without a value, a flag that is there is on."""
    return queries.is_on(values[0])


def _ports(values: Sequence[str]) -> list[int]:
    return [_port(text) for value in values for text in value.split(",")]


def _port(text: str) -> int:
    """Raises ApiError."""
    fault = "invalid syntax" if not (text.isascii() and text.isdigit()) else ""
    if not fault and (len(text.lstrip("0")) > len(str(_MAX_PORT)) or int(text) > _MAX_PORT):
        fault = "value out of range"
    if fault:
        raise errors.bad_request(f"cannot convert to []int32: strconv.ParseUint: parsing {quoted(text)}: {fault}")
    return int(text)


_READERS: Mapping[str, Callable[[Sequence[str]], object]] = {
    "stdin": _flag,
    "stdout": _flag,
    "stderr": _flag,
    "tty": _flag,
    "container": lambda values: values[0],
    "command": list,
    "ports": _ports,
    "path": lambda values: values[0],
}
_STREAMS = ("stdin", "stdout", "stderr", "tty", "container")
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "PodExecOptions": (*_STREAMS, "command"),
    "PodAttachOptions": _STREAMS,
    "PodPortForwardOptions": ("ports",),
}
_ALWAYS = frozenset(("command",))  # fields that Go writes even if there is nothing in them


def _options(kind: str, exchange: Exchange) -> Json:
    """The query as an object, which leaves out nearly all that is empty. Raises ApiError."""
    query = exchange.query if kind in _FIELDS else {"path": [_subpath(exchange)]}
    made: Json = {"kind": kind, "apiVersion": "v1"}
    for name in _FIELDS.get(kind, ("path",)):
        value = _READERS[name](query[name]) if query.get(name) else None
        if value or name in _ALWAYS:
            made[name] = value
    return made


def _subpath(exchange: Exchange) -> str:
    """What a proxy is asked for: the rest of the path, which keeps the slash at its end."""
    rest = "/".join(exchange.info.parts[3:])
    path = f"/{rest}" if rest and not rest.startswith("/") else rest
    return f"{path}/" if exchange.info.path.endswith("/") and not path.endswith("/") else path


# ---------------------------------------------------------------- nothing there


def _nowhere(target: Target, live: Json, container: str) -> ApiError:
    """Why there is no way on: no such container, no node, no address."""
    if target.resource.plural == "services":
        return errors.service_unavailable(f'no endpoints available for service "{target.name}"')
    if target.subresource == _PROXY:
        return errors.bad_request("address not allowed")
    problem = container_problem(live, container) if target.subresource in ("exec", "attach") else ""
    return errors.bad_request(problem or f"pod {target.name} does not have a host assigned")


def container_problem(pod: Json, wanted: str) -> str:
    """Why a container that is asked for, or not, is none of the pod's."""
    spec, name = pod.get("spec") or {}, metadata_of(pod).get("name")
    names = [c["name"] for part in ("initContainers", "containers", "ephemeralContainers") for c in spec.get(part) or ()]
    if wanted:
        return "" if wanted in names else f"container {wanted} is not valid for pod {name}"
    if len(spec.get("containers") or ()) == 1:
        return ""
    return f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]"
