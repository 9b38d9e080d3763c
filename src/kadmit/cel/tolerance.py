"""Generated code that takes errors as they come, where they are common: a missing key under ==, <, !, && and ||.

Policies ask for fields that objects do not have, and && and || may well drop that error. Leaving each such case to the exact
evaluator would be right but slow, so here a path that cannot be followed gives its error as a value, and the operators
around it pass it on or drop it, each charging what the exact evaluator charges. Everything else is left to `compiler`.
"""

from typing import TYPE_CHECKING

from kadmit.cel import templates
from kadmit.cel.attributes import AttributeStep, Key, Named
from kadmit.cel.emission import Operand
from kadmit.cel.evaluator import Call, Equality, Logic, SetMembership, Step
from kadmit.cel.values import CelError

if TYPE_CHECKING:
    from kadmit.cel.compiler import Emitter

MAYBE_ERROR = CelError  # Operand.known of a value that may be an error

_ORDERINGS = frozenset({"_<_", "_<=_", "_>_", "_>=_"})


def emit(emitter: "Emitter", step: Step) -> Operand:
    """The operand of a step, which may be an error; or, where errors are not expected, what the compiler gives."""
    match step:
        case AttributeStep() if (names := _plain_names(step)) is not None:
            return _path(emitter, step, names)
        case Equality():
            return _equality(emitter, step)
        case Logic():
            return _logic(emitter, step)
        case Call() if step.function == "!_":
            return _not(emitter, step)
        case Call() if step.function in _ORDERINGS:
            return _ordering(emitter, step)
        case SetMembership():
            return _membership(emitter, step)
    return emitter.emit(step)


def _plain_names(step: AttributeStep) -> tuple[str, ...] | None:
    """object.a.b.c as names, if that is all that the path is."""
    attribute = step.attribute
    if step.test or not isinstance(attribute, Named) or not attribute.qualifiers:
        return None
    names = []
    for link in attribute.qualifiers:
        if not isinstance(link, Key) or link.optional or link.test or link.read is not None or link.value.__class__ is not str:
            return None
        names.append(link.value)
    return tuple(names)


def _path(emitter: "Emitter", step: AttributeStep, names: tuple[str, ...]) -> Operand:
    assert isinstance(step.attribute, Named)
    e = emitter.emission
    start = emitter.name(step.attribute.name)
    if start.known is not None:
        return emitter.emit(step)
    result = e.name()
    e.flush()
    e.line("try:")
    links = "".join(f"[{e.constant(n)}]" for n in names)
    e.line(f"  {result} = {start.text}{links}")
    e.line(f"  c += {len(names) + 1}")
    e.line("except (KeyError, TypeError):")
    e.line(f"  {result}, n = missing({start.text}, {e.constant(names)})")
    e.line("  c += n")
    return Operand(result, MAYBE_ERROR)


def _first_error(emitter: "Emitter", result: str, operands: list[Operand], charge: str) -> bool:
    """Lines that make the first operand that is an error the result; whether there are any such lines."""
    e = emitter.emission
    doubtful = [o for o in operands if o.known is MAYBE_ERROR]
    e.flush()
    for i, operand in enumerate(doubtful):
        e.line(f"{'elif' if i else 'if'} {operand.text}.__class__ is CelError:")
        e.line(f"  {result} = {operand.text}")
        e.line(f"  c += {charge}")
    return bool(doubtful)


def _sure(operand: Operand) -> Operand:
    return Operand(operand.text) if operand.known is MAYBE_ERROR else operand


def _equality(emitter: "Emitter", step: Equality) -> Operand:
    e = emitter.emission
    operands = [emit(emitter, step.left), emit(emitter, step.right)]
    if not any(o.known is MAYBE_ERROR for o in operands):
        return templates.equality(e, step, operands[0], operands[1])
    result = e.name()
    charge = "smaller_traversal" if step.negated else "equality_cost"
    _first_error(emitter, result, operands, f"{charge}({operands[0].text}, {operands[1].text})")
    with e.block("else:"):
        e.line(f"{result} = {templates.equality(e, step, _sure(operands[0]), _sure(operands[1])).text}")
    return Operand(result, MAYBE_ERROR)


def _ordering(emitter: "Emitter", step: Call) -> Operand:
    e = emitter.emission
    operands = [emit(emitter, a) for a in step.args]
    if not any(o.known is MAYBE_ERROR for o in operands):
        return templates.call(e, step, operands)
    result = e.name()
    listed = f"({operands[0].text}, {operands[1].text})"
    charge = f"call_charge({e.constant(step.charge)}, {e.constant(step.overload)}, {listed}, None)"
    _first_error(emitter, result, operands, charge)
    with e.block("else:"):
        e.line(f"{result} = {templates.call(e, step, [_sure(o) for o in operands]).text}")
    return Operand(result, MAYBE_ERROR)


def _not(emitter: "Emitter", step: Call) -> Operand:
    e = emitter.emission
    value = emit(emitter, step.args[0])
    if value.known is not MAYBE_ERROR:
        return templates.call(e, step, [value])
    e.charge(1)
    e.line(f"if {value.text}.__class__ is not bool and {value.text}.__class__ is not CelError: raise SLOW")
    return e.assign(f"not {value.text} if {value.text}.__class__ is bool else {value.text}", MAYBE_ERROR)


def _membership(emitter: "Emitter", step: SetMembership) -> Operand:
    e = emitter.emission
    value = emit(emitter, step.arg)
    if value.known is not MAYBE_ERROR:
        return emitter.membership(step, value)
    result = e.name()
    _first_error(emitter, result, [value], "0")
    with e.block("else:"):
        e.line(f"{result} = {emitter.membership(step, _sure(value)).text}")
    return Operand(result, MAYBE_ERROR)


def _logic(emitter: "Emitter", step: Logic) -> Operand:
    """The decisive value wins, then the first error, then the other value."""
    e = emitter.emission
    result, error = e.name(), e.name()
    e.line(f"{error} = None")
    doubtful = False
    neutral = "False" if step.decisive else "True"
    for i, term in enumerate(step.terms):
        if i:
            e.flush()
            e.line(f"if not {result}:" if step.decisive else f"if {result}:")
            e.indent += 1
        value = e.in_variable(emit(emitter, term))
        e.line(f"{result} = {value.text}")
        if value.known is not bool:
            e.line(f"if {result}.__class__ is not bool:")
            e.line(f"  if {result}.__class__ is not CelError: raise SLOW")
            e.line(f"  if {error} is None: {error} = {result}")
            e.line(f"  {result} = {neutral}")
            doubtful = True
    for _ in step.terms[1:]:
        e.flush()
        e.indent -= 1
    if not doubtful:
        return Operand(result, bool)
    undecided = f"not {result}" if step.decisive else result
    e.line(f"if {error} is not None and {undecided}: {result} = {error}")
    return Operand(result, MAYBE_ERROR)
