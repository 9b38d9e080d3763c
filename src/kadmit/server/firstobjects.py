"""What is in a cluster before anybody adds to it: the namespaces of every cluster, and the roles that RBAC starts with.

Each start adds what is missing, and leaves alone what is there.
"""

import asyncio
from collections.abc import Iterable

import orjson

from kadmit.access import bootstrap
from kadmit.access.identity import AUTHENTICATED
from kadmit.admission.outcome import Record
from kadmit.api.errors import ApiError
from kadmit.api.meta import GroupVersionKind
from kadmit.cel.library.authorizer import User
from kadmit.matching.attributes import Json
from kadmit.resources import verbs
from kadmit.resources.context import Context, Options, Target
from kadmit.server import chance
from kadmit.server.handlers import Resources

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_CLUSTER_CRITICAL = "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."
PRIORITIES = (
    {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "system-node-critical"},
        "value": 2000001000,
        "description": "Used for system critical pods that must not be moved from their current node.",
    },
    {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "system-cluster-critical"},
        "value": 2000000000,
        "description": _CLUSTER_CRITICAL,
    },
)
_SERVER = User("system:apiserver", "", ("system:masters", AUTHENTICATED))


async def create(resources: Resources, *, roles: bool) -> None:
    """NB: admission is not asked: a policy must not be able to keep a server from starting."""
    await _create_all(resources, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": n}} for n in NAMESPACES])
    await _create_all(resources, PRIORITIES)
    if roles:
        await _create_all(resources, bootstrap.objects())


async def _create_all(resources: Resources, objects: Iterable[Json]) -> None:
    await asyncio.gather(*(_create(resources, value) for value in objects))


async def _create(resources: Resources, value: Json) -> None:
    state = resources.cache.state
    group, _, version = value["apiVersion"].rpartition("/")
    resource = state.known.kind(GroupVersionKind(group, version, value["kind"]))
    assert resource is not None
    metadata = value["metadata"]
    namespace = metadata.get("namespace", "")
    if state.get((resource.group, resource.plural), namespace, metadata["name"]) is not None:
        return
    world, options = state.world(None), Options(manager="kube-apiserver")  # NB: the server itself may give what it likes
    context = Context(
        state.known, world, state.snapshot, _SERVER, options, chance.given(), Record(), mutating=False, validating=False
    )
    target = Target(resource, namespace, "", "")
    try:
        await resources.run(verbs.create(context, state, target, orjson.dumps(value)))
    except ApiError as e:
        if e.status.reason != "AlreadyExists":  # another server of the same store was quicker
            raise
