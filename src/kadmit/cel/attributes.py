"""Paths into values: `object.spec.containers[0].?image`, `has(a.b)`, `(c ? a : b).d`.

A chain of selections and indexes is one attribute: a start and qualifiers, as in cel-go, where a chain costs one for
its start and one for each qualifier, and where one optional qualifier makes the rest of the chain optional.
"""

from collections.abc import Callable
from typing import Protocol

from kadmit.cel import gotext, operators
from kadmit.cel.evaluator import Run, Scope, Step
from kadmit.cel.operators import MISSING, NO_OVERLOAD
from kadmit.cel.unboxing import native
from kadmit.cel.values import NONE, CelError, MapValue, Optional, UInt, Value, go_name

# Reads a struct's field: value, or MISSING where it is not set; given `softly`, also where it cannot be read.
FieldReader = Callable[..., Value]


class Qualifier(Protocol):
    """One link of a chain."""

    id: int
    optional: bool

    def qualify(self, run: Run, scope: Scope, value: Value, *, softly: bool) -> Value:
        """The value behind this link, or an error; `softly`: MISSING instead of the error of a missing part."""


class Attribute(Protocol):
    """Something that qualifiers can be added to."""

    qualifiers: "list[Qualifier]"

    @property
    def last_id(self) -> int:
        """The id under which the whole chain reports."""

    def add(self, qualifier: Qualifier) -> None: ...

    def resolve(self, run: Run, scope: Scope) -> Value: ...


# ---------------------------------------------------------------- one link


def reach(value: Value, key: Value, *, softly: bool, test: bool = False) -> Value:
    """value.key or value[key]. MISSING only if `softly`; `test` asks for presence alone."""
    kind = value.__class__
    if kind is dict or kind is MapValue:
        found = operators.find(value, key)
        return found if found is not MISSING or softly else no_such_key(key)
    if kind is list:
        return _element(value, key, softly=softly)
    finder = getattr(value, "find_key", None)
    if finder is not None:
        found = finder(key)
        return found if found is not MISSING or softly else no_such_key(key)
    getter = getattr(value, "get_field", None)
    if getter is not None:
        return _indexed(value, key, softly=softly, test=test)
    return MISSING if softly else no_such_key(key)


def _element(value: list[Value], key: Value, *, softly: bool) -> Value:
    index = operators.list_index(key)
    if isinstance(index, CelError):
        return index
    if 0 <= index < len(value):
        return value[index]
    return MISSING if softly else CelError(f"index out of bounds: {gotext.display(key)}")


def _indexed(value: Value, key: Value, *, softly: bool, test: bool) -> Value:
    """A value of a library that has fields of its own (JSONPatch)."""
    if softly:
        present = value.has_field(key)
        if present.__class__ is CelError:
            return present
        if test or not present:
            return True if present else MISSING
    return value.get_field(key)


def observed(found: Value, *, softly: bool) -> bool:
    """Whether a link is charged: not if it was only tried, and led nowhere or failed."""
    return not softly or (found is not MISSING and found.__class__ is not CelError)


def no_such_key(key: Value) -> CelError:
    return CelError(f"no such key: {gotext.display(key)}")


class Key:
    """A constant link: `.name`, `[0]`, `["key"]`; `test` marks the last link of has()."""

    __slots__ = ("id", "optional", "read", "test", "value")

    def __init__(
        self, node_id: int, value: Value, *, optional: bool, test: bool = False, read: FieldReader | None = None
    ) -> None:
        self.id = node_id
        self.value = value
        self.optional = optional
        self.test = test
        self.read = read

    def qualify(self, run: Run, scope: Scope, value: Value, *, softly: bool) -> Value:
        soft = softly or self.test
        found = reach(value, self.value, softly=soft, test=self.test) if self.read is None else self._field(value, softly=soft)
        if self.test and not softly and found.__class__ is not CelError:
            found = found is not MISSING
        if observed(found, softly=softly):
            run.cost += 1
            run.push(self.id, found)
        return found

    def _field(self, value: Value, *, softly: bool) -> Value:
        assert self.read is not None
        found = self.read(value, softly=softly)
        # NB: a field that is not set reads as null, but is absent to has() and to `.?`.
        return None if found is MISSING and not softly else found


class Computed:
    """A link that must be worked out: `[expr]`. `steps`: what is worked out is a step of its own, not a path."""

    __slots__ = ("attribute", "id", "optional", "step")

    def __init__(self, node_id: int, attribute: Attribute, *, optional: bool, step: bool) -> None:
        self.id = node_id
        self.attribute = attribute
        self.optional = optional
        self.step = step

    def qualify(self, run: Run, scope: Scope, value: Value, *, softly: bool) -> Value:
        key = self.attribute.resolve(run, scope)
        found = self._reach(value, key, softly=softly)
        if observed(found, softly=softly):
            if self.step:
                run.drop(self.attribute.last_id)
            run.cost += 1
            run.push(self.id, found)
        return found

    def _reach(self, value: Value, key: Value, *, softly: bool) -> Value:
        if key.__class__ is CelError:
            return key
        if key.__class__ not in KEY_CLASSES:
            return CelError(_qualifier_error(key) if self.step else f"invalid qualifier type: {_native_name(key)}")
        return reach(value, key, softly=softly)


KEY_CLASSES = frozenset({str, int, UInt, float, bool})

_NATIVE_NAMES = {type(None): "<nil>", list: "[]interface {}", dict: "map[string]interface {}"}


def _native_name(value: Value) -> str:
    """Go's name of a JSON value that comes straight from the request."""
    return _NATIVE_NAMES.get(value.__class__) or go_name(value)


def follow(run: Run, scope: Scope, value: Value, qualifiers: "list[Qualifier]") -> Value:
    """A value at the end of a chain."""
    softly = value.__class__ is Optional
    if softly:
        if not value.present:
            return value
        value = native(value)
        if value.__class__ is CelError and qualifiers:
            return value
    for qualifier in qualifiers:
        softly = softly or qualifier.optional
        value = qualifier.qualify(run, scope, value, softly=softly)
        if value is MISSING:
            return NONE
        if value.__class__ is CelError:
            return value
    return Optional(value) if softly else value


# ---------------------------------------------------------------- starts


class _Chain:
    __slots__ = ("id", "qualifiers")

    def __init__(self, node_id: int) -> None:
        self.id = node_id
        self.qualifiers: list[Qualifier] = []

    @property
    def last_id(self) -> int:
        return self.qualifiers[-1].id if self.qualifiers else self.id

    def add(self, qualifier: Qualifier) -> None:
        self.qualifiers.append(qualifier)


class Named(_Chain):
    """A chain that starts at a name."""

    __slots__ = ("name",)

    def __init__(self, node_id: int, name: str) -> None:
        super().__init__(node_id)
        self.name = name

    def resolve(self, run: Run, scope: Scope) -> Value:
        value = scope.lookup(self.name, run)
        if value is MISSING:
            return CelError(f"no such attribute(s): {self.name}")
        if value.__class__ is CelError:
            return value
        return follow(run, scope, value, self.qualifiers) if self.qualifiers or value.__class__ is Optional else value


class Relative(_Chain):
    """A chain that starts at the value of another step."""

    __slots__ = ("operand",)

    def __init__(self, node_id: int, operand: Step) -> None:
        super().__init__(node_id)
        self.operand = operand

    def resolve(self, run: Run, scope: Scope) -> Value:
        value = self.operand.evaluate(run, scope)
        if value.__class__ is CelError or not (self.qualifiers or value.__class__ is Optional):
            return value
        return follow(run, scope, value, self.qualifiers)


class Conditional:
    """condition ? a : b. Qualifiers go to both branches."""

    __slots__ = ("condition", "falsy", "id", "qualifiers", "truthy")

    def __init__(self, node_id: int, condition: Step, truthy: Attribute, falsy: Attribute) -> None:
        self.id = node_id
        self.condition = condition
        self.truthy = truthy
        self.falsy = falsy
        self.qualifiers: list[Qualifier] = []

    @property
    def last_id(self) -> int:
        return self.truthy.last_id if self.truthy.last_id == self.falsy.last_id else self.id

    def add(self, qualifier: Qualifier) -> None:
        self.truthy.add(qualifier)
        self.falsy.add(qualifier)

    def resolve(self, run: Run, scope: Scope) -> Value:
        decided = self.condition.evaluate(run, scope)
        if decided is True:
            return self.truthy.resolve(run, scope)
        if decided is False:
            return self.falsy.resolve(run, scope)
        return decided if decided.__class__ is CelError else NO_OVERLOAD


class AttributeStep:
    """A chain as a step: one for its start (a conditional has none of its own)."""

    __slots__ = ("attribute", "test")

    def __init__(self, attribute: Attribute, *, test: bool = False) -> None:
        self.attribute = attribute
        self.test = test

    @property
    def id(self) -> int:
        return self.attribute.last_id

    def evaluate(self, run: Run, scope: Scope) -> Value:
        attribute = self.attribute
        value = attribute.resolve(run, scope)
        if self.test and value.__class__ is Optional:
            value = value.present
        if isinstance(attribute, Conditional):
            run.drop(attribute.falsy.last_id, attribute.truthy.last_id, attribute.condition.id)
        else:
            run.drop(attribute.last_id)
            run.cost += 1
        if self.test:
            run.cost -= 1
        return run.push(self.id, value)


def constant_qualifier_error(value: Value) -> str | None:
    """Why a constant cannot be an index, or None."""
    return None if value.__class__ in KEY_CLASSES else _qualifier_error(value)


def _qualifier_error(value: Value) -> str:
    names = {list: "*types.baseList", dict: "*types.baseMap", MapValue: "*types.baseMap"}
    return f"invalid qualifier type: {names.get(value.__class__) or go_name(value)}"
