"""quantity(...) and what can be asked of it: resource amounts such as 100m and 1.5Gi, exact where a double is not.

The arithmetic itself is in `kadmit.cel.quantities`.
"""

from kadmit.cel import quantities, types
from kadmit.cel.declarations import Example, Function, function, member, plain
from kadmit.cel.library import traversal
from kadmit.cel.quantities import Quantity
from kadmit.cel.values import CelError, Value

SINCE = 28
QUANTITY = Quantity.cel_type

NOT_AN_INTEGER = CelError("cannot convert value to integer")
TOO_MANY_DIGITS = CelError("quantity has too many digits")  # kube-apiserver would fill its memory with them


def quantity(text: str) -> Value:
    parsed = quantities.parse(text)
    return CelError(parsed) if parsed.__class__ is str else parsed


def is_quantity(text: str) -> Value:
    return quantities.parse(text).__class__ is not str


def as_integer(self: Quantity) -> Value:
    number = self.as_int()
    return NOT_AN_INTEGER if number is None else number


def is_integer(self: Quantity) -> Value:
    return self.as_int() is not None


def add(self: Quantity, other: Quantity) -> Value:
    return quantities.add(self, other) or TOO_MANY_DIGITS


def add_int(self: Quantity, other: int) -> Value:
    return add(self, quantities.of_int(other))


def sub(self: Quantity, other: Quantity) -> Value:
    return quantities.subtract(self, other) or TOO_MANY_DIGITS


def sub_int(self: Quantity, other: int) -> Value:
    return sub(self, quantities.of_int(other))


def is_greater_than(self: Quantity, other: Quantity) -> Value:
    return quantities.compare(self, other) > 0


def is_less_than(self: Quantity, other: Quantity) -> Value:
    return quantities.compare(self, other) < 0


FUNCTIONS: tuple[Function, ...] = (
    function(
        "quantity",
        plain("string_to_quantity", (types.STRING,), QUANTITY, quantity, since=SINCE),
        cost=traversal.reading,
        doc="Reads a resource amount: a number with n, u, m, k, M, G, T, P, E, Ki to Ei, or an exponent.",
        examples=(
            Example("quantity('1.5Gi').isGreaterThan(quantity('1500Mi'))", True),
            Example("quantity('1K')", error="unable to parse quantity's suffix"),
        ),
    ),
    function(
        "isQuantity",
        plain("is_quantity_string", (types.STRING,), types.BOOL, is_quantity, since=SINCE),
        cost=traversal.reading,
        doc="Whether quantity() can read the text.",
        examples=(Example("isQuantity('1.3G')", True), Example("isQuantity('1,3G')", False)),
    ),
    function(
        "sign",
        plain("quantity_sign", (QUANTITY,), types.INT, Quantity.sign, since=SINCE),
        cost=traversal.one_step,
        doc="1, 0 or -1 for a positive, zero or negative quantity. It is not a method.",
        examples=(Example("sign(quantity('-50m'))", -1),),
    ),
    function(
        "isGreaterThan",
        member("quantity_is_greater_than", QUANTITY, (QUANTITY,), types.BOOL, is_greater_than, since=SINCE),
        cost=traversal.one_step,
        doc="Whether the quantity is larger than the other.",
        examples=(Example("quantity('200M').isGreaterThan(quantity('0.3G'))", False),),
    ),
    function(
        "isLessThan",
        member("quantity_is_less_than", QUANTITY, (QUANTITY,), types.BOOL, is_less_than, since=SINCE),
        cost=traversal.one_step,
        doc="Whether the quantity is smaller than the other.",
        examples=(Example("quantity('500m').isLessThan(quantity('1'))", True),),
    ),
    function(
        "compareTo",
        member("quantity_compare_to", QUANTITY, (QUANTITY,), types.INT, quantities.compare, since=SINCE),
        cost=traversal.one_step,
        doc="-1, 0 or 1 as the quantity is smaller than, equal to or larger than the other.",
        examples=(Example("quantity('1Gi').compareTo(quantity('1024Mi'))", 0),),
    ),
    function(
        "asApproximateFloat",
        member("quantity_get_float", QUANTITY, (), types.DOUBLE, Quantity.as_float, since=SINCE),
        cost=traversal.one_step,
        doc="The quantity as a double, which may be off a little.",
        examples=(
            Example("quantity('50k').asApproximateFloat()", 50000.0),
            Example("quantity('100m').asApproximateFloat()", 0.1),
        ),
    ),
    function(
        "asInteger",
        member("quantity_get_int", QUANTITY, (), types.INT, as_integer, since=SINCE),
        cost=traversal.one_step,
        doc="The quantity as an int; fails for anything written with fractions, and for large binary units.",
        examples=(
            Example("quantity('1Ki').asInteger()", 1024),
            Example("quantity('1000m').asInteger()", error="cannot convert value to integer"),
        ),
    ),
    function(
        "isInteger",
        member("quantity_is_integer", QUANTITY, (), types.BOOL, is_integer, since=SINCE),
        cost=traversal.one_step,
        doc="Whether asInteger would succeed.",
        examples=(Example("quantity('50k').isInteger()", True), Example("quantity('1Pi').isInteger()", False)),
    ),
    function(
        "add",
        member("quantity_add", QUANTITY, (QUANTITY,), QUANTITY, add, since=SINCE),
        member("quantity_add_int", QUANTITY, (types.INT,), QUANTITY, add_int, since=SINCE),
        cost=traversal.one_step,
        doc="The sum with a quantity or an int.",
        examples=(
            Example("quantity('50k').add(quantity('20k')).asInteger()", 70000),
            Example("quantity('2').add(-5).asInteger()", -3),
        ),
    ),
    function(
        "sub",
        member("quantity_sub", QUANTITY, (QUANTITY,), QUANTITY, sub, since=SINCE),
        member("quantity_sub_int", QUANTITY, (types.INT,), QUANTITY, sub_int, since=SINCE),
        cost=traversal.one_step,
        doc="The difference to a quantity or an int.",
        examples=(Example("quantity('1Gi').sub(quantity('512Mi')).asInteger()", 536870912),),
    ),
)
