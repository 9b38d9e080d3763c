"""GET of a Pod's log: what can be told of it where no node runs any pod."""

from collections.abc import Iterator

from kadmit.api import errors, fields
from kadmit.api.fields import FieldError
from kadmit.api.meta import GroupKind
from kadmit.matching.attributes import Json
from kadmit.presentation import queries
from kadmit.presentation.queries import Query
from kadmit.resources import subresources
from kadmit.resources.context import Target
from kadmit.server import connecting
from kadmit.server.exchange import Reply

_SMALLEST = {"tailLines": 0, "limitBytes": 1, "sinceSeconds": 1}


def is_about(target: Target) -> bool:
    return target.subresource == "log"


def read(target: Target, pod: Json, query: Query, *, is_node: bool) -> Reply:
    """Nothing, for a pod that no node has. `is_node`: whether the node of the pod is known. Raises ApiError."""
    found = list(_problems(query))
    if found:
        raise errors.invalid(GroupKind("", "PodLogOptions"), target.name, found)
    wrong = connecting.container_problem(pod, queries.text(query, "container"))
    if wrong:
        raise errors.bad_request(wrong)
    node = (pod.get("spec") or {}).get("nodeName") or ""
    if not node:
        return Reply(204)
    raise subresources.not_here(target) if is_node else connecting.no_node(node)


def _problems(query: Query) -> Iterator[FieldError]:
    for member, least in _SMALLEST.items():
        asked = queries.integer(query, member)
        if asked is not None and asked < least:
            need = "must be greater than 0" if least else "must be greater than or equal to 0"
            yield fields.invalid(fields.path(member), asked, need)
