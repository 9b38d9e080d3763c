"""authorizer: what a user may do, asked step by step and answered by whatever authorizes requests.

    authorizer.group('apps').resource('deployments').namespace('default').check('create').allowed()

The answer costs so much that one expression can afford two.
"""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import ClassVar, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from kadmit.cel import gotext, types
from kadmit.cel.declarations import Cost, Example, Function, Impl, Overload, function, member
from kadmit.cel.library import names, selectors, traversal
from kadmit.cel.library.lists import LIST_CREATE_COST, TRAVERSAL, size_of
from kadmit.cel.library.selectors import FieldRequirement, LabelRequirement
from kadmit.cel.types import Type
from kadmit.cel.values import CelError, Value

SINCE, SELECTORS_SINCE = 27, 31
CHECK_COST = 350_000

_REQUIREMENT_COST = 50.0  # a list and a struct
_NO_OVERLOAD = CelError("no such overload")


class User(Struct, frozen=True):
    """Who asks."""

    name: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)


def service_account(namespace: str, name: str) -> User:
    """NB: without system:authenticated, which only an authenticated request gets."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return User(f"system:serviceaccount:{namespace}:{name}", groups=groups)


class Attributes(Struct, frozen=True):
    """What is asked: a verb on a path, or (with `resource_request`) on a resource of any version of its group."""

    user: User
    verb: str
    path: str = ""
    resource_request: bool = False
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: tuple[FieldRequirement, ...] = ()
    field_selector_error: str = ""
    label_selector: tuple[LabelRequirement, ...] = ()
    label_selector_error: str = ""


class Authorizer(Protocol):
    """Says yes or no. A seam, because CEL does not know RBAC, and because tests and tools answer for themselves."""

    def check(self, attributes: Attributes) -> "Decision": ...


# ---------------------------------------------------------------- values


class _Asked(Struct, frozen=True, eq=False):
    """What all values here share: functions take them, and nothing else. Even == on two of them fails."""

    cel_type: ClassVar[Type]

    @property
    def native_name(self) -> str:
        return self.cel_type.name

    def equals(self, _other: Value) -> Value:
        return _NO_OVERLOAD

    def native(self) -> Value:
        return _NO_OVERLOAD


class Decision(_Asked, frozen=True, eq=False):
    """An answer: allowed or not, why, and what went wrong on the way (None: nothing)."""

    cel_type: ClassVar[Type] = types.struct("kubernetes.authorization.Decision")
    go_name: ClassVar[str] = "library.decisionVal"

    is_allowed: bool
    reason: str = ""
    error: str | None = None


class AuthorizerValue(_Asked, frozen=True, eq=False):
    """The variable `authorizer`: a user, and who answers."""

    cel_type: ClassVar[Type] = types.struct("kubernetes.authorization.Authorizer")
    go_name: ClassVar[str] = "library.authorizerVal"

    user: User
    authorizer: Authorizer


class PathCheck(_Asked, frozen=True, eq=False):
    cel_type: ClassVar[Type] = types.struct("kubernetes.authorization.PathCheck")
    go_name: ClassVar[str] = "library.pathCheckVal"

    authorizer: Authorizer
    attributes: Attributes


class GroupCheck(_Asked, frozen=True, eq=False):
    cel_type: ClassVar[Type] = types.struct("kubernetes.authorization.GroupCheck")
    go_name: ClassVar[str] = "library.groupCheckVal"

    authorizer: Authorizer
    attributes: Attributes


class ResourceCheck(_Asked, frozen=True, eq=False):
    cel_type: ClassVar[Type] = types.struct("kubernetes.authorization.ResourceCheck")
    go_name: ClassVar[str] = "library.resourceCheckVal"

    authorizer: Authorizer
    attributes: Attributes
    field_selector: str = ""
    label_selector: str = ""


def request_resource(
    user: User, authorizer: Authorizer, *, group: str, resource: str, subresource: str = "", namespace: str = "", name: str = ""
) -> ResourceCheck:
    """The variable `authorizer.requestResource`: a check that is about the request's own resource."""
    asked = Attributes(
        user,
        "",
        resource_request=True,
        group=group,
        version="*",
        resource=resource,
        subresource=subresource,
        namespace=namespace,
        name=name,
    )
    return ResourceCheck(authorizer, asked)


# ---------------------------------------------------------------- functions


def path(self: AuthorizerValue, text: str) -> Value:
    if not gotext.trim_space(text):
        return CelError("path must not be empty")
    return PathCheck(self.authorizer, Attributes(self.user, "", path=text))


def group(self: AuthorizerValue, text: str) -> Value:
    return GroupCheck(self.authorizer, Attributes(self.user, "", resource_request=True, group=text, version="*"))


def as_service_account(self: AuthorizerValue, namespace: str, name: str) -> Value:
    if names.dns1123_subdomain(name):
        return CelError("Invalid service account name")
    if names.dns1123_label(namespace):
        return CelError("Invalid service account namespace")
    return AuthorizerValue(service_account(namespace, name), self.authorizer)


def resource(self: GroupCheck, text: str) -> Value:
    if not gotext.trim_space(text):
        return CelError("resource must not be empty")
    return ResourceCheck(self.authorizer, replace(self.attributes, resource=text))


def subresource(self: ResourceCheck, text: str) -> Value:
    return replace(self, attributes=replace(self.attributes, subresource=text))


def namespace(self: ResourceCheck, text: str) -> Value:
    return replace(self, attributes=replace(self.attributes, namespace=text))


def name(self: ResourceCheck, text: str) -> Value:
    return replace(self, attributes=replace(self.attributes, name=text))


def field_selector(self: ResourceCheck, text: str) -> Value:
    return replace(self, field_selector=text)


def label_selector(self: ResourceCheck, text: str) -> Value:
    return replace(self, label_selector=text)


def check_path(self: PathCheck, verb: str) -> Value:
    return self.authorizer.check(replace(self.attributes, verb=verb))


def check_resource(self: ResourceCheck, verb: str) -> Value:
    """NB: selectors that cannot be read are left out, so the check is then about everything."""
    asked = replace(self.attributes, verb=verb)
    if self.field_selector:
        fields = selectors.parse_fields(self.field_selector)
        asked = replace(asked, **({"field_selector_error": fields} if isinstance(fields, str) else {"field_selector": fields}))
    if self.label_selector:
        labels = selectors.parse_labels(self.label_selector)
        asked = replace(asked, **({"label_selector_error": labels} if isinstance(labels, str) else {"label_selector": labels}))
    return self.authorizer.check(asked)


def allowed(self: Decision) -> Value:
    return self.is_allowed


def reason(self: Decision) -> Value:
    return self.reason


def errored(self: Decision) -> Value:
    return self.error is not None


def error(self: Decision) -> Value:
    return self.error or ""


def selector_cost(_overload: str, args: Sequence[Value], _result: Value) -> int:
    """Reading it, and a requirement for every second character."""
    size = size_of(args[1])
    return LIST_CREATE_COST + ceil(size * TRAVERSAL) + ceil(ceil(size * 0.5) * _REQUIREMENT_COST)


AUTHORIZER, PATH_CHECK, GROUP_CHECK = AuthorizerValue.cel_type, PathCheck.cel_type, GroupCheck.cel_type
RESOURCE_CHECK, DECISION = ResourceCheck.cel_type, Decision.cel_type


def _step(
    name: str, overload: str, receiver: Type, result: Type, impl: Impl, doc: str, *examples: Example, texts: int = 1,
    cost: Cost = traversal.one_step, since: int = SINCE
) -> Function:  # fmt: skip
    """A method that takes so many texts."""
    signature: Overload = member(overload, receiver, (types.STRING,) * texts, result, impl, since=since)
    return function(name, signature, cost=cost, doc=doc, examples=examples)


def _denied(expr: str) -> Example:
    """An example as it comes out where nothing is allowed."""
    return Example(expr, False)


FUNCTIONS: tuple[Function, ...] = (
    _step(
        "path", "authorizer_path", AUTHORIZER, PATH_CHECK, path, "Asks about a path that is no resource, such as /healthz.",
        _denied("authorizer.path('/healthz').check('get').allowed()"),
        Example("authorizer.path(' ')", error="path must not be empty"),
    ),
    _step(
        "group", "authorizer_group", AUTHORIZER, GROUP_CHECK, group, "Asks about an API group; the core group is ''.",
        _denied("authorizer.group('apps').resource('deployments').check('create').allowed()"),
    ),
    _step(
        "serviceAccount", "authorizer_serviceaccount", AUTHORIZER, AUTHORIZER, as_service_account,
        "Asks for a service account (namespace, name) instead of the requesting user.",
        _denied("authorizer.serviceAccount('default', 'robot').group('').resource('pods').check('get').allowed()"),
        Example("authorizer.serviceAccount('default', 'Bad_Name')", error="Invalid service account name"),
        texts=2,
    ),
    _step(
        "resource", "groupcheck_resource", GROUP_CHECK, RESOURCE_CHECK, resource, "Asks about a resource of the group.",
        _denied("authorizer.group('').resource('pods').check('list').allowed()"),
        Example("authorizer.group('').resource('')", error="resource must not be empty"),
    ),
    _step(
        "subresource", "resourcecheck_subresource", RESOURCE_CHECK, RESOURCE_CHECK, subresource, "Asks about a subresource.",
        _denied("authorizer.group('').resource('pods').subresource('exec').check('create').allowed()"),
    ),
    _step(
        "namespace", "resourcecheck_namespace", RESOURCE_CHECK, RESOURCE_CHECK, namespace, "Asks about one namespace.",
        _denied("authorizer.group('').resource('pods').namespace('default').check('list').allowed()"),
    ),
    _step(
        "name", "resourcecheck_name", RESOURCE_CHECK, RESOURCE_CHECK, name, "Asks about one object.",
        _denied("authorizer.group('').resource('configmaps').namespace('default').name('one').check('get').allowed()"),
    ),
    _step(
        "fieldSelector", "authorizer_fieldselector", RESOURCE_CHECK, RESOURCE_CHECK, field_selector,
        "Asks only about objects with these fields; a selector that cannot be read is left out.",
        _denied("authorizer.group('').resource('pods').fieldSelector('spec.nodeName=n').check('list').allowed()"),
        cost=selector_cost, since=SELECTORS_SINCE,
    ),
    _step(
        "labelSelector", "authorizer_labelselector", RESOURCE_CHECK, RESOURCE_CHECK, label_selector,
        "Asks only about objects with these labels; a selector that cannot be read is left out.",
        _denied("authorizer.group('').resource('pods').labelSelector('app=web').check('list').allowed()"),
        cost=selector_cost, since=SELECTORS_SINCE,
    ),
    function(
        "check",
        member("pathcheck_check", PATH_CHECK, (types.STRING,), DECISION, check_path, since=SINCE),
        member("resourcecheck_check", RESOURCE_CHECK, (types.STRING,), DECISION, check_resource, since=SINCE),
        cost=traversal.flat(CHECK_COST),
        doc="Asks for the verb and gives the decision. One expression can afford two checks.",
        examples=(_denied("authorizer.requestResource.check('delete').allowed()"),),
    ),
    _step(
        "allowed", "decision_allowed", DECISION, types.BOOL, allowed, "Whether it is allowed.",
        _denied("authorizer.path('/metrics').check('get').allowed()"), texts=0,
    ),
    _step(
        "reason", "decision_reason", DECISION, types.STRING, reason, "Why it is allowed or not; may be empty.",
        Example("authorizer.path('/metrics').check('get').reason()", ""), texts=0,
    ),
    _step(
        "errored", "decision_errored", DECISION, types.BOOL, errored, "Whether authorizing went wrong.",
        _denied("authorizer.path('/metrics').check('get').errored()"), texts=0,
    ),
    _step(
        "error", "decision_error", DECISION, types.STRING, error, "What went wrong; empty if nothing did.",
        Example("authorizer.path('/metrics').check('get').error()", ""), texts=0,
    ),
)  # fmt: skip
