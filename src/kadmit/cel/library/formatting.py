"""string.format: printf for CEL, with the en-US habits that Kubernetes' version of it has.

A format is read once into clauses and kept. Two walks use the clauses: `format_text` at run time, and `check_call` at
compile time for a literal format with a literal list. They find the same faults, but not always in the same order,
because the compiler has no argument values that could be missing.

Numbers show the quirks of the message catalogue behind cel-go: %f groups thousands and keeps only 8 bits of its
precision as the least number of digits; %e always has six digits and takes its precision for a width.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import isinf, isnan

from msgspec import Struct

from kadmit.cel import ast, gotext, gotime, room, work
from kadmit.cel.declarations import Example, Function, function, member
from kadmit.cel.types import DYN, STRING, Kind, Type, list_of
from kadmit.cel.values import CelError, Duration, MapValue, Timestamp, UInt, Value, type_of

SINCE = 29
MAX_LENGTH = 1 << 25  # characters of a text that is made; the real server has no limit and runs out of memory
TOO_LONG = CelError(f"the resulting string is longer than {MAX_LENGTH} characters")

_DEFAULT_PRECISION = 6
_CACHED_LENGTH = 10_000
_NO_VERB = "%!(NOVERB)"  # what the message catalogue makes of an absurd precision
_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_FLOAT_TEXTS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}

_STRING_FAULT = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
)
_FAULTS = {
    "s": _STRING_FAULT,
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "X": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
}
_STRING_KINDS = frozenset(
    {Kind.LIST, Kind.MAP, Kind.INT, Kind.UINT, Kind.DOUBLE, Kind.BOOL, Kind.STRING, Kind.TIMESTAMP, Kind.BYTES}
    | {Kind.DURATION, Kind.TYPE, Kind.NULL}
)
_WHOLE = frozenset({Kind.INT, Kind.UINT})
_KINDS: dict[str, frozenset[Kind]] = {
    "s": _STRING_KINDS,
    "d": _WHOLE,
    "f": frozenset({Kind.DOUBLE, Kind.STRING}),  # a string may hold NaN, Infinity or -Infinity
    "e": frozenset({Kind.DOUBLE, Kind.STRING}),
    "b": _WHOLE | {Kind.BOOL},
    "x": _WHOLE | {Kind.STRING, Kind.BYTES},
    "X": _WHOLE | {Kind.STRING, Kind.BYTES},
    "o": _WHOLE,
}


class Clause(Struct, frozen=True):
    """One % of a format. `fault` is what is wrong with its text, found when its turn comes."""

    verb: str = ""
    precision: int = _DEFAULT_PRECISION
    fault: str = ""


class _Refused(Exception):
    """Ends formatting; its text is the error."""


def _bad_value(reason: str) -> _Refused:
    return _Refused(f"error during formatting: {reason}")


# ---- reading a format ------------------------------------------------------------------------------------------

_UNFINISHED = Clause(fault="unexpected end of string")


def _read(text: str) -> tuple[str | Clause, ...]:
    """Texts and clauses by turns, up to the first clause that cannot be read."""
    pieces: list[str | Clause] = []
    literal, position = [], 0
    while (percent := text.find("%", position)) >= 0:
        literal.append(text[position:percent])
        if text.startswith("%%", percent):
            literal.append("%")
            position = percent + 2
            continue
        clause, position = _read_clause(text, percent + 1)
        pieces += ["".join(literal), clause]
        literal = []
        if clause.fault:
            return tuple(pieces)
    return (*pieces, "".join(literal) + text[position:])


def _read_clause(text: str, start: int) -> tuple[Clause, int]:
    if start == len(text):
        return _UNFINISHED, start
    precision, position = _DEFAULT_PRECISION, start
    if text[start] == ".":
        position = start + 1
        while position < len(text) and text[position] in "0123456789":
            position += 1
        if position == len(text):
            return _unreadable("error while parsing precision: could not find end of precision specifier"), position
        number = gotext.atoi(text[start + 1 : position])
        if isinstance(number, str):
            return _unreadable(f"error while parsing precision: error while converting precision to integer: {number}"), position
        precision = number
    verb = text[position]
    if verb not in _FAULTS:
        # NB: Go looks at one byte of the text, and prints that byte as a character.
        shown = chr(verb.encode("utf-8", "replace")[0])
        return _unreadable(f'unrecognized formatting clause "{shown}"'), position
    return Clause(verb, precision), position + 1


def _unreadable(reason: str) -> Clause:
    return Clause(fault=f"could not parse formatting clause: {reason}")


_read_cached = lru_cache(maxsize=256)(_read)


def clauses(text: str) -> tuple[str | Clause, ...]:
    """A format as texts and clauses by turns."""
    return _read_cached(text) if len(text) <= _CACHED_LENGTH else _read(text)


# ---- run time --------------------------------------------------------------------------------------------------


def format_text(text: str, args: list[Value]) -> Value:
    """text.format(args)."""
    parts: list[str] = []
    index = length = 0
    try:
        for piece in clauses(text):
            if isinstance(piece, str):
                part = piece
            else:
                part = _clause_text(piece, args, index)
                index += 1
            parts.append(part)
            length += len(part)
            if length > MAX_LENGTH:
                return TOO_LONG
    except _Refused as refused:
        return CelError(str(refused))
    work.spend_text(length)
    return "".join(parts)


def clause_text(clause: Clause) -> Callable[[Value, int], str]:
    """What writes a value for a clause; raises where the value does not fit."""
    return _VERBS[clause.verb]


def _clause_text(clause: Clause, args: list[Value], index: int) -> str:
    if index >= len(args):
        raise _Refused(f"index {index} out of range")
    if clause.fault:
        raise _Refused(clause.fault)
    return _VERBS[clause.verb](args[index], clause.precision)


def _unfit(verb: str, value: Value) -> _Refused:
    return _bad_value(f"{_FAULTS[verb]}, was given {type_of(value).name}")


def _string(value: Value, _: int) -> str:
    kind = value.__class__
    if kind is str:
        text: str = value
        return text
    if kind is list or kind is dict or kind is MapValue:
        return room.for_depth(_member, value)
    plain = _TEXTS.get(kind)
    if plain is None:
        raise _unfit("s", value)
    return plain(value)


def _decimal(value: Value, _: int) -> str:
    if value.__class__ is int or value.__class__ is UInt:
        return int.__repr__(value)
    raise _unfit("d", value)


def _based(verb: str) -> Callable[[Value, int], str]:
    def based(value: Value, _: int) -> str:
        if value.__class__ is int or value.__class__ is UInt:
            return format(int(value), verb)
        if verb == "b" and value.__class__ is bool:
            return "1" if value else "0"
        if verb in "xX" and (value.__class__ is str or value.__class__ is bytes):
            data = value.encode("utf-8", "replace") if isinstance(value, str) else value
            digits = data.hex()
            return digits if verb == "x" else digits.upper()
        raise _unfit(verb, value)

    return based


def _float(value: Value, verb: str) -> float:
    number = value if value.__class__ is float else _FLOAT_TEXTS.get(value) if value.__class__ is str else None
    if number is None:
        raise _unfit(verb, value)
    return float(number)


def _fixed(value: Value, precision: int) -> str:
    number = _float(value, "f")
    if not _is_width(precision):
        return _NO_VERB
    if isnan(number) or isinf(number):
        return _special(number)
    least, most = precision & 0xFF, precision & 0xFFFF
    # NB: half of all 16-bit precisions are negative numbers, which means no rounding at all.
    text = f"{abs(number):.{most}f}" if most < 0x8000 else gotext.format_fixed(abs(number))
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0").ljust(least, "0")
    return f"{'-' if number < 0 else ''}{int(whole):,}{'.' if fraction else ''}{fraction}"


def _scientific(value: Value, precision: int) -> str:
    number = _float(value, "e")
    if not _is_width(precision):
        return _NO_VERB
    if isnan(number) or isinf(number):
        text = _special(number)
    else:
        mantissa, _, exponent = f"{number or 0.0:.6e}".partition("e")
        text = f"{mantissa}×10{'⁻' if exponent[0] == '-' else ''}{exponent[1:].translate(_SUPERSCRIPT)}"
    return text.rjust(precision & 0xFFFF)


def _is_width(number: int) -> bool:
    """Whether the message catalogue reads this number to its end."""
    return number // 10 <= 1_000_000


def _special(number: float) -> str:
    return "NaN" if isnan(number) else "∞" if number > 0 else "-∞"


def _bytes_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        reason = gotext.quote("invalid UTF-8 in bytes, cannot convert to string")
        raise _bad_value(f"could not convert argument {reason} to string") from None


_TEXTS: dict[type, Callable[[Value], str]] = {
    str: str,
    int: int.__repr__,
    UInt: int.__repr__,
    float: gotext.format_double,
    bool: lambda v: "true" if v else "false",
    bytes: _bytes_text,
    Timestamp: gotime.format_timestamp,
    Duration: gotime.format_duration,
    Type: lambda v: v.name,
    type(None): lambda _: "null",
}


def _member(value: Value) -> str:
    """A value inside a list or map, or one of these: as a CEL literal."""
    kind = value.__class__
    if kind is str:
        work.spend_text(len(value))
        return gotext.quote(value)
    if kind is list:
        work.spend_visit(len(value))
        return "[" + ", ".join([_member(item) for item in value]) + "]"
    if kind is dict or kind is MapValue:
        return _map(value)
    literal = _LITERALS.get(kind)
    if literal is None:
        raise _bad_value(f"no formatting function for {type_of(value).name}")
    return literal(value)


def _map(value: Value) -> str:
    """NB: sorted by the text of the keys, so 10 comes before 2."""
    work.spend_visit(len(value))
    pairs = value.items() if value.__class__ is dict else value.entries.values()
    return "{" + ", ".join([f"{k}:{v}" for k, v in sorted([(_key(k), _member(v)) for k, v in pairs], key=_first)]) + "}"


def _first(pair: tuple[str, str]) -> str:
    return pair[0]


def _key(key: Value) -> str:
    if key.__class__ is str:
        return gotext.quote(key)
    if key.__class__ not in (bool, int, UInt):
        raise _bad_value(f"no formatting function for map key of type {type_of(key).name}")
    return _TEXTS[key.__class__](key)


def _double_literal(number: float) -> str:
    return f'"{gotext.format_double(number)}"' if isinf(number) or isnan(number) else f"{number:.6f}"


_LITERALS: dict[type, Callable[[Value], str]] = {
    **{kind: _TEXTS[kind] for kind in (int, UInt, bool, Type, type(None))},
    float: _double_literal,
    bytes: lambda v: "b" + gotext.quote(_bytes_text(v)),
    Timestamp: lambda v: f'timestamp("{gotime.format_timestamp(v)}")',
    Duration: lambda v: f'duration("{gotime.format_duration(v)}")',
}
_VERBS: dict[str, Callable[[Value, int], str]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    **{verb: _based(verb) for verb in "bxXo"},
}


# ---- compile time ----------------------------------------------------------------------------------------------


def check_call(call: ast.Call, types: Mapping[int, Type]) -> tuple[int, str] | None:
    """What is wrong with 'literal'.format([…]), and the node to point at; None for any other call."""
    if call.function != "format" or not isinstance(call.target, ast.Literal) or len(call.args) != 1:
        return None
    text, elements = call.target.value, call.args[0]
    if not isinstance(text, str) or not isinstance(elements, ast.ListExpr):
        return None
    args, index = elements.elements, 0
    for piece in clauses(text):
        if isinstance(piece, str):
            continue
        problem = _check_clause(piece, args, index, types)
        if problem is not None:
            node_id, message = problem
            return node_id or call.id, message
        index += 1
    if len(args) > index:
        return call.id, f"too many arguments supplied to string.format (expected {index}, got {len(args)})"
    return None


def _check_clause(
    clause: Clause, args: tuple[ast.Expr, ...], index: int, types: Mapping[int, Type]
) -> tuple[int | None, str] | None:
    if clause is _UNFINISHED:
        return None, clause.fault
    if index >= len(args):
        return None, f"index {index} out of range"
    if clause.fault:
        return None, clause.fault
    bad = _unfit_part(args[index], types) if clause.verb == "s" else _unfit_node(args[index], types, _KINDS[clause.verb])
    if bad is None:
        return None
    return bad.id, f"error during formatting: {_FAULTS[clause.verb]}, was given {types[bad.id].name}"


def _unfit_node(node: ast.Expr, types: Mapping[int, Type], kinds: frozenset[Kind]) -> ast.Expr | None:
    kind = types[node.id].kind
    return None if kind is Kind.DYN or kind in kinds else node


def _unfit_part(node: ast.Expr, types: Mapping[int, Type]) -> ast.Expr | None:
    """The first part of a literal list or map, down to any depth, that %s does not take."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if _unfit_node(part, types, _STRING_KINDS) is not None:
            return part
        if isinstance(part, ast.ListExpr | ast.MapExpr):
            waiting.extend(reversed(list(ast.children(part))))
    return None


FUNCTIONS: tuple[Function, ...] = (
    function(
        "format",
        member("string_format", STRING, (list_of(DYN),), STRING, format_text, since=SINCE, eager=False),
        doc="The text with %s, %d, %f, %e, %b, %x, %X and %o replaced by the values of a list; %% is a percent sign.",
        examples=(
            Example("'%s has %d replicas'.format(['web', 3])", "web has 3 replicas"),
            Example("'%.2f'.format([1234.567])", "1,234.57"),
            Example("'%s'.format([{'a': [1, 2.5, true]}])", '{"a":[1, 2.500000, true]}'),
        ),
    ),
)
