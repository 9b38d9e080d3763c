"""Does the object belong to the URL that it was sent to? Names and namespaces, with Kubernetes' texts."""

from kadmit.api import errors
from kadmit.api.errors import ApiError
from kadmit.matching.attributes import Json
from kadmit.resources.context import Target, metadata_of, with_metadata


def in_namespace(target: Target, value: Json) -> Json:
    """The object in the namespace of the request; raises ApiError if it names another one."""
    expected = target.namespace if target.resource.namespaced else ""
    given = metadata_of(value).get("namespace") or ""
    if given == expected:
        return value
    if not given:
        return with_metadata(value, namespace=expected)
    if not expected:
        return with_metadata(value, namespace=None)  # cluster-scoped objects lose it without a word
    raise errors.bad_request("the namespace of the provided object does not match the namespace sent on the request")


def has_name(target: Target, value: Json) -> None:
    """Raises ApiError unless the object has the name of the URL."""
    given = metadata_of(value).get("name") or ""
    if not given:
        raise errors.bad_request(f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided")
    if given != target.name:
        raise errors.bad_request(f"the name of the object ({given}) does not match the name on the URL ({target.name})")


def is_being_deleted(value: Json) -> bool:
    return metadata_of(value).get("deletionTimestamp") is not None


def conflict(target: Target) -> ApiError:
    text = "the object has been modified; please apply your changes to the latest version and try again"
    return errors.conflict(target.group_resource, target.name, text)
