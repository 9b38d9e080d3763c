"""Expressions and objects made to do harm: each ends soon, with a value or an error of CEL, and never with an exception."""

import time
from collections.abc import Callable

import pytest

from kadmit.cel import composition, environment, jsonform, trace, work
from kadmit.cel.program import Evaluation
from kadmit.cel.source import CompileError
from kadmit.cel.values import CelError, Value

ENVIRONMENT = environment.mutation()
SOON = 5.0  # seconds of this process; each of them takes a fraction of that on an idle machine

TOO_DEEP = "compilation failed: ERROR: <input>:-1:0: expression recursion limit exceeded: 250"
CHAIN_TOO_LONG = "compilation failed: ERROR: <input>:-1:0: max recursion depth exceeded"
TOO_LARGE = "compilation failed: ERROR: <input>:-1:0: expression is too large after macro expansion"
TOO_COSTLY = "operation cancelled: actual cost limit exceeded"
TEXT_TOO_LONG = "the resulting string is longer than 33554432 characters"
LIST_TOO_LONG = "list of more than 1000000 elements"

OBJECT: dict[str, Value] = {
    "text": "x" * 20_000,
    "digits": "1" * 20_000,
    "list": list(range(20_000)),
    "map": {str(i): i for i in range(5_000)},
}


def soon(deed: Callable[[], object]) -> object:
    """What it gives, which must not take long."""
    start = time.process_time()
    found = deed()
    assert time.process_time() - start < SOON
    return found


def answer(expression: str, *, limit: int | None = None, **variables: Value) -> object:
    """The value in JSON, or the text of the error."""
    try:
        program = ENVIRONMENT.compile(expression, limit=limit)
    except CompileError as e:
        return str(e)
    return said(program.evaluate({"object": OBJECT, **variables}))


def said(evaluation: Evaluation) -> object:
    return evaluation.value.message if isinstance(evaluation.value, CelError) else jsonform.to_json(evaluation.value)


# ---------------------------------------------------------------- sources

NESTED: list[tuple[str, str]] = [
    ("parentheses", "(" * 5_000 + "1" + ")" * 5_000),
    ("lists", "[" * 5_000 + "1" + "]" * 5_000),
    ("maps", "{1:" * 5_000 + "1" + "}" * 5_000),
    ("indexes", "object[" * 5_000 + "0" + "]" * 5_000),
    ("calls", "size(" * 5_000 + "''" + ")" * 5_000),
    ("conditionals", "true ? 1 : " * 5_000 + "1"),
    ("open parentheses", "(" * 20_000),
    ("open brackets", "[" * 20_000),
]


@pytest.mark.parametrize("expression", [e for _, e in NESTED], ids=[name for name, _ in NESTED])
def test_deep_nesting_is_refused(expression: str) -> None:
    assert soon(lambda: answer(expression)) == TOO_DEEP


CHAINS: list[tuple[str, str]] = [
    ("sums", "+".join(["1"] * 5_000)),
    ("fields", "object" + ".a" * 5_000),
    ("optional fields", "object" + ".?a" * 5_000),
    ("indexes", "object" + "[0]" * 5_000),
    ("methods", "'a'" + ".trim()" * 5_000),
    ("macros", "[1]" + ".map(x, x)" * 1_000),
]


@pytest.mark.parametrize("expression", [e for _, e in CHAINS], ids=[name for name, _ in CHAINS])
def test_a_long_chain_is_refused(expression: str) -> None:
    assert soon(lambda: answer(expression)) == CHAIN_TOO_LONG


LONG: list[tuple[str, str, object]] = [
    ("nots", "!" * 20_000 + "true", True),
    ("minuses", "-" * 20_000 + "1", 1),
    ("ands", " && ".join(["true"] * 5_000), True),
    ("ors", " || ".join(["object.a == 1"] * 2_000), "no such key: a"),
    ("longest sum", "+".join(["1"] * 245), 245),
    ("longest path", "object" + ".a" * 240, "no such key: a"),
    ("list", f"size([{','.join(['1'] * 20_000)}])", 20_000),
    ("map", f"size({{{','.join(f'{i}:1' for i in range(10_000))}}})", 10_000),
    ("set", "'x' in " + str([str(i) for i in range(10_000)]), False),
    ("string", f"size('{'a' * 99_000}')", 99_000),
    ("comment", "//" + "a" * 90_000 + "\n1", 1),
    ("nested loops", "[1].all(x, " * 60 + "true" + ")" * 60, True),
]


@pytest.mark.parametrize(("expression", "value"), [row[1:] for row in LONG], ids=[row[0] for row in LONG])
def test_a_long_expression_within_the_limits_is_evaluated(expression: str, value: object) -> None:
    assert soon(lambda: answer(expression)) == value


BROKEN: list[tuple[str, str, str]] = [
    ("int", "9" * 90_000, "invalid int literal"),
    ("hexadecimal", "0x" + "f" * 90_000, "invalid int literal"),
    ("uint", "9" * 90_000 + "u", "invalid uint literal"),
    ("exponent", "1e" + "9" * 90_000, "invalid double literal"),
    ("fraction", "9" * 90_000 + ".0", "invalid double literal"),
    ("open string", "'" + "a" * 90_000, "token recognition error"),
    ("bad escapes", "'" + "\\q" * 40_000 + "'", "token recognition error"),
    ("dollars", "$" * 50_000, "token recognition error"),
    ("words", "a b " * 20_000, "error recovery token lookahead limit exceeded: 256"),
    ("closing", ")" * 50_000, "error recovery token lookahead limit exceeded: 256"),
    ("commas", "[1,," * 20_000, "error recovery token lookahead limit exceeded: 256"),
    ("question marks", "a ? " * 20_000, "error recovery token lookahead limit exceeded: 256"),
    ("length", "1" * 100_001, "expression code point size exceeds limit: size: 100001, limit 100000"),
]


@pytest.mark.parametrize(("expression", "error"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_a_long_broken_expression_is_refused(expression: str, error: str) -> None:
    found = soon(lambda: answer(expression))
    assert isinstance(found, str)
    assert error in found
    assert len(found) < 1_000_000


@pytest.mark.parametrize("macro", [".optMap(x, x + 1)", ".optFlatMap(x, optional.of(x))"])
def test_macros_that_double_the_expression_are_refused(macro: str) -> None:
    assert soon(lambda: answer("optional.of(1)" + macro * 100)) == TOO_LARGE


# ---------------------------------------------------------------- evaluation

COSTLY: list[str] = [
    "object.list.all(x, object.list.all(y, object.list.all(z, x + y + z >= 0)))",
    "object.list.map(x, object.list.map(y, [x, y]))",
    "object.list.all(x, object.list == object.list)",
    "object.map.all(k, object.map == object.map)",
    "lists.range(10000000000000)",
    "lists.range(9223372036854775807).size()",
    "lists.range(1000).map(x, lists.range(1000)).size()",
    "object.list.distinct()",
    "[[object.list]].flatten(9223372036854775807)",
    "sets.equivalent(object.text.split(''), object.text.split(''))",
    "object.list.map(x, {'a': x}).distinct()",
    "object.list.exists(i, object.text.matches('(x+x+)+y'))",
]


@pytest.mark.parametrize("expression", COSTLY)
def test_the_budget_ends_costly_work(expression: str) -> None:
    assert soon(lambda: answer(expression, limit=100_000)) == TOO_COSTLY


LARGE_RESULTS: list[tuple[str, object]] = [
    ("object.text.replace('', object.text)", TEXT_TOO_LONG),
    ("object.text.replace('x', object.text)", TEXT_TOO_LONG),
    ("lists.range(5000).map(i, object.text).join('')", TEXT_TOO_LONG),
    ("'%.999999999f'.format([1.0]).size() < 1000", True),
    ("'%s'.format([object.map]).size() > 5000", True),
    ("quantity('1e2147483647').add(quantity('1'))", "quantity has too many digits"),
    ("quantity('1e1000000000').compareTo(quantity('1'))", 1),
    ("quantity('1e1000000000').asApproximateFloat()", "Infinity"),
    ("int(object.digits)", "type conversion error from 'string' to 'int'"),
    ("duration(object.digits + 'h')", "type conversion error from 'string' to 'google.protobuf.Duration'"),
    ("isIP(object.digits) || isCIDR(object.digits) || isSemver(object.digits)", False),
    ("url('/?' + object.list.map(i, 'a=b').join('&')).getQuery()", {}),
]


@pytest.mark.parametrize(("expression", "value"), LARGE_RESULTS, ids=[e for e, _ in LARGE_RESULTS])
def test_no_result_grows_without_end(expression: str, value: object) -> None:
    assert soon(lambda: answer(expression)) == value


PATTERNS: list[tuple[str, object]] = [
    ("object.text.matches('(x+x+)+y')", False),
    ("object.text.matches('(x|x)*y')", False),
    ("object.text.matches('^(([a-z])+.)+[A-Z]([a-z])+$')", False),
    ("object.text.findAll('').size()", 20_001),
    ("object.text.findAll('x*y').size()", 0),
    ("object.list.exists(i, 'a'.matches(string(i)))", False),
]


@pytest.mark.parametrize(("expression", "value"), PATTERNS, ids=[e for e, _ in PATTERNS])
def test_no_pattern_takes_exponential_time(expression: str, value: object) -> None:
    assert soon(lambda: answer(expression)) == value


LARGE_PATTERNS = ["(a{1000}){1000}", "((((a{0,100}){0,100}){0,100}){0,100})", "(" * 5_000 + ")" * 5_000, "\\\\pL" * 5_000]


@pytest.mark.parametrize("pattern", LARGE_PATTERNS, ids=[p[:40] for p in LARGE_PATTERNS])
def test_a_pattern_that_takes_too_much_memory_is_refused(pattern: str) -> None:
    found = soon(lambda: answer(f"'a'.matches('{pattern}')"))
    assert isinstance(found, str)
    assert "invalid matches argument" in found


# ---------------------------------------------------------------- objects


def nested(levels: int, *, maps: bool) -> Value:
    value: Value = 1
    for _ in range(levels):
        value = {"a": value} if maps else [value]
    return value


DEEP = [
    "object == oldObject",
    "!(object != oldObject)",
    "[object, object] == [oldObject, oldObject]",
    "object in [oldObject]",
    "[object].indexOf(oldObject) == 0",
    "[object].map(x, x) == [oldObject]",
    "optional.of(object) == optional.of(oldObject)",
    "sets.contains([object], [oldObject])",
    "size('%s'.format([object])) > 200",
    "dyn([[object]]).flatten(100000).size() == 1",
]


@pytest.mark.parametrize("maps", [True, False], ids=["maps", "lists"])
@pytest.mark.parametrize("levels", [200, 1_000])
@pytest.mark.parametrize("expression", DEEP)
def test_values_may_nest_deeply(expression: str, levels: int, maps: bool) -> None:
    objects = {"object": nested(levels, maps=maps), "oldObject": nested(levels, maps=maps)}
    assert soon(lambda: answer(expression, **objects)) is True


# ---------------------------------------------------------------- variables


def with_variables(first: str, again: str, times: int, last: str) -> object:
    """The answer of an expression over a chain of variables, each made from the one before."""
    chain = [("v0", first), *((f"v{i + 1}", again.replace("$", f"variables.v{i}")) for i in range(times))]
    plain, mutating = environment.admission(), environment.admission(mutating=True)
    variables, target = composition.compose(chain, plain, mutating)
    return said(target.compile(last.replace("$", f"variables.v{times}")).evaluate(variables.bind({"object": OBJECT})))


DOUBLING: list[tuple[str, str, str]] = [
    ("[1]", "$ + $", LIST_TOO_LONG),
    ("'a'", "$ + $", TOO_COSTLY),
    ("b'a'", "$ + $", TOO_COSTLY),
    ("'a'", "'%s%s'.format([$, $])", TEXT_TOO_LONG),
    ("'aa'", "$.replace('a', $)", TEXT_TOO_LONG),
    ("'aa'", "[$, $].join($)", TOO_COSTLY),
    ("1", "$ + $", "integer overflow"),
    ("duration('1h')", "$ + $", "integer overflow"),
]


@pytest.mark.parametrize(("first", "again", "error"), DOUBLING, ids=[f"{first}, {again}" for first, again, _ in DOUBLING])
def test_doubling_through_variables_ends_with_an_error(first: str, again: str, error: str) -> None:
    found = soon(lambda: with_variables(first, again, 70, "$"))
    assert isinstance(found, str)
    assert found.startswith('composited variable "v70" fails to evaluate: composited variable "v69" fails to evaluate: ')
    assert found.endswith(error)


SHARED = ["$ == $", "'%s'.format([$])", "$ in [$]", "[$].indexOf($)", "sets.contains([$], [$])"]


@pytest.mark.parametrize("expression", SHARED)
def test_a_list_that_is_small_only_in_memory_is_not_walked_to_its_end(expression: str) -> None:
    assert soon(lambda: with_variables("[1]", "[$, $]", 60, expression)) == work.TOO_MUCH


@pytest.mark.parametrize("expression", ["$.flatten(100)", "dyn($).flatten(100)"])
def test_flattening_ends_with_the_longest_list(expression: str) -> None:
    assert soon(lambda: with_variables("[1]", "[$, $]", 60, expression)) == LIST_TOO_LONG


def test_a_value_that_is_small_only_in_memory_is_not_shown() -> None:
    value: Value = [1]
    for _ in range(60):
        value = [value, value]
    assert soon(lambda: jsonform.to_json(value)) == jsonform.TOO_LARGE


UNPRICED = [
    "object.numbers.all(x, x in object.numbers)",
    "object.words.all(x, x in object.words)",
    "object.numbers.map(x, '%s'.format([object.text]))",
    "object.numbers.map(x, dyn(object.text) + dyn(object.text))",
    "object.numbers.map(x, object.numbers + object.numbers)",
    "object.numbers.map(x, bytes(object.text))",
    "object.numbers.map(x, object.text.replace('x', 'yyyyyyyyyyyyyyyy'))",
    "object.numbers.map(x, [object.numbers, object.numbers].flatten())",
    "object.numbers.all(x, [object.text] == [object.text])",
    "object.numbers.all(x, !matches('a', object.text.substring(100001)))",
    "object.text.matches(object.text.substring(150000))",
    "object.text.find(object.text.substring(150000))",
    "object.text.findAll(object.text.substring(150000))",
]
LARGE: dict[str, Value] = {
    "text": "x" * 200_000,
    "numbers": list(range(100_000)),
    "words": [str(number) for number in range(100_000)],
}


@pytest.mark.parametrize("expression", UNPRICED)
def test_work_that_costs_nothing_is_bounded_all_the_same(expression: str) -> None:
    assert soon(lambda: answer(expression, object=LARGE)) == work.TOO_MUCH


def test_an_evaluation_pays_for_its_own_work_only() -> None:
    program = ENVIRONMENT.compile("object.numbers.exists(x, x in object.numbers)")
    for _ in range(300):
        assert program.evaluate({"object": LARGE}).value is True


def test_a_long_chain_of_variables_is_followed() -> None:
    assert soon(lambda: with_variables("1", "$ + 1", 300, "$")) == 301


# ---------------------------------------------------------------- traces

TRACED = [
    "object.list.all(x, x >= 0)",
    "object.list.map(x, object.text).size() > 0",
    "lists.range(100).all(x, lists.range(100).all(y, x + y >= 0))",
]


@pytest.mark.parametrize("expression", TRACED)
def test_a_trace_has_one_step_for_each_sub_expression_however_often_it_ran(expression: str) -> None:
    steps = soon(lambda: trace.steps(ENVIRONMENT.compile(expression), {"object": OBJECT}))
    assert isinstance(steps, list)
    assert 0 < len(steps) < 15
    assert all(step.as_json() for step in steps)
