"""From planned steps to one Python function: the fast path.

The function is optimistic: it does what nearly always happens, over plain dicts, and raises as soon as anything is
unusual (a missing key, an error, another type than expected, a spent budget). Then the exact evaluator does the whole
expression again; CEL has no side effects, so nobody can tell. Cost is added up per straight-line stretch and compared
with the limit once per loop turn.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from kadmit.cel import cost, fastpath, templates, tolerance, work
from kadmit.cel.attributes import Attribute, AttributeStep, Computed, Conditional, Key, Named, Relative
from kadmit.cel.emission import Emission, Operand, TooBig
from kadmit.cel.evaluator import (
    Append,
    Call,
    Const,
    Equality,
    Fold,
    Insert,
    ListStep,
    Logic,
    MapStep,
    OptionalOr,
    SetMembership,
    Step,
    StructStep,
)
from kadmit.cel.library import formatting
from kadmit.cel.operators import MISSING
from kadmit.cel.values import NONE, CelError, Optional, Value

# Evaluates an expression for some bindings: (value or CelError, cost).
Runner: TypeAlias = Callable[[Mapping[str, Value]], tuple[Value, int]]

_SUPPORT: dict[str, object] = {
    "MISSING": MISSING,
    "NONE": NONE,
    "SLOW": fastpath.SLOW,
    "CelError": CelError,
    "Optional": Optional,
    "SCALARS": fastpath.SCALARS,
    "SIZED": fastpath.SIZED,
    "ceil": templates.ceil,
    **{f.__name__: f for f in (fastpath.usual, fastpath.equals, fastpath.differs, fastpath.smaller_traversal, fastpath.index)},
    **{f.__name__: f for f in (fastpath.element, fastpath.has, fastpath.try_index, fastpath.make_map, fastpath.call_charge)},
    **{f.__name__: f for f in (fastpath.member, fastpath.scalar, fastpath.settled)},
    "missing": fastpath.missing,
    "spend_text": work.spend_text,
    **templates.SUPPORT,
}
_BUILTINS: dict[str, object] = {
    **{c.__name__: c for c in (Exception, KeyError, TypeError, bool, str, int, float, list, dict, enumerate)},
    "len": len,
    "min": min,
}


def compile_step(step: Step, limit: int, exact: Runner, *, optionals: bool = True) -> Runner:
    """A fast function for these steps, which falls back to `exact`; `exact` itself if the steps are too many.

    `optionals`: whether a name may stand for an optional, or a call give one.
    """
    emitter = Emitter(optionals=optionals)
    try:
        result = tolerance.emit(emitter, step)
    except (TooBig, RecursionError, work.TooMuchWork):
        return exact
    emission = emitter.emission
    emission.flush()
    lines = [
        "def run(B):",
        "  try:",
        *(f"    {name} = B[{emission.constant(cel)}]" for cel, name in emitter.roots.items()),
        "    c = 0",
        *emission.lines,
        f"    if c <= L: return {result.text}, c",
        "  except Exception: pass",
        "  return exact(B)",
    ]
    names: dict[str, object] = {**_SUPPORT, **emission.constants, "L": limit, "exact": exact, "__builtins__": _BUILTINS}
    # NB: `lines` hold words of this package and numbered names, never text from an expression.
    exec(compile("\n".join(lines), "<kadmit>", "exec"), names)  # noqa: S102
    run: Runner = names["run"]  # type: ignore[assignment]
    return run


def _is_plain_format(step: Call) -> bool:
    if step.overload != "string_format" or not isinstance(step.args[0], Const) or not isinstance(step.args[1], ListStep):
        return False
    pieces = [p for p in formatting.clauses(step.args[0].value) if not isinstance(p, str)]
    values = step.args[1]
    return not values.optional and len(pieces) == len(values.elements) and not any(p.fault for p in pieces)


class Emitter:
    """Writes the lines for each kind of step; gives the operand that holds its value."""

    __slots__ = ("emission", "lazy", "optionals", "roots", "scopes")

    def __init__(self, *, optionals: bool) -> None:
        self.emission = Emission()
        self.optionals = optionals
        self.roots: dict[str, str] = {}  # variables of the request -> local names
        self.scopes: list[dict[str, Operand]] = []
        self.lazy: dict[str, Step] = {}  # local name -> how to work it out on first use

    def emit(self, step: Step) -> Operand:
        match step:
            case AttributeStep():
                return self._attribute_step(step)
            case Const():
                return Operand(self.emission.constant(step.value), step.value.__class__)
            case Logic():
                return self._logic(step)
            case Equality():
                return templates.equality(self.emission, step, self.emit(step.left), self.emit(step.right))
            case Append():
                return self._append(step)
            case Insert():
                return self._insert(step)
            case Call() if _is_plain_format(step):
                return self._format(step)
            case Call():
                return templates.call(self.emission, step, [self.emit(a) for a in step.args])
            case SetMembership():
                return self.membership(step, self.emit(step.arg))
            case OptionalOr():
                return self._optional_or(step)
            case ListStep():
                return self._list(step)
            case MapStep():
                return self._map(step)
            case StructStep():
                return self._struct(step)
            case Fold():
                return self._fold(step)
        raise TooBig

    # ------------------------------------------------------------ names and paths

    def name(self, name: str) -> Operand:
        for scope in reversed(self.scopes):
            if name in scope:
                found = scope[name]
                if found.text in self.lazy:
                    self._work_out(found.text)
                return found
        local = self.roots.setdefault(name, f"v{len(self.roots)}")
        return Operand(local)

    def _work_out(self, local: str) -> None:
        """A name whose value is only computed, and charged, when it is first used."""
        with self.emission.block(f"if {local} is MISSING:"):
            value = self.emit(self.lazy[local])
            self.emission.line(f"{local} = {value.text}")

    def _attribute_step(self, step: AttributeStep) -> Operand:
        attribute = step.attribute
        if not isinstance(attribute, Conditional):
            self.emission.charge(0 if step.test else 1)
        return self._attribute(attribute)

    def _attribute(self, attribute: Attribute) -> Operand:
        match attribute:
            case Named():
                return self._chain(self.name(attribute.name), attribute.qualifiers)
            case Relative():
                return self._chain(self.emit(attribute.operand), attribute.qualifiers)
            case Conditional():
                return self._conditional(attribute)
        raise TooBig

    def _chain(self, value: Operand, qualifiers: list) -> Operand:  # type: ignore[type-arg]
        """A path without optional links is one expression; from the first optional link on it may end early."""
        if not qualifiers:
            return self._start(value)
        if value.known is Optional:
            return self._softly(value, qualifiers, start_optional=True)
        for i, qualifier in enumerate(qualifiers):
            if qualifier.optional:
                return self._softly(value, qualifiers[i:], start_optional=False)
            value = self._link(value, qualifier)
        if value.known is None and not value.text.isidentifier():
            return self.emission.assign(value.text)
        return value

    def _start(self, value: Operand) -> Operand:
        """A path that ends where it starts still takes an optional apart and together again."""
        if not self.optionals or value.known not in (None, Optional) or value.text in self.roots.values():
            return value
        named = self.emission.in_variable(value)
        self.emission.line(f"if {named.text}.__class__ is Optional: settled({named.text})")
        return named

    def _link(self, value: Operand, qualifier: Key | Computed) -> Operand:
        self.emission.charge(1)
        if isinstance(qualifier, Computed):
            key = self._attribute(qualifier.attribute)
            return Operand(f"index({value.text}, {key.text})")
        key_name = self.emission.constant(qualifier.value)
        if qualifier.read is not None or qualifier.value.__class__ is not str:
            return self._unusual_link(value, qualifier, key_name)
        if qualifier.test:
            named = self.emission.in_variable(value)
            text = f"({key_name} in {named.text}) if {named.text}.__class__ is dict else has({named.text}, {key_name})"
            return self.emission.assign(text, bool)
        return Operand(f"{value.text}[{key_name}]")

    def _unusual_link(self, value: Operand, qualifier: Key, key_name: str) -> Operand:
        if qualifier.read is not None:
            if qualifier.test:
                raise TooBig
            read = self.emission.constant(qualifier.read)
            found = self.emission.assign(f"scalar({read}({value.text}))")
            return Operand(f"(None if {found.text} is MISSING else {found.text})")
        if qualifier.value.__class__ is int and qualifier.value >= 0:
            named = self.emission.in_variable(value)
            return Operand(f"({named.text}[{key_name}] if {named.text}.__class__ is list else element({named.text}, {key_name}))")
        return Operand(f"index({value.text}, {key_name})")

    # ------------------------------------------------------------ optional links

    def _softly(self, value: Operand, qualifiers: list, *, start_optional: bool) -> Operand:  # type: ignore[type-arg]
        found = self._try_links(value, qualifiers, start_optional=start_optional)
        return self.emission.assign(f"NONE if {found.text} is MISSING else Optional({found.text})", Optional)

    def _try_links(self, value: Operand, qualifiers: list, *, start_optional: bool) -> Operand:  # type: ignore[type-arg]
        """The value at the end of optional links, or MISSING."""
        result = self.emission.name()
        if start_optional:
            named = self.emission.in_variable(value)
            self.emission.line(f"settled({named.text})")
            self.emission.line(f"{result} = {named.text}.value if {named.text}.present else MISSING")
        else:
            self.emission.line(f"{result} = {value.text}")
            self.emission.line(f"if {result}.__class__ is Optional: raise SLOW")
        depth = 0
        for i, qualifier in enumerate(qualifiers):
            if isinstance(qualifier, Key) and (qualifier.test or qualifier.read is not None):
                raise TooBig
            if i > 0 or start_optional:
                self.emission.flush()
                self.emission.line(f"if {result} is not MISSING:")
                self.emission.indent += 1
                depth += 1
            self._try_link(result, qualifier)
        for _ in range(depth):
            self.emission.flush()
            self.emission.indent -= 1
        return Operand(result)

    def _try_link(self, result: str, qualifier: Key | Computed) -> None:
        if isinstance(qualifier, Key):
            key = self.emission.constant(qualifier.value)
        else:
            key = self.emission.in_variable(self._attribute(qualifier.attribute)).text
        plain = f"{result}.__class__ is dict and {key}.__class__ is str"
        text = f"{result}.get({key}, MISSING) if {plain} else try_index({result}, {key})"
        self.emission.line(f"{result} = {text}")
        with self.emission.block(f"if {result} is not MISSING:"):
            self.emission.charge(1)

    def _optional_value(self, step: Step) -> Operand | None:
        """The value inside an optional path without making the optional: MISSING where it holds nothing."""
        attribute = step.attribute if isinstance(step, AttributeStep) and not step.test else None
        if not isinstance(attribute, Named):
            return None
        first = next((i for i, q in enumerate(attribute.qualifiers) if q.optional), None)
        if first is None:
            return None
        value = self.name(attribute.name)
        if value.known is Optional:
            return None
        self.emission.charge(1)
        for qualifier in attribute.qualifiers[:first]:
            value = self._link(value, qualifier)  # type: ignore[arg-type]  # Key and Computed are all the links there are
        return self._try_links(value, attribute.qualifiers[first:], start_optional=False)

    def _optional_or(self, step: OptionalOr) -> Operand:
        inner = self._optional_value(step.left) if step.unwrap else None
        if inner is not None:
            with self.emission.block(f"if {inner.text} is MISSING:"):
                self.emission.line(f"{inner.text} = {self.emit(step.right).text}")
            return inner
        left = self.emission.in_variable(self.emit(step.left))
        result = self.emission.name()
        if left.known is not Optional:
            self.emission.line(f"if {left.text}.__class__ is not Optional: raise SLOW")
        with self.emission.block(f"if {left.text}.present:"):
            self.emission.line(f"{result} = {left.text}.value" if step.unwrap else f"{result} = {left.text}")
        with self.emission.block("else:"):
            self.emission.line(f"{result} = {self.emit(step.right).text}")
        return Operand(result)

    # ------------------------------------------------------------ decisions

    def _bool(self, operand: Operand) -> Operand:
        named = self.emission.in_variable(operand)
        if named.known is not bool:
            self.emission.line(f"if {named.text}.__class__ is not bool: raise SLOW")
        return named

    def _logic(self, step: Logic) -> Operand:
        result = self.emission.name()
        depth = 0
        for i, term in enumerate(step.terms):
            if i:
                self.emission.flush()
                self.emission.line(f"if not {result}:" if step.decisive else f"if {result}:")
                self.emission.indent += 1
                depth += 1
            value = self._bool(self.emit(term))
            self.emission.line(f"{result} = {value.text}")
        for _ in range(depth):
            self.emission.flush()
            self.emission.indent -= 1
        return Operand(result, bool)

    def _conditional(self, attribute: Conditional) -> Operand:
        condition = self._bool(self.emit(attribute.condition))
        result = self.emission.name()
        with self.emission.block(f"if {condition.text}:"):
            first = self._attribute(attribute.truthy)
            self.emission.line(f"{result} = {first.text}")
        with self.emission.block("else:"):
            second = self._attribute(attribute.falsy)
            self.emission.line(f"{result} = {second.text}")
        return Operand(result, first.known if first.known is second.known else None)

    def membership(self, step: SetMembership, arg: Operand) -> Operand:
        value = self.emission.in_variable(arg)
        members = self.emission.constant(step.members)
        key = value.text if value.known is str else f"({value.text} if {value.text}.__class__ is str else member({value.text}))"
        return self.emission.assign(f"{key} in {members}", bool)

    def _format(self, step: Call) -> Operand:
        """A constant format over a list literal: its pieces joined, without the list."""
        text, values = step.args
        assert isinstance(text, Const)
        assert isinstance(values, ListStep)
        given = [self.emission.in_variable(self.emit(v)) for v in values.elements]
        parts: list[str] = []
        for piece in formatting.clauses(text.value):
            if isinstance(piece, str):
                parts += [self.emission.constant(piece)] if piece else []
            else:
                write = self.emission.constant(formatting.clause_text(piece))
                value = given.pop(0).text
                written = f"{write}({value}, {piece.precision})"
                parts.append(f"({value} if {value}.__class__ is str else {written})" if piece.verb == "s" else written)
        self.emission.charge(10 + cost.traversal(text.value))
        made = self.emission.assign(" + ".join(parts) or self.emission.constant(""), str)
        with self.emission.block(f"if len({made.text}) > {work.SHORT}:"):
            self.emission.line(f"if len({made.text}) > {formatting.MAX_LENGTH}: raise SLOW")
            self.emission.line(f"spend_text(len({made.text}))")
        return made

    # ------------------------------------------------------------ literals

    def _list(self, step: ListStep) -> Operand:
        self.emission.charge(10)
        if step.optional:
            return self._list_with_optionals(step)
        values = [self.emit(e).text for e in step.elements]
        return self.emission.assign(f"[{', '.join(values)}]", list)

    def _list_with_optionals(self, step: ListStep) -> Operand:
        made = self.emission.assign("[]", list)
        for i, element in enumerate(step.elements):
            value = self.emit(element)
            if i in step.optional:
                value = self._opened(value)
                self.emission.line(f"if {value.text}.present: {made.text}.append({value.text}.value)")
            else:
                self.emission.line(f"{made.text}.append({value.text})")
        return made

    def _opened(self, value: Operand) -> Operand:
        named = self.emission.in_variable(value)
        if named.known is not Optional:
            self.emission.line(f"if {named.text}.__class__ is not Optional: raise SLOW")
        return named

    def _map(self, step: MapStep) -> Operand:
        if any(optional for _, _, optional in step.entries):
            raise TooBig
        self.emission.charge(30)
        pairs = [(self.emit(k), self.emit(v)) for k, v, _ in step.entries]
        if all(k.known is str for k, _ in pairs):
            return self.emission.assign("{" + ", ".join(f"{k.text}: {v.text}" for k, v in pairs) + "}", dict)
        return self.emission.assign("make_map([" + ", ".join(f"({k.text}, {v.text})" for k, v in pairs) + "])")

    def _struct(self, step: StructStep) -> Operand:
        self.emission.charge(40)
        fields = self.emission.assign("{}", dict)
        for name, value_step, optional in step.fields:
            key = self.emission.constant(name)
            value = self.emit(value_step)
            if optional:
                value = self._opened(value)
                self.emission.line(f"if {value.text}.present: {fields.text}[{key}] = {value.text}.value")
            else:
                self.emission.line(f"{fields.text}[{key}] = {value.text}")
        return self.emission.assign(f"usual({self.emission.constant(step.make)}({fields.text}))")

    # ------------------------------------------------------------ loops

    def _append(self, step: Append) -> Operand:
        accumulator, added = step.call.args
        target = self.emit(accumulator)
        self.emission.charge(1)
        if isinstance(added, ListStep) and len(added.elements) == 1 and not added.optional and step.call.overload == "add_list":
            self.emission.charge(10)
            value = self.emit(added.elements[0])
            self.emission.line(f"{target.text}.append({value.text})")
            return target
        if step.call.overload != "add_list":
            raise TooBig
        value = self.emit(added)
        self.emission.line(f"if {value.text}.__class__ is not list: raise SLOW")
        self.emission.line(f"{target.text}.extend({value.text})")
        return target

    def _insert(self, step: Insert) -> Operand:
        target, *entry = (self.emission.in_variable(self.emit(a)) for a in step.args)
        self.emission.charge(1)
        if len(entry) == 2:
            key, value = entry
            self.emission.line(f"if {key.text}.__class__ is not str or {key.text} in {target.text}: raise SLOW")
            self.emission.line(f"{target.text}[{key.text}] = {value.text}")
            return target
        entries = entry[0].text
        self.emission.line(f"if {entries}.__class__ is not dict or not {entries}.keys().isdisjoint({target.text}): raise SLOW")
        self.emission.line(f"{target.text}.update({entries})")
        return target

    def _fold(self, step: Fold) -> Operand:
        over = self.emission.in_variable(self.emit(step.range))
        accumulator = self._accumulator(step)
        self.scopes.append({step.accumulator_name: accumulator})
        if not (isinstance(step.range, Const) and step.range.value in ([], {})):
            self._loop(step, over, accumulator)
        self.scopes[-1] = {step.accumulator_name: Operand(accumulator.text, self.scopes[-1][step.accumulator_name].known)}
        result = self.emit(step.result)
        self.scopes.pop()
        self.lazy.pop(accumulator.text, None)
        return result

    def _accumulator(self, step: Fold) -> Operand:
        if not isinstance(step.initial, Const):
            made = self.emission.assign("MISSING")
            self.lazy[made.text] = step.initial
            return made
        initial = step.initial.value
        if initial.__class__ in (list, dict) and not initial:
            return self.emission.assign("[]" if initial.__class__ is list else "{}", initial.__class__)
        return self.emission.assign(self.emission.constant(initial), initial.__class__)

    def _loop(self, step: Fold, over: Operand, accumulator: Operand) -> None:
        if accumulator.text in self.lazy:
            raise TooBig
        names = {step.first_name: Operand(self.emission.name())}
        header = self._loop_header(step, over, names)
        with self.emission.block(header):
            self.scopes.append(names)
            condition = self._bool(self.emit(step.condition))
            self.emission.flush()
            self.emission.line(f"if not {condition.text}: break")
            value = self.emit(step.step)
            self.scopes.pop()
            if value.known is not accumulator.known:
                raise TooBig
            if value.text != accumulator.text:
                self.emission.line(f"{accumulator.text} = {value.text}")
            self.emission.flush()
            self.emission.line("if c > L: raise SLOW")

    def _loop_header(self, step: Fold, over: Operand, names: dict[str, Operand]) -> str:
        first = names[step.first_name].text
        if not step.second_name:
            if over.known not in (list, dict):
                self.emission.line(f"if {over.text}.__class__ is not list and {over.text}.__class__ is not dict: raise SLOW")
            return f"for {first} in {over.text}:"
        second = self.emission.name()
        names[step.second_name] = Operand(second)
        pairs = self.emission.name()
        self.emission.line(f"if {over.text}.__class__ is list: {pairs} = enumerate({over.text})")
        self.emission.line(f"elif {over.text}.__class__ is dict: {pairs} = {over.text}.items()")
        self.emission.line("else: raise SLOW")
        return f"for {first}, {second} in {pairs}:"
