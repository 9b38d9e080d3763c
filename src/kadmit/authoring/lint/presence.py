"""Whether a field of an object may be missing when an expression reads it.

A schema says what is optional, and not what is always there all the same: defaults are written in Go, and so are the rules by
which a container must have an image. So an object without the field is made up, given its defaults and shown to the kind's
own validation; what is there afterwards, or was asked for, cannot be missing.
"""

from typing import Any

from kadmit.api.fields import ErrorType
from kadmit.api.gojson import marshal
from kadmit.api.meta import GroupVersionKind
from kadmit.authoring.lint import samples
from kadmit.authoring.lint.paths import Item, Path
from kadmit.authoring.lint.project import Project
from kadmit.kinds import schema as schemas
from kadmit.kinds.schema import Node, Schema
from kadmit.kinds.structs import DecodeError

_ALWAYS = frozenset({("apiVersion",), ("kind",), ("metadata",), ("metadata", "name"), ("metadata", "namespace")})
_SERVER_SET = frozenset({"uid", "creationTimestamp", "resourceVersion", "generation", "managedFields"})
# What admission plugins of every API server write before a policy sees the object.
_BY_PLUGINS = {("", "Pod"): frozenset({("spec", "priority"), ("spec", "serviceAccountName"), ("spec", "tolerations")})}
_METADATA = "apimachinery.pkg.apis.meta.v1.ObjectMeta"
ANYTHING = GroupVersionKind("", "", "")  # a kind of which no more is known than that it has metadata


class Presence:
    """What may be missing in objects of one kind. Asked per path, remembered."""

    def __init__(self, project: Project, kind: GroupVersionKind) -> None:
        self._project = project
        self._kind = kind
        self._schema = None if kind == ANYTHING else project.schema_of(kind)
        self._asked: dict[Path, bool] = {}

    def may_be_missing(self, path: Path) -> bool:
        """Whether an object that has everything before the last step may lack the last one. False where nobody knows."""
        path = tuple(Item("0") if isinstance(step, Item) else step for step in path)
        if path not in self._asked:
            self._asked[path] = self._may_be_missing(path)
        return self._asked[path]

    def _may_be_missing(self, path: Path) -> bool:
        if path in _ALWAYS or (path[0] == "metadata" and path[-1] in _SERVER_SET):
            return False
        if path in _BY_PLUGINS.get((self._kind.group, self._kind.kind), ()):
            return False
        parent = self.schema_at(path[:-1])
        last = path[-1]
        if parent is None or isinstance(last, Item):
            return False
        if parent.kind is Node.MAP:
            return parent.additional is not None
        field = parent.fields.get(last)
        if field is None or field.required or field.has_default or field.schema.has_default:
            return False
        return self._schema is None or not self._is_always_there(path)

    def schema_at(self, path: Path) -> Schema | None:
        """The schema of a place, or None where there is none."""
        if self._schema is None:
            if not path or path[0] != "metadata":
                return None
            return _below(schemas.definition(_METADATA), path[1:])
        return _below(self._schema, path)

    # ------------------------------------------------------------ trying

    def _is_always_there(self, path: Path) -> bool:
        assert self._schema is not None
        body = samples.named(samples.of(self._schema), str(self._kind.group_version), self._kind.kind, "default")
        _without(body, self._schema, path)
        try:
            made = self._project.known.decode(self._kind, marshal(body).encode()).object
        except DecodeError:
            return False
        return _has(made, path) or self._is_asked_for(made, path)

    def _is_asked_for(self, made: dict[str, Any], path: Path) -> bool:
        """Whether validation refuses objects without it. NB: labels that a selector wants are not required, but invalid."""
        if self._project.known.is_custom(self._kind):
            return False
        from kadmit.kinds import rules

        wanted = _field(path)
        found = rules.validate_create(self._kind, made)
        return any(error.field == wanted and error.type in (ErrorType.REQUIRED, ErrorType.INVALID) for error in found)


def _below(schema: Schema, path: Path) -> Schema | None:
    at: Schema | None = schema
    for step in path:
        if at is None:
            return None
        if isinstance(step, Item):
            at = at.items if at.kind is Node.ARRAY else at.additional if at.kind is Node.MAP else None
        elif at.kind is Node.OBJECT:
            field = at.fields.get(step)
            at = field.schema if field is not None else None
        else:
            at = at.additional if at.kind is Node.MAP else None
    return at


def _without(body: Any, schema: Schema, path: Path) -> None:
    """Give the object everything before the last step, as little as can be, and take the last step away."""
    at, of = body, schema
    for step in path[:-1]:
        below = _below(of, (step,))
        if below is None:
            return
        key: Any = step
        if isinstance(step, Item):
            key = 0
            if isinstance(at, list) and not at:
                at.append(samples.of(below))
        elif not at.get(key):
            at[key] = samples.of(below)
        at, of = at[key], below
    if isinstance(at, dict):
        at.pop(path[-1], None)


def _has(value: Any, path: Path) -> bool:
    for step in path:
        if isinstance(step, Item):
            if not isinstance(value, list) or not value:
                return False
            value = value[0]
        elif isinstance(value, dict) and value.get(step) is not None:
            value = value[step]
        else:
            return False
    return True


def _field(path: Path) -> str:
    """The path as errors name it."""
    made = ""
    for step in path:
        made += f"[{step.which}]" if isinstance(step, Item) else f".{step}" if made else step
    return made
