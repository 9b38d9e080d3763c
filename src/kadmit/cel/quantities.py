"""Resource quantities such as 100m, 1.5Gi or 2e3: read, added, compared and written as Kubernetes does.

A quantity is held in one of two ways, and users can tell which: a whole 64-bit number with a power of ten, or, where
that does not fit (more than 18 digits, large binary units, binary fractions), a decimal of any length. Only the first
kind ever counts as an integer, so `1Pi` is none. Values finer than nano are rounded away from zero, binary ones end at
2^63-1.

NB: kube-apiserver changes a quantity that is compared with (or added to) one of the other kind, so that a second look
at it may answer differently. Quantities here never change.
"""

import re
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_UP, Context, Decimal
from functools import lru_cache
from math import inf

from kadmit.cel import types
from kadmit.cel.types import Type
from kadmit.cel.values import INT_MAX, INT_MIN, CelError, Value

BINARY_SI = "BinarySI"  # 12Mi
DECIMAL_SI = "DecimalSI"  # 12M
DECIMAL_EXPONENT = "DecimalExponent"  # 12e6

BAD_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
BAD_SUFFIX = "unable to parse quantity's suffix"
BAD_NUMBER = "unable to parse numeric part of quantity"

NANO = -9
MAX_DIGITS = 18  # that surely fit a 64-bit number
WIDEST_SUM = 10_000  # digits that an addition may bring forth beside those that stand there

# NB: possessive, so that a text is read once from left to right, as Kubernetes reads it.
_PARTS = re.compile(r"([+-]?+)0*+([0-9]*+)(?:\.([0-9]*+))?+([eEinumkKMGTP]*+[-+]?+[0-9]*+)")
_EXPONENT = re.compile(r"[eE]([-+]?[0-9]+)")

_SUFFIXES: dict[str, tuple[int, str]] = {
    **{s: (e, DECIMAL_SI) for s, e in (("", 0), ("n", -9), ("u", -6), ("m", -3), ("k", 3), ("M", 6), ("G", 9), ("T", 12))},
    **{s: (e, DECIMAL_SI) for s, e in (("P", 15), ("E", 18))},
    **{s: (e, BINARY_SI) for s, e in (("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60))},
}
_DECIMAL_SUFFIX = {e: s for s, (e, form) in _SUFFIXES.items() if form is DECIMAL_SI}
_BINARY_SUFFIX = {e // 10: s for s, (e, form) in _SUFFIXES.items() if form is BINARY_SI}

# NB: operators and functions without a context of their own would round to 28 digits.
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, rounding=ROUND_UP, traps=[])
_ZERO, _ONE, _MAX = Decimal(0), Decimal(1), Decimal(INT_MAX)
_NO_DIGITS = frozenset(sign + point for sign in ("", "+", "-") for point in ("", "."))
_NO_OVERLOAD = CelError("no such overload")
_REMEMBERED_LENGTH = 40
_CLOSE = 36  # powers of ten between two amounts that are compared as whole numbers


class Quantity:
    """value * 10**exponent; or, where `dec` is set, that number, with the exponent Kubernetes keeps it at."""

    __slots__ = ("_text", "dec", "exponent", "form", "value")

    cel_type: Type = types.struct("kubernetes.Quantity")
    go_name = "cel.Quantity"
    native_name = "Quantity"
    go_native = "*resource.Quantity"

    def __init__(self, value: int, exponent: int, form: str, dec: Decimal | None = None, text: str = "") -> None:
        self.value = value
        self.exponent = exponent
        self.form = form
        self.dec = dec
        self._text = text

    def __repr__(self) -> str:
        return f"Quantity({self.text()!r})"

    def __str__(self) -> str:
        return self.text()

    def equals(self, other: Value) -> Value:
        # NB: not for results of add and sub on the right hand side: kube-apiserver holds those in another class.
        return compare(self, other) == 0 if other.__class__ is Quantity else _NO_OVERLOAD

    def sign(self) -> int:
        number = self.value if self.dec is None else self.dec
        return (number > 0) - (number < 0)

    def decimal(self) -> Decimal:
        return self.dec if self.dec is not None else Decimal(self.value).scaleb(self.exponent, _EXACT)

    def is_whole(self) -> bool:
        return (self.dec is None and self.exponent >= 0) or _is_whole(self.decimal())

    def as_int(self) -> int | None:
        """The 64-bit number; None where it is no integer to Kubernetes (1000m, 1.0, 1Pi)."""
        if self.exponent == 0 and self.dec is None:
            return self.value
        if self.dec is not None or self.exponent < 0:
            return None
        return _int64(self.value, self.exponent)

    def as_float(self) -> float:
        """Mantissa and power of ten rounded apart, then multiplied: not always the nearest double."""
        base = float(self.value) if self.dec is None else float(self.dec.scaleb(-self.exponent, _EXACT))
        return base if self.exponent == 0 else base * _pow10(self.exponent)

    def text(self) -> str:
        """The canonical text, or the text as it was read where Kubernetes takes that for canonical (1.500, +1)."""
        if not self._text:
            self._text = _canonical(self)
        return self._text

    def rounded_up(self, exponent: int) -> "Quantity":
        """Away from zero to a multiple of 10**exponent, as defaulting does with finer amounts than milli."""
        if self.dec is None and self.exponent >= exponent:
            return self
        number = _round_up(self.decimal(), exponent)
        if self.dec is not None:
            return Quantity(0, exponent, self.form, number)
        return Quantity(int(number.scaleb(-exponent, _EXACT)), exponent, self.form)


class Sum(Quantity):
    """What add and sub give. A class of its own, because == with it on the right hand side fails."""

    __slots__ = ()

    go_name = "*cel.Quantity"


def parse(text: str) -> Quantity | str:
    """The quantity, or the text of the error."""
    return _remembered(text) if len(text) <= _REMEMBERED_LENGTH else _parse(text)


def _parse(text: str) -> Quantity | str:
    parts = _PARTS.fullmatch(text)
    if parts is None or not text:
        return BAD_FORMAT
    sign, digits, fraction, suffix = parts.groups()
    unit = _SUFFIXES.get(suffix) or _read_exponent(suffix)
    if unit is None:
        return BAD_SUFFIX
    exponent, form = unit
    fraction = fraction or ""
    small = _small(text, sign, digits or "0", fraction, exponent, form)
    return small if small is not None else _large(text, suffix, fraction, exponent, form)


# The same few amounts come again and again. NB: only short texts are kept, for texts are users'.
_remembered = lru_cache(maxsize=2048)(_parse)


def canonical(text: str) -> str | None:
    """The text that Kubernetes writes for it; None if it is no quantity. Spaces around it are dropped, as in JSON."""
    quantity = parse(text.strip())
    return None if isinstance(quantity, str) else quantity.text()


def of_int(value: int) -> Quantity:
    return Quantity(value, 0, DECIMAL_EXPONENT)


def add(a: Quantity, b: Quantity) -> Sum | None:
    """The exact sum; None where it would need thousands of digits more than its parts have."""
    return _combined(a, b, negate=False)


def subtract(a: Quantity, b: Quantity) -> Sum | None:
    """The exact difference; None where it would need thousands of digits more than its parts have."""
    return _combined(a, b, negate=True)


def compare(a: Quantity, b: Quantity) -> int:
    """-1, 0 or 1."""
    if a.dec is None and b.dec is None:
        powers = a.exponent - b.exponent
        if -_CLOSE <= powers <= _CLOSE:
            left, right = (a.value * 10**powers, b.value) if powers > 0 else (a.value, b.value * 10**-powers)
            return (left > right) - (left < right)
    x, y = a.decimal(), b.decimal()  # NB: decimals compare exactly and look at their magnitude first, so 1e2000000000 is cheap
    return (x > y) - (x < y)


# ---------------------------------------------------------------- reading


def _read_exponent(suffix: str) -> tuple[int, str] | None:
    parts = _EXPONENT.fullmatch(suffix)
    if parts is None:
        return None
    sign, digits = parts[1][:1], parts[1].lstrip("+-").lstrip("0") or "0"
    number = int(digits[:20]) * (-1 if sign == "-" else 1)  # NB: 20 digits are out of range, more are so too
    return (_wrap32(number), DECIMAL_EXPONENT) if INT_MIN <= number <= INT_MAX else None


def _wrap32(number: int) -> int:
    """A 32-bit number, as the exponent is one there."""
    return (number + 2**31) % 2**32 - 2**31


def _small(text: str, sign: str, digits: str, fraction: str, exponent: int, form: str) -> Quantity | None:
    """The quantity, if it surely fits a 64-bit number and a power of ten."""
    shifted = digits + fraction
    if form is BINARY_SI:
        if fraction or len(digits) + exponent * 3 // 10 > 14:
            return None
        whole = int(digits)
        value = whole << exponent
        return Quantity(-value if sign == "-" else value, 0, form, None, text if whole & 7 else "")
    scale = _wrap32(exponent - len(fraction))
    if len(shifted) > MAX_DIGITS or scale < NANO:
        return None
    value = int(shifted)
    kept = scale % 3 == 0 and shifted[0] != "0" and shifted[-3:] != "000"
    return Quantity(-value if sign == "-" else value, scale, form, None, text if kept else "")


def _large(text: str, suffix: str, fraction: str, exponent: int, form: str) -> Quantity | str:
    digits = text.removesuffix(suffix)
    if digits in _NO_DIGITS:
        return BAD_NUMBER
    number = Decimal(digits)
    scale = _wrap32((0 if form is BINARY_SI else exponent) - len(fraction))
    if not number:
        return Quantity(0, scale, form, _ZERO)  # NB: a decimal zero would carry its exponent into sums
    if form is BINARY_SI:
        return _large_binary(_EXACT.multiply(number, Decimal(2**exponent)))
    return Quantity(0, NANO, form, _round_up(number.scaleb(scale + len(fraction), _EXACT), NANO))


def _large_binary(number: Decimal) -> Quantity:
    magnitude = _round_up(number.copy_abs(), NANO)
    if magnitude > _MAX:
        return Quantity(0, 0, BINARY_SI, _MAX.copy_sign(number))
    form = DECIMAL_SI if magnitude < _ONE else BINARY_SI
    return Quantity(0, NANO, form, magnitude.copy_sign(number))


def _round_up(number: Decimal, exponent: int) -> Decimal:
    """Digits are only ever dropped: a coarse number such as 1e2000000000 is not written out."""
    ending = int(number.as_tuple().exponent)
    return number if ending >= exponent else number.quantize(Decimal(1).scaleb(exponent), ROUND_UP, _EXACT)


# ---------------------------------------------------------------- arithmetic


def _combined(a: Quantity, b: Quantity, *, negate: bool) -> Sum | None:
    form = a.form if a.sign() else b.form
    if a.dec is None and b.dec is None:
        amount = _add_int64(a.value, a.exponent, _negative(b.value) if negate else b.value, b.exponent)
        if amount is not None:
            return Sum(amount[0], amount[1], form)
    other = b.decimal().copy_negate() if negate else b.decimal()
    return _add_decimals(a.decimal(), other, min(a.exponent, b.exponent), form)


def _negative(value: int) -> int:
    return -value if value != INT_MIN else INT_MIN  # NB: as a 64-bit number it is its own negative


def _int64(value: int, exponent: int) -> int | None:
    """value * 10**exponent, if a 64-bit number holds it."""
    if value == 0:
        return 0
    if exponent > MAX_DIGITS:
        return None
    number: int = value * 10**exponent
    return number if INT_MIN <= number <= INT_MAX else None


def _add_int64(a: int, a_exponent: int, b: int, b_exponent: int) -> tuple[int, int] | None:
    if b == 0:
        return a, a_exponent
    if a == 0:
        return b, b_exponent
    exponent = min(a_exponent, b_exponent)
    x, y = _int64(a, a_exponent - exponent), _int64(b, b_exponent - exponent)
    if x is None or y is None or not INT_MIN <= x + y <= INT_MAX:
        return None
    return x + y, exponent


def _add_decimals(a: Decimal, b: Decimal, exponent: int, form: str) -> Sum | None:
    if a and b and abs(a.adjusted() - b.adjusted()) > WIDEST_SUM + len(str(a)) + len(str(b)):
        return None
    return Sum(0, exponent, form, _EXACT.add(a, b))


def _pow10(exponent: int) -> float:
    """Go's math.Pow10: two powers from its tables, so it is off by a bit where theirs is."""
    if exponent > 308:
        return inf
    if exponent < -323:
        return 0.0
    high, low = divmod(abs(exponent), 32)
    if exponent >= 0:
        return float(f"1e{high * 32}") * float(f"1e{low}")
    return float(f"1e-{high * 32}") / float(f"1e{low}")


# ---------------------------------------------------------------- writing


def _canonical(quantity: Quantity) -> str:
    if not quantity.sign():
        return "0"
    number = quantity.decimal()
    if quantity.form is BINARY_SI and number.copy_abs() >= 1024 and _is_whole(number):
        return _binary_text(quantity, number)
    digits, exponent = _thousands(number)
    if quantity.form is DECIMAL_EXPONENT:
        return f"{digits}e{exponent}" if exponent else digits
    # NB: a power that has no letter (1000E, or 1e21 added to 1M) is written without any, as Kubernetes does.
    return digits + _DECIMAL_SUFFIX.get(exponent, "")


def _is_whole(number: Decimal) -> bool:
    return number == number.to_integral_value(ROUND_UP, _EXACT)


def _binary_text(quantity: Quantity, number: Decimal) -> str:
    if quantity.dec is None and number == INT_MIN:
        return str(INT_MIN)  # NB: its magnitude is no 64-bit number, so no unit is split off
    number, times = number.to_integral_value(ROUND_UP, _EXACT), 0
    while True:
        divided, rest = _EXACT.divmod(number, Decimal(1024))
        if rest:
            return f"{number:f}" + _BINARY_SUFFIX.get(times, "")
        number, times = divided, times + 1


def _thousands(number: Decimal) -> tuple[str, int]:
    """Digits without needless zeros, and a power of ten that is a multiple of three."""
    sign, digits, ending = number.normalize(_EXACT).as_tuple()
    exponent = int(ending) // 3 * 3
    zeros = "0" * (int(ending) - exponent)
    return ("-" if sign else "") + "".join(map(str, digits)) + zeros, exponent
