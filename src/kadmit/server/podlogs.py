"""GET of a Pod's log: what can be told of it where no node runs any pod."""

from collections.abc import Iterator, Mapping, Sequence

from kadmit.api import errors, fields
from kadmit.api.errors import ApiError
from kadmit.api.fields import FieldError
from kadmit.api.meta import GroupKind, GroupResource
from kadmit.matching.attributes import Json
from kadmit.resources import subresources
from kadmit.resources.context import Target
from kadmit.server import connecting
from kadmit.server.exchange import Reply

_SMALLEST = {"tailLines": 0, "limitBytes": 1, "sinceSeconds": 1}


def is_about(target: Target) -> bool:
    return target.subresource == "log"


def read(target: Target, pod: Json, query: Mapping[str, Sequence[str]], *, is_node: bool) -> Reply:
    """Nothing, for a pod that no node has. `is_node`: whether the node of the pod is known. Raises ApiError."""
    found = list(_problems(query))
    if found:
        raise errors.invalid(GroupKind("", "PodLogOptions"), target.name, found)
    wrong = connecting.container_problem(pod, (query.get("container") or [""])[0])
    if wrong:
        raise errors.bad_request(wrong)
    node = (pod.get("spec") or {}).get("nodeName") or ""
    if not node:
        return Reply(204)
    raise subresources.not_here(target) if is_node else _no_node(node)


def _no_node(name: str) -> ApiError:
    """NB: it is told as a pod that is missing."""
    return errors.not_found(GroupResource("", "pods"), name)


def _problems(query: Mapping[str, Sequence[str]]) -> Iterator[FieldError]:
    for member, least in _SMALLEST.items():
        text = (query.get(member) or [""])[0]
        if text.lstrip("-").isdecimal() and int(text) < least:
            need = "must be greater than 0" if least else "must be greater than or equal to 0"
            yield fields.invalid(fields.path(member), int(text), need)
