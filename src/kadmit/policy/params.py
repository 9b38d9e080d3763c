"""Which params a binding evaluates its policy with: none, one by name, or each that a selector selects."""

from collections.abc import Sequence

from kadmit.matching.attributes import Json
from kadmit.policy.model import Binding, Policy
from kadmit.policy.world import Params


class ParamsError(Exception):
    """A binding whose params cannot be had; str() is Kubernetes' text."""


def configuration_error(policy: Policy, world: Params) -> str | None:
    """Why a policy cannot be evaluated at all: nobody knows its paramKind."""
    if policy.param_kind is None or world.namespaced(policy.param_kind) is not None:
        return None
    return f"failed to find resource referenced by paramKind: '{policy.param_kind}'"


def collect(policy: Policy, binding: Binding, namespace: str, world: Params) -> Sequence[Json | None]:
    """The params, one evaluation each; empty means that the binding is skipped. Raises ParamsError."""
    kind, ref = policy.param_kind, binding.param_ref
    if kind is None or ref is None:
        return (None,)
    where = _namespace(binding, namespace, namespaced=bool(world.namespaced(kind)))
    if ref.name and ref.selector is not None:
        raise ParamsError("paramRef.name and paramRef.selector are mutually exclusive")
    if ref.name:
        one = world.param(kind, where, ref.name)
        found: Sequence[Json] = () if one is None else (one,)
    elif ref.selector is not None:
        found = world.params(kind, where, ref.selector)
    else:
        raise ParamsError("one of name or selector must be provided")
    if not found and ref.deny_if_missing:
        raise ParamsError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return found


def _namespace(binding: Binding, of_request: str, *, namespaced: bool) -> str:
    given = binding.param_ref.namespace if binding.param_ref is not None else ""
    if not namespaced:
        if given:
            raise ParamsError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        return ""
    if not given and not of_request:
        raise ParamsError("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
    return given or of_request
