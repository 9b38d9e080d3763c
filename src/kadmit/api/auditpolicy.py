"""Audit policy files (audit.k8s.io/v1 Policy): which requests are recorded, and how much of them.

The first rule that matches a request decides; without one it is not recorded. Unknown and repeated fields only give
warnings, as a policy that is read in part is better than a server that does not start.
"""

import enum
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from kadmit.api import fields, yaml
from kadmit.api.fields import FieldError, Path
from kadmit.api.yaml import YamlError

Json: TypeAlias = Any

API_VERSION = "audit.k8s.io/v1"

_SCHEME = "k8s.io/apiserver/pkg/audit/scheme.go:30"
_TYPE_META = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
_SUBDOMAIN = re.compile(r"(?!-)[-a-z0-9]++(?<!-)(?:\.(?!-)[-a-z0-9]++(?<!-))*+\Z")
_NOT_A_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with "
    "an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


class PolicyError(ValueError):
    """A file that is no usable policy."""


class Level(enum.IntEnum):
    """How much of a request is recorded; each level has all that the ones before it have."""

    NONE = 0
    METADATA = 1
    REQUEST = 2
    REQUEST_RESPONSE = 3

    @property
    def text(self) -> str:
        return _LEVEL_TEXTS[self]


_LEVEL_TEXTS = ("None", "Metadata", "Request", "RequestResponse")
_LEVELS = dict(zip(_LEVEL_TEXTS, Level, strict=True))


class Stage(enum.StrEnum):
    """When an event is made."""

    REQUEST_RECEIVED = "RequestReceived"
    RESPONSE_STARTED = "ResponseStarted"
    RESPONSE_COMPLETE = "ResponseComplete"
    PANIC = "Panic"


class Person(Protocol):
    """Who asks."""

    @property
    def name(self) -> str: ...
    @property
    def groups(self) -> Sequence[str]: ...


class Asked(Protocol):
    """What a rule looks at. A seam, because those who authorize requests describe them already, and live elsewhere."""

    @property
    def user(self) -> Person: ...
    @property
    def verb(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def resource_request(self) -> bool: ...
    @property
    def group(self) -> str: ...
    @property
    def resource(self) -> str: ...
    @property
    def subresource(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...


class Decision(Struct, frozen=True):
    """What to do with one request."""

    level: Level
    omit_stages: frozenset[str] = frozenset()
    omit_managed_fields: bool = False


# ---------------------------------------------------------------- matching


class GroupResources(Struct, frozen=True):
    group: str = ""
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()

    def matches(self, asked: Asked) -> bool:
        if self.group not in ("*", asked.group):
            return False
        if not self.resources:
            return True
        named = not self.resource_names or asked.name in self.resource_names
        return named and any(_resource_matches(pattern, asked) for pattern in self.resources)


def _resource_matches(pattern: str, asked: Asked) -> bool:
    """NB: `pods/*` is also about pods themselves."""
    whole = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
    if pattern in ("*", whole):
        return True
    any_resource = bool(asked.subresource) and pattern == f"*/{asked.subresource}"
    return any_resource or pattern == f"{asked.resource}/*"


class Rule(Struct, frozen=True):
    level: str = ""
    users: tuple[str, ...] = ()
    user_groups: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    resources: tuple[GroupResources, ...] = ()
    namespaces: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = ()
    omit_stages: tuple[str, ...] = ()
    omit_managed_fields: bool | None = None

    def matches(self, asked: Asked) -> bool:
        return self._matches_user(asked.user) and (not self.verbs or asked.verb in self.verbs) and self._matches_target(asked)

    def _matches_user(self, user: Person) -> bool:
        if self.users and user.name not in self.users:
            return False
        return not self.user_groups or any(group in self.user_groups for group in user.groups)

    def _matches_target(self, asked: Asked) -> bool:
        if self.namespaces or self.resources:
            return asked.resource_request and self._matches_resource(asked)
        if self.non_resource_urls:
            return not asked.resource_request and any(_path_matches(url, asked.path) for url in self.non_resource_urls)
        return True

    def _matches_resource(self, asked: Asked) -> bool:
        if self.namespaces and asked.namespace not in self.namespaces:
            return False
        return not self.resources or any(chosen.matches(asked) for chosen in self.resources)


def _path_matches(pattern: str, path: str) -> bool:
    return pattern in ("*", path) or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


class Policy(Struct, frozen=True):
    rules: tuple[Rule, ...]
    omit_stages: tuple[str, ...] = ()
    omit_managed_fields: bool = False
    warnings: tuple[str, ...] = ()

    def decide(self, asked: Asked) -> Decision:
        for rule in self.rules:
            if rule.matches(asked):
                stages = frozenset((*self.omit_stages, *rule.omit_stages))
                omits = self.omit_managed_fields if rule.omit_managed_fields is None else rule.omit_managed_fields
                return Decision(_LEVELS[rule.level], stages, omits)
        return Decision(Level.NONE, frozenset(self.omit_stages), self.omit_managed_fields)


# ---------------------------------------------------------------- reading


def parse(text: str | bytes) -> Policy:
    """The policy of a file, as YAML or JSON. Raises PolicyError."""
    try:
        document = yaml.load(text)
        _check_kind(document.value)
        reader = _Reader()
        policy = reader.policy(document.value)
    except (YamlError, _Undecodable) as error:
        raise PolicyError(f"failed decoding: {error}") from None
    errors = [str(error) for error in _errors(policy)]
    if errors:
        raise PolicyError(fields.aggregate(errors))
    if not policy.rules:
        raise PolicyError("loaded illegal policy with 0 rules")
    strict = [text for text in (document.strict_error, *reader.unknown) if text]
    warning = f"Audit policy contains errors, falling back to lenient decoding: strict decoding error: {', '.join(strict)}"
    return Policy(policy.rules, policy.omit_stages, policy.omit_managed_fields, (warning,) if strict else ())


class _Undecodable(ValueError):
    """A value of another type than its field."""


def _check_kind(document: Json) -> None:
    if document is not None and not isinstance(document, dict):
        word = _json_type(document)
        raise _Undecodable(
            f"couldn't get version/kind; json parse error: json: cannot unmarshal {word} into Go value of type {_TYPE_META}"
        )
    version, kind = (_type_meta(document or {}, name) for name in ("apiVersion", "kind"))
    if not version:
        raise PolicyError("unknown group version field audit.k8s.io/__internal, Kind=Policy in policy")
    if version != API_VERSION or kind not in ("", "Policy", "Event", "EventList", "PolicyList"):
        raise _Undecodable(f'no kind "{kind}" is registered for version "{version}" in scheme "{_SCHEME}"')
    if kind not in ("", "Policy"):
        raise _Undecodable(f"converting (v1.{kind}) to (audit.Policy): unknown conversion")


def _type_meta(document: Mapping[str, Json], name: str) -> str:
    value = document.get(name)
    if value is not None and not isinstance(value, str):
        shown = f"json: cannot unmarshal {_json_type(value)} into Go struct field .{name} of type string"
        raise _Undecodable(f"couldn't get version/kind; json parse error: {shown}")
    return value or ""


def _json_type(value: Json) -> str:
    words: dict[type, str] = {bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return words[type(value)]


class _Place(Struct, frozen=True):
    """Where a value stands: the Go struct, and the path of names that lead to it."""

    struct: str
    names: tuple[str, ...] = ()

    def refuse(self, value: Json, go_type: str) -> _Undecodable:
        where = ".".join((self.struct, *self.names))
        return _Undecodable(f"json: cannot unmarshal {_json_type(value)} into Go struct field {where} of type {go_type}")


class _Reader:
    """Reads plain JSON into the policy, and remembers the fields that it does not know."""

    def __init__(self) -> None:
        self.unknown: list[str] = []

    def policy(self, document: Mapping[str, Json]) -> Policy:
        self._note_unknown(document, "", ("apiVersion", "kind", "metadata", "rules", "omitStages", "omitManagedFields"))
        at = _Place("Policy")
        rules = _items(document, "rules", at, "[]v1.PolicyRule")
        return Policy(
            tuple(self._rule(rule, f"rules[{i}].") for i, rule in enumerate(rules)),
            _texts(document, "omitStages", at, "v1.Stage"),
            _boolean(document, "omitManagedFields", at) or False,
        )

    def _rule(self, value: Json, shown: str) -> Rule:
        rule = _object(value, _Place("Policy", ("rules",)), "v1.PolicyRule")
        self._note_unknown(rule, shown, _RULE_FIELDS)
        at = _Place("PolicyRule", ("rules",))
        groups = _items(rule, "resources", at, "[]v1.GroupResources")
        return Rule(
            level=_text(rule, "level", at, "v1.Level"),
            users=_texts(rule, "users", at),
            user_groups=_texts(rule, "userGroups", at),
            verbs=_texts(rule, "verbs", at),
            resources=tuple(self._resources(group, f"{shown}resources[{i}].") for i, group in enumerate(groups)),
            namespaces=_texts(rule, "namespaces", at),
            non_resource_urls=_texts(rule, "nonResourceURLs", at),
            omit_stages=_texts(rule, "omitStages", at, "v1.Stage"),
            omit_managed_fields=_boolean(rule, "omitManagedFields", at),
        )

    def _resources(self, value: Json, shown: str) -> GroupResources:
        found = _object(value, _Place("PolicyRule", ("rules", "resources")), "v1.GroupResources")
        self._note_unknown(found, shown, ("group", "resources", "resourceNames"))
        at = _Place("GroupResources", ("rules", "resources"))
        return GroupResources(
            _text(found, "group", at, "string"), _texts(found, "resources", at), _texts(found, "resourceNames", at)
        )

    def _note_unknown(self, value: Mapping[str, Json], shown: str, known: Sequence[str]) -> None:
        self.unknown += [f'unknown field "{shown}{name}"' for name in value if name not in known]


_RULE_FIELDS = (
    "level", "users", "userGroups", "verbs", "resources", "namespaces", "nonResourceURLs", "omitStages", "omitManagedFields",
)  # fmt: skip


def _object(value: Json, at: _Place, go_type: str) -> Mapping[str, Json]:
    if value is not None and not isinstance(value, dict):
        raise at.refuse(value, go_type)
    return value or {}


def _items(value: Mapping[str, Json], name: str, at: _Place, go_type: str) -> Sequence[Json]:
    found = value.get(name)
    if found is not None and not isinstance(found, list):
        raise _Place(at.struct, (*at.names, name)).refuse(found, go_type)
    return found or ()


def _texts(value: Mapping[str, Json], name: str, at: _Place, go_type: str = "string") -> tuple[str, ...]:
    return tuple(_text({name: item}, name, at, go_type) for item in _items(value, name, at, f"[]{go_type}"))


def _text(value: Mapping[str, Json], name: str, at: _Place, go_type: str) -> str:
    found = value.get(name)
    if found is not None and not isinstance(found, str):
        raise _Place(at.struct, (*at.names, name)).refuse(found, go_type)
    return found or ""


def _boolean(value: Mapping[str, Json], name: str, at: _Place) -> bool | None:
    found = value.get(name)
    if found is not None and not isinstance(found, bool):
        raise _Place(at.struct, (*at.names, name)).refuse(found, "bool")
    return found


# ---------------------------------------------------------------- validation


def _errors(policy: Policy) -> Iterator[FieldError]:
    yield from _stage_errors(policy.omit_stages, fields.path("omitStages"))
    for i, rule in enumerate(policy.rules):
        yield from _rule_errors(rule, fields.path("rules").index(i))


def _rule_errors(rule: Rule, at: Path) -> Iterator[FieldError]:
    if not rule.level:
        yield fields.required(at.child("level"))
    elif rule.level not in _LEVELS:
        yield fields.not_supported(at.child("level"), rule.level, _LEVEL_TEXTS)
    urls = at.child("nonResourceURLs")
    for i, url in enumerate(rule.non_resource_urls):
        yield from _url_errors(url, urls.index(i))
    for chosen in rule.resources:
        yield from _resources_errors(chosen, at.child("resources"))
    yield from _stage_errors(rule.omit_stages, at.child("omitStages"))
    if rule.non_resource_urls and (rule.resources or rule.namespaces):
        text = "rules cannot apply to both regular resources and non-resource URLs"
        yield fields.invalid(urls, list(rule.non_resource_urls), text)


def _url_errors(url: str, at: Path) -> Iterator[FieldError]:
    if url == "*":
        return
    if not url.startswith("/"):
        yield fields.invalid(at, url, "non-resource URL rules must begin with a '/' character")
    if "*" in url[:-1]:
        yield fields.invalid(at, url, "non-resource URL wildcards '*' must be the final character of the rule")


def _resources_errors(chosen: GroupResources, at: Path) -> Iterator[FieldError]:
    """NB: the path has no index, in Kubernetes too."""
    if chosen.group not in ("", "*"):
        problems = ["must be no more than 253 characters"] if len(chosen.group.encode(errors="replace")) > 253 else []
        if not _SUBDOMAIN.match(chosen.group):
            problems.append(_NOT_A_SUBDOMAIN)
        if problems:
            yield fields.invalid(at.child("group"), chosen.group, ",".join(problems))
    if chosen.resource_names and not chosen.resources:
        text = "using resourceNames requires at least one resource"
        yield fields.invalid(at.child("resourceNames"), list(chosen.resource_names), text)


def _stage_errors(stages: Sequence[str], at: Path) -> Iterator[FieldError]:
    known = tuple(stage.value for stage in Stage)
    for i, stage in enumerate(stages):
        if stage not in known:
            yield fields.invalid(at.index(i), stage, f"allowed stages are {','.join(known)}")
