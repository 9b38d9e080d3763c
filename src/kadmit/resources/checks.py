"""Does the object belong to the URL that it was sent to? Names and namespaces, with Kubernetes' texts."""

from kadmit.api import errors
from kadmit.api.errors import ApiError
from kadmit.api.gojson import quoted
from kadmit.kinds import metadata
from kadmit.matching.attributes import Json
from kadmit.resources.context import Context, Target, metadata_of, with_metadata


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


def could_be_a_name(target: Target) -> None:
    """Raises ApiError for what can be in no path of the store."""
    faults = [f"may not be '{name}'" for name in (".", "..") if target.name == name]
    faults += [f"may not contain '{part}'" for part in ("/", "%") if part in target.name]
    if faults:
        raise errors.bad_request(f"Name parameter invalid: {quoted(target.name)}: {';'.join(faults)}")


def has_name(target: Target, value: Json) -> None:
    """Raises ApiError unless the object has the name of the URL."""
    given = metadata_of(value).get("name") or ""
    if not given:
        raise errors.bad_request(f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided")
    if given != target.name:
        raise errors.bad_request(f"the name of the object ({given}) does not match the name on the URL ({target.name})")


def same_uid(target: Target, new: Json, live: Json) -> None:
    """Raises ApiError if the client means another object of the same name."""
    given, found = metadata_of(new).get("uid") or "", metadata_of(live).get("uid")
    if not given or given == found:
        return
    group = f"{target.resource.group}/" if "." in target.resource.group and not target.resource.group.endswith(".k8s.io") else ""
    where = f"{target.namespace}/{target.name}" if target.namespace else target.name
    key = f"/registry/{group}{target.resource.plural}/{where}"
    told = f"Precondition failed: UID in precondition: {given}, UID in object meta: {found}"
    text = f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {told}"
    raise errors.conflict(target.group_resource, target.name, text)


def owners_once(context: Context, value: Json, *, mutated: bool = False) -> Json:
    """The object with each of its owners once, and a warning if it was not so; `mutated`: after mutating admission."""
    if len(metadata_of(value).get("ownerReferences") or ()) < 2:
        return value
    made, repeated = metadata.without_repeated_owners(metadata_of(value))
    if not repeated:
        return value
    when = " after mutating admission happens" if mutated else ""
    advice = "API server dedups owner references in 1.20+, and may reject such requests as early as 1.24"
    found = f"please fix your requests; duplicate UID(s) observed: {', '.join(repeated)}"
    context.record.warn(f".metadata.ownerReferences contains duplicate entries{when}; {advice}; {found}")
    return {**value, "metadata": made}


def is_being_deleted(value: Json) -> bool:
    return metadata_of(value).get("deletionTimestamp") is not None


def conflict(target: Target) -> ApiError:
    text = "the object has been modified; please apply your changes to the latest version and try again"
    return errors.conflict(target.group_resource, target.name, text)
