"""The standard library: operators, conversions, and the functions of strings and collections that CEL itself has."""

from collections.abc import Sequence

from kadmit.cel import gotext, gotime, operators, re2, types, work
from kadmit.cel.declarations import Example, Function, Impl, Overload, function, member, plain
from kadmit.cel.operators import (
    INT_OVERFLOW,
    NO_OVERLOAD,
    UINT_OVERFLOW,
)
from kadmit.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, UINT, Trait, Type
from kadmit.cel.values import INT_MAX, INT_MIN, UINT_MAX, CelError, UInt, Value, type_of

A, B = types.param("A"), types.param("B")
LIST_A, MAP_AB = types.list_of(A), types.map_of(A, B)


# ---------------------------------------------------------------- operators


def _logical_not(value: Value) -> Value:
    return not value if value.__class__ is bool else NO_OVERLOAD


def _not_strictly_false(value: Value) -> Value:
    return value if value.__class__ is bool else True


def _negate(value: Value) -> Value:
    return NO_OVERLOAD if value.__class__ is bool else operators.negate(value)


def _unreachable(*_: Value) -> Value:
    """The evaluator handles this operator itself, because it does not always evaluate all operands."""
    return NO_OVERLOAD


_SAME_TYPE: dict[str, Sequence[tuple[str, Type, Type, Type]]] = {
    "_+_": (
        ("add_bytes", BYTES, BYTES, BYTES),
        ("add_double", DOUBLE, DOUBLE, DOUBLE),
        ("add_duration_duration", DURATION, DURATION, DURATION),
        ("add_duration_timestamp", DURATION, TIMESTAMP, TIMESTAMP),
        ("add_timestamp_duration", TIMESTAMP, DURATION, TIMESTAMP),
        ("add_int64", INT, INT, INT),
        ("add_list", LIST_A, LIST_A, LIST_A),
        ("add_string", STRING, STRING, STRING),
        ("add_uint64", UINT, UINT, UINT),
    ),
    "_/_": (("divide_double", DOUBLE, DOUBLE, DOUBLE), ("divide_int64", INT, INT, INT), ("divide_uint64", UINT, UINT, UINT)),
    "_%_": (("modulo_int64", INT, INT, INT), ("modulo_uint64", UINT, UINT, UINT)),
    "_*_": (
        ("multiply_double", DOUBLE, DOUBLE, DOUBLE),
        ("multiply_int64", INT, INT, INT),
        ("multiply_uint64", UINT, UINT, UINT),
    ),
    "_-_": (
        ("subtract_double", DOUBLE, DOUBLE, DOUBLE),
        ("subtract_duration_duration", DURATION, DURATION, DURATION),
        ("subtract_int64", INT, INT, INT),
        ("subtract_timestamp_duration", TIMESTAMP, DURATION, TIMESTAMP),
        ("subtract_timestamp_timestamp", TIMESTAMP, TIMESTAMP, DURATION),
        ("subtract_uint64", UINT, UINT, UINT),
    ),
}


def _arithmetic(name: str, impl: Impl, trait: Trait, *examples: Example) -> Function:
    overloads = [plain(overload, (a, b), result) for overload, a, b, result in _SAME_TYPE[name]]
    return function(name, *overloads, impl=impl, trait=trait, examples=examples)


_CROSS_TYPE_SINCE = 28  # Kubernetes 1.28 switched comparisons between number types on


def _ordering(name: str, prefix: str, impl: Impl) -> Function:
    numbers = (("int64", INT), ("uint64", UINT), ("double", DOUBLE))
    overloads: list[Overload] = [plain(f"{prefix}_bool", (BOOL, BOOL), BOOL)]
    for text, t in numbers:
        overloads.append(plain(f"{prefix}_{text}", (t, t), BOOL))
        for other_text, other in sorted(numbers, key=lambda n: ("double", "int64", "uint64").index(n[0])):
            if other is not t:
                overloads.append(plain(f"{prefix}_{text}_{other_text}", (t, other), BOOL, since=_CROSS_TYPE_SINCE))
    for text, t in (("string", STRING), ("bytes", BYTES), ("timestamp", TIMESTAMP), ("duration", DURATION)):
        overloads.append(plain(f"{prefix}_{text}", (t, t), BOOL))
    return function(name, *overloads, impl=impl, trait=Trait.COMPARER)


OPERATORS: tuple[Function, ...] = (
    function("_?_:_", Overload("conditional", (BOOL, A, A), A, strict=False), impl=_unreachable),
    function("_&&_", Overload("logical_and", (BOOL, BOOL), BOOL, strict=False), impl=_unreachable),
    function("_||_", Overload("logical_or", (BOOL, BOOL), BOOL, strict=False), impl=_unreachable),
    function("!_", plain("logical_not", (BOOL,), BOOL), impl=_logical_not),
    function("@not_strictly_false", Overload("not_strictly_false", (BOOL,), BOOL, _not_strictly_false, strict=False)),
    function("_==_", plain("equals", (A, A), BOOL), impl=_unreachable),
    function("_!=_", plain("not_equals", (A, A), BOOL), impl=_unreachable),
    _arithmetic("_+_", operators.add, Trait.ADDER),
    _arithmetic("_/_", operators.divide, Trait.DIVIDER),
    _arithmetic("_%_", operators.modulo, Trait.MODDER),
    _arithmetic("_*_", operators.multiply, Trait.MULTIPLIER),
    function(
        "-_", plain("negate_double", (DOUBLE,), DOUBLE), plain("negate_int64", (INT,), INT), impl=_negate, trait=Trait.NEGATOR
    ),
    _arithmetic("_-_", operators.subtract, Trait.SUBTRACTOR),
    _ordering("_<_", "less", operators.less),
    _ordering("_<=_", "less_equals", operators.less_equal),
    _ordering("_>_", "greater", operators.greater),
    _ordering("_>=_", "greater_equals", operators.greater_equal),
    function("_[_]", plain("index_list", (LIST_A, INT), A), plain("index_map", (MAP_AB, A), B), impl=_unreachable),
    function("@in", plain("in_list", (A, LIST_A), BOOL), plain("in_map", (A, MAP_AB), BOOL), impl=operators.contains),
)


# ---------------------------------------------------------------- conversions


def _failed(value: Value, target: Type) -> CelError:
    return CelError(f"type conversion error from '{type_of(value)}' to '{target}'")


def _identity(value: Value) -> Value:
    return value


def _type(value: Value) -> Value:
    # NB: the type of an Object is the bare `type`: all such types are equal to each other.
    return getattr(value, "type_value", None) or type_of(value)


def _or_failed(value: Value, parsed: Value | None, target: Type) -> Value:
    return _failed(value, target) if parsed is None else parsed


def _double_to_int(d: float) -> Value:
    # NB: the bounds themselves are out of range, as they are for Go's conversion.
    return int(d) if float(INT_MIN) < d < float(INT_MAX) else INT_OVERFLOW


def _double_to_uint(d: float) -> Value:
    return UInt(int(d)) if 0 <= d < float(UINT_MAX) else UINT_OVERFLOW


def _uint_to_int(n: UInt) -> Value:
    return int(n) if n <= INT_MAX else INT_OVERFLOW


def _int_to_uint(n: int) -> Value:
    return UInt(n) if n >= 0 else UINT_OVERFLOW


def _string_to_bytes(text: str) -> Value:
    work.spend_text(len(text))
    return text.encode()


def _bytes_to_string(value: bytes) -> Value:
    work.spend_text(len(value))
    try:
        return value.decode()
    except UnicodeDecodeError:
        return CelError("invalid UTF-8 in bytes, cannot convert to string")


CONVERSIONS: tuple[Function, ...] = (
    function(
        "type",
        plain("type", (A,), types.type_of_type(A)),
        impl=_type,
        doc="the type of a value",
        examples=(Example("type(1) == int", True), Example("type('a')", "string")),
    ),
    function(
        "bool",
        plain("bool_to_bool", (BOOL,), BOOL, _identity),
        plain("string_to_bool", (STRING,), BOOL, lambda s: _or_failed(s, gotext.parse_bool(s), BOOL)),
        doc="a bool from its text: 1 t T TRUE true True, 0 f F FALSE false False",
        examples=(Example("bool('T')", True),),
    ),
    function(
        "bytes",
        plain("bytes_to_bytes", (BYTES,), BYTES, _identity),
        plain("string_to_bytes", (STRING,), BYTES, _string_to_bytes),
        doc="the UTF-8 bytes of a string",
        examples=(Example("bytes('é')", "w6k="),),
    ),
    function(
        "double",
        plain("double_to_double", (DOUBLE,), DOUBLE, _identity),
        plain("int64_to_double", (INT,), DOUBLE, float),
        plain("string_to_double", (STRING,), DOUBLE, lambda s: _or_failed(s, gotext.parse_float(s), DOUBLE)),
        plain("uint64_to_double", (UINT,), DOUBLE, float),
        doc="a double from a number or its text",
        examples=(Example("double('1.5')", 1.5),),
    ),
    function(
        "duration",
        plain("duration_to_duration", (DURATION,), DURATION, _identity),
        plain("int64_to_duration", (INT,), DURATION, lambda n: _failed(n, DURATION)),
        plain("string_to_duration", (STRING,), DURATION, gotime.parse_duration),
        doc="a duration from text such as 1h30m",
        examples=(Example("duration('1h30m')", "5400s"),),
    ),
    function(
        "dyn",
        plain("to_dyn", (A,), DYN),
        impl=_identity,
        doc="the value itself, its type hidden from the compiler",
        examples=(Example("dyn(1) == dyn(1.0)", True),),
    ),
    function(
        "int",
        plain("int64_to_int64", (INT,), INT, _identity),
        plain("double_to_int64", (DOUBLE,), INT, _double_to_int),
        plain("duration_to_int64", (DURATION,), INT, lambda d: d.nanos),
        plain("string_to_int64", (STRING,), INT, lambda s: _or_failed(s, gotext.parse_int(s), INT)),
        plain("timestamp_to_int64", (TIMESTAMP,), INT, gotime.unix),
        plain("uint64_to_int64", (UINT,), INT, _uint_to_int),
        doc="an int from a number (truncated), its text, a timestamp (seconds) or a duration (nanoseconds)",
        examples=(Example("int(-3.9)", -3), Example("int('42')", 42)),
    ),
    function(
        "string",
        plain("string_to_string", (STRING,), STRING, _identity),
        plain("bool_to_string", (BOOL,), STRING, lambda b: "true" if b else "false"),
        plain("bytes_to_string", (BYTES,), STRING, _bytes_to_string),
        plain("double_to_string", (DOUBLE,), STRING, gotext.format_double),
        plain("duration_to_string", (DURATION,), STRING, gotime.format_duration),
        plain("int64_to_string", (INT,), STRING, str),
        plain("timestamp_to_string", (TIMESTAMP,), STRING, gotime.format_timestamp),
        plain("uint64_to_string", (UINT,), STRING, lambda n: str(int(n))),
        doc="the text of a value",
        examples=(Example("string(1e21)", "1e+21"), Example("string(duration('1m'))", "60s")),
    ),
    function(
        "timestamp",
        plain("timestamp_to_timestamp", (TIMESTAMP,), TIMESTAMP, _identity),
        plain("int64_to_timestamp", (INT,), TIMESTAMP, gotime.from_unix),
        plain("string_to_timestamp", (STRING,), TIMESTAMP, gotime.parse_timestamp),
        doc="a timestamp from RFC 3339 text or Unix seconds",
        examples=(Example("timestamp(0)", "1970-01-01T00:00:00Z"),),
    ),
    function(
        "uint",
        plain("uint64_to_uint64", (UINT,), UINT, _identity),
        plain("double_to_uint64", (DOUBLE,), UINT, _double_to_uint),
        plain("int64_to_uint64", (INT,), UINT, _int_to_uint),
        plain("string_to_uint64", (STRING,), UINT, lambda s: _or_failed(s, gotext.parse_uint(s), UINT)),
        doc="a uint from a number or its text",
        examples=(Example("uint('7') == 7u", True),),
    ),
)


# ---------------------------------------------------------------- strings and collections


def _contains(text: Value, part: Value) -> Value:
    return part in text if text.__class__ is str and part.__class__ is str else NO_OVERLOAD


def _starts_with(text: Value, part: Value) -> Value:
    return text.startswith(part) if text.__class__ is str and part.__class__ is str else NO_OVERLOAD


def _ends_with(text: Value, part: Value) -> Value:
    return text.endswith(part) if text.__class__ is str and part.__class__ is str else NO_OVERLOAD


def _matches(text: Value, pattern: Value) -> Value:
    if pattern.__class__ is not str:
        return NO_OVERLOAD
    work.spend_match(text, pattern)
    compiled = re2.compile_value(pattern)
    return compiled if isinstance(compiled, CelError) else compiled.search(text)


FUNCTIONS: tuple[Function, ...] = (
    *OPERATORS,
    function(
        "size",
        *(
            overload
            for text, t in (("bytes", BYTES), ("list", LIST_A), ("map", MAP_AB), ("string", STRING))
            for overload in (plain(f"size_{text}", (t,), INT), member(f"{text}_size", t, (), INT))
        ),
        impl=operators.size,
        trait=Trait.SIZER,
        doc="code points of a string, bytes of bytes, entries of a list or map",
        examples=(Example("size('héllo')", 5), Example("[1, 2].size()", 2)),
    ),
    *CONVERSIONS,
    function(
        "contains",
        member("contains_string", STRING, (STRING,), BOOL),
        impl=_contains,
        doc="whether a string holds another",
        examples=(Example("'hello'.contains('ell')", True),),
    ),
    function(
        "endsWith",
        member("ends_with_string", STRING, (STRING,), BOOL),
        impl=_ends_with,
        doc="whether a string ends with another",
        examples=(Example("'hello'.endsWith('lo')", True),),
    ),
    function(
        "startsWith",
        member("starts_with_string", STRING, (STRING,), BOOL),
        impl=_starts_with,
        doc="whether a string starts with another",
        examples=(Example("'hello'.startsWith('he')", True),),
    ),
    function(
        "matches",
        plain("matches", (STRING, STRING), BOOL),
        member("matches_string", STRING, (STRING,), BOOL),
        impl=_matches,
        trait=Trait.MATCHER,
        doc="whether an RE2 pattern matches anywhere in a string",
        examples=(Example("'abc'.matches('^a.c$')", True), Example("matches('abc', 'b')", True)),
    ),
)

TYPES: tuple[Type, ...] = (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    types.LIST,
    types.MAP,
    types.NULL,
    STRING,
    TIMESTAMP,
    types.TYPE,
    UINT,
)
