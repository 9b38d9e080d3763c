"""How calls are written in generated functions: inline where it pays, else a call of the function's own code.

A template must be right or raise. The cost that it charges is the cost that the exact evaluator counts: by the
overload that the checker resolved, or 1 if it left the choice to the values.
"""

from collections.abc import Callable, Sequence
from math import ceil

from kadmit.cel import cost, operators
from kadmit.cel.emission import Emission, Operand
from kadmit.cel.evaluator import Call, Equality, call_cost
from kadmit.cel.values import INT_MAX, INT_MIN, CelError, UInt, Value

__all__ = ["SUPPORT", "call", "ceil", "equality"]

SUPPORT: dict[str, object] = {
    "PLAIN": frozenset({type(None), bool, int, UInt, float, bytes, list, dict}),
    "INT_MIN": INT_MIN,
    "INT_MAX": INT_MAX,
    "equality_cost": cost.equality,
    "contains": operators.contains,
    "add": operators.add,
}


# ---------------------------------------------------------------- equality


def equality(e: Emission, step: Equality, left: Operand, right: Operand) -> Operand:
    """== and !=."""
    negation = "not " if step.negated else ""
    for operand, other in ((right, left), (left, right)):
        constant = e.constants.get(operand.text, e)
        if constant.__class__ is str:
            return _equal_text(e, e.in_variable(other), operand, str(constant), negated=step.negated, opaque_first=other is left)
        if constant.__class__ is int and other.known is int:
            e.charge(1)
            return e.assign(f"{other.text} {'!=' if step.negated else '=='} {operand.text}", bool)
    left, right = e.in_variable(left), e.in_variable(right)
    charge = "smaller_traversal" if step.negated else "equality_cost"
    if left.known is int or right.known is int:
        unknown = left if right.known is int else right
        name = e.name()
        with e.block(f"if {unknown.text}.__class__ is int:"):
            e.line(f"{name} = {left.text} {'!=' if step.negated else '=='} {right.text}")
            e.charge(1)
        with e.block("else:"):
            e.line(f"{name} = {negation}equals({left.text}, {right.text})")
            e.charge_text(f"{charge}({left.text}, {right.text})")
        return Operand(name, bool)
    result = e.assign(f"{'differs' if step.negated else 'equals'}({left.text}, {right.text})", bool)
    e.charge_text(f"{charge}({left.text}, {right.text})")
    return result


def _equal_text(e: Emission, other: Operand, constant: Operand, text: str, *, negated: bool, opaque_first: bool) -> Operand:
    """Against a constant string: Python's == is right for every plain value, and the cost is that of the shorter."""
    result = e.assign(f"{other.text} {'!=' if negated else '=='} {constant.text}", bool)
    if other.known is str:
        e.charge_text(_shorter(other.text, len(text)))
        return result
    with e.block(f"if {other.text}.__class__ is str:"):
        e.charge_text(_shorter(other.text, len(text)))
    with e.block("else:"):
        e.line(f"if {other.text}.__class__ not in PLAIN: raise SLOW")
        arguments = f"{other.text}, {constant.text}" if opaque_first else f"{constant.text}, {other.text}"
        e.charge_text(f"{'smaller_traversal' if negated else 'equality_cost'}({arguments})")
    return result


def _shorter(text: str, length: int) -> str:
    """ceil(0.1 x the smaller length), of a string and a constant length."""
    if length <= 10:
        return f"1 if {text} else 0" if length else "0"
    return f"ceil(min(len({text}), {length}) * 0.1)"


# ---------------------------------------------------------------- calls


def call(e: Emission, step: Call, args: Sequence[Operand]) -> Operand:
    """Any function call."""
    template = _TEMPLATES.get(step.function)
    made = template(e, step, args) if template is not None else None
    return made if made is not None else _ordinary(e, step, args)


def _ordinary(e: Emission, step: Call, args: Sequence[Operand]) -> Operand:
    """The function's own code, behind its own look at the types; of constants, its value once and for all."""
    if args and all(a.text in e.constants for a in args):
        return _worked_out(e, step, [e.constants[a.text] for a in args])
    named = [e.in_variable(a) for a in args]
    texts = ", ".join(a.text for a in named)
    impl = e.constant(step.apply) if step.trait or step.impl is None else e.constant(step.impl)
    listed = f"({texts},)" if named else "()"
    value = e.assign(f"{impl}({listed})" if step.trait or step.impl is None else f"{impl}({texts})")
    e.line(f"if {value.text}.__class__ is CelError: raise SLOW")
    if step.charge is None and step.overload not in cost.BY_OVERLOAD:
        e.charge(1)
    else:
        e.charge_text(f"call_charge({e.constant(step.charge)}, {e.constant(step.overload)}, {listed}, {value.text})")
    return value


def _worked_out(e: Emission, step: Call, values: list[Value]) -> Operand:
    value = step.apply(values)
    if value.__class__ is CelError:
        e.line("raise SLOW")
        return Operand("None")
    e.charge(call_cost(step.charge, step.overload, values, value))
    return Operand(e.constant(value), value.__class__)


def _all_strings(e: Emission, args: Sequence[Operand]) -> list[Operand]:
    named = [e.in_variable(a) for a in args]
    for a in named:
        if a.known is not str:
            e.line(f"if {a.text}.__class__ is not str: raise SLOW")
    return named


def _passes(e: Emission, text: Operand) -> str:
    """ceil(0.1 x length): one pass over a string."""
    constant = e.constants.get(text.text)
    return str(cost.traversal(constant)) if constant.__class__ is str else f"ceil(len({text.text}) * 0.1)"


def _affix(method: str) -> "_Template":
    def template(e: Emission, step: Call, args: Sequence[Operand]) -> Operand | None:
        text, part = _all_strings(e, args)
        e.charge_text(_passes(e, text))
        return e.assign(f"{text.text}.{method}({part.text})", bool)

    return template


def _contains(e: Emission, step: Call, args: Sequence[Operand]) -> Operand | None:
    text, part = _all_strings(e, args)
    e.charge_text(f"{_passes(e, text)} * {_passes(e, part)}")
    return e.assign(f"{part.text} in {text.text}", bool)


def _size(e: Emission, step: Call, args: Sequence[Operand]) -> Operand | None:
    value = e.in_variable(args[0])
    if value.known not in (str, list, dict, bytes):
        e.line(f"if {value.text}.__class__ not in SIZED: raise SLOW")
    e.charge(1)
    return e.assign(f"len({value.text})", int)


def _not(e: Emission, step: Call, args: Sequence[Operand]) -> Operand | None:
    value = e.in_variable(args[0])
    if value.known is not bool:
        e.line(f"if {value.text}.__class__ is not bool: raise SLOW")
    e.charge(1)
    return e.assign(f"not {value.text}", bool)


def _not_strictly_false(e: Emission, step: Call, args: Sequence[Operand]) -> Operand | None:
    value = e.in_variable(args[0])
    e.charge(1)
    if value.known is bool:
        return value
    e.line(f"if {value.text}.__class__ is not bool: raise SLOW")
    return Operand(value.text, bool)


def _ordering(symbol: str) -> "_Template":
    def template(e: Emission, step: Call, args: Sequence[Operand]) -> Operand | None:
        if (
            step.overload in cost.BY_OVERLOAD
            or not any(a.known is int for a in args)
            or any(a.known in (float, UInt) for a in args)
        ):
            return None
        named = [e.in_variable(a) for a in args]
        for a in named:
            if a.known is not int:
                e.line(f"if {a.text}.__class__ is not int: raise SLOW")
        e.charge(1)
        return e.assign(f"{named[0].text} {symbol} {named[1].text}", bool)

    return template


def _arithmetic(symbol: str) -> "_Template":
    def template(e: Emission, step: Call, args: Sequence[Operand]) -> Operand | None:
        if symbol == "+" and step.overload == "add_string":
            a, b = _all_strings(e, args)
            e.charge_text(f"ceil((len({a.text}) + len({b.text})) * 0.1)")
            return e.assign(f"{a.text} + {b.text}", str)
        if not any(a.known is int for a in args):
            return None
        a, b = (e.in_variable(x) for x in args)
        for x in (a, b):
            if x.known is not int:
                e.line(f"if {x.text}.__class__ is not int: raise SLOW")
        e.charge(1)
        result = e.assign(f"{a.text} {symbol} {b.text}", int)
        e.line(f"if not INT_MIN <= {result.text} <= INT_MAX: raise SLOW")
        return result

    return template


def _in(e: Emission, step: Call, args: Sequence[Operand]) -> Operand | None:
    if step.overload == "in_list":
        return None
    key, container = (e.in_variable(a) for a in args)
    e.charge(1)
    if key.known is str:
        usual = f"usual(contains({key.text}, {container.text}))"
        text = f"({key.text} in {container.text}) if {container.text}.__class__ is dict else {usual}"
        return e.assign(text, bool)
    return e.assign(f"usual(contains({key.text}, {container.text}))", bool)


_Template = Callable[[Emission, Call, Sequence[Operand]], "Operand | None"]

_TEMPLATES: dict[str, _Template] = {
    "startsWith": _affix("startswith"),
    "endsWith": _affix("endswith"),
    "contains": _contains,
    "size": _size,
    "!_": _not,
    "@not_strictly_false": _not_strictly_false,
    "_<_": _ordering("<"),
    "_<=_": _ordering("<="),
    "_>_": _ordering(">"),
    "_>=_": _ordering(">="),
    "_+_": _arithmetic("+"),
    "_-_": _arithmetic("-"),
    "_*_": _arithmetic("*"),
    "@in": _in,
}
