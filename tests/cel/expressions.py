"""Hypothesis strategies for CEL: expressions grown from a small grammar, and JSON objects that they look into.

A template names the kinds of its parts in braces. Most parts are of the kind that is asked for, so that expressions compile
and run deep; `any` lets in everything else, and paths into the object are dyn, so that run-time errors are common too.
"""

import re

from hypothesis import strategies as st

from kadmit.cel.values import Value

LEAVES: dict[str, tuple[str, ...]] = {
    "bool": ("true", "false", "has(object.a)", "has(object.m.k)", "has(object.nope.x)"),
    "int": ("0", "1", "-7", "9223372036854775807", "object.a", "object.m.n", "object.l[0]", "size(object.l)", "int(object.s)"),
    "uint": ("0u", "3u", "18446744073709551615u", "uint(object.a)"),
    "double": ("0.0", "-1.5", "1e300", "double('NaN')", "double(object.a)"),
    "string": ("''", "'a'", "'héllo'", "'a.b'", "object.s", "object.m.k", "object.m['x']", "string(object.a)", "object.nope"),
    "bytes": ("b''", "b'ab'", "bytes(object.s)"),
    "list": ("[]", "[1, 2, 3]", "['b', 'a']", "object.l", "object.m.l", "[object.a]", "lists.range(4)", "object.s"),
    "map": ("{}", "{'a': 1}", "{1: 'x', 2: 'y'}", "object.m", "object", "object.a"),
    "duration": ("duration('1h')", "duration('-90s')", "duration(object.s)"),
    "timestamp": ("timestamp('2024-02-29T12:00:00Z')", "timestamp(0)", "timestamp(object.s)"),
    "quantity": ("quantity('1Gi')", "quantity('500m')", "quantity('-0')", "quantity(object.s)"),
    "ip": ("ip('10.1.2.3')", "ip('::1')", "ip(object.s)"),
    "cidr": ("cidr('10.0.0.0/8')", "cidr('fe80::/10')", "cidr(object.s)"),
    "url": ("url('https://a.example:80/p?q=1&q=2')", "url('/x%20y')", "url(object.s)"),
    "semver": ("semver('1.2.3')", "semver('1.2.3-rc.1+b')", "semver('v1', true)", "semver(object.s)"),
    "patch": ("JSONPatch{op: 'add', path: '/a'}", "Object{}", "Object.spec{x: 1}", "Object{spec: Object.spec{a: object.a}}"),
    "optional": ("optional.none()", "optional.of(1)", "object.?a", "object.?m.?k", "object.l[?0]", "{'a': 1}[?'b']"),
}

TEMPLATES: dict[str, tuple[str, ...]] = {
    "bool": (
        "({bool} && {bool})",
        "({bool} || {bool})",
        "!{bool}",
        "({int} < {int})",
        "({double} >= {int})",
        "({string} <= {string})",
        "({any} == {any})",
        "({list} != {list})",
        "({any} in {list})",
        "({string} in {map})",
        "{string}.startsWith({string})",
        "{string}.contains({string})",
        "{string}.matches('^[a-z]+$')",
        "{list}.all(x, {bool})",
        "{list}.exists(x, x == {any})",
        "{list}.exists_one(x, x != {any})",
        "{map}.all(k, v, k == v || {bool})",
        "{map}.exists(k, v, v == {any})",
        "{list}.isSorted()",
        "sets.contains({list}, {list})",
        "sets.intersects({list}, {list})",
        "{optional}.hasValue()",
        "(type({any}) == type({any}))",
        "({bool} ? {bool} : {bool})",
        "({timestamp} > {timestamp})",
        "({string} in [{string}, 'a', 'b'])",
        "({any} in ['a', 'b'])",
        "({int} in [1, 2, 3])",
        "[{int}, {int}].exists(x, x > {int})",
        "{map}.all(k, k.size() < {int})",
        "isQuantity({string})",
        "{quantity}.isLessThan({quantity})",
        "({quantity} == {quantity})",
        "{quantity}.isInteger()",
        "isIP({string})",
        "({ip} == {ip})",
        "{ip}.isLoopback()",
        "{cidr}.containsIP({ip})",
        "{cidr}.containsIP({string})",
        "{cidr}.containsCIDR({cidr})",
        "isURL({string})",
        "isSemver({string})",
        "{semver}.isGreaterThan({semver})",
        "format.dns1123Label().validate({string}).hasValue()",
        "({patch} == {patch})",
        "has({map}.k)",
        "has({map}.k.x)",
        "has({optional}.k)",
        "has({optional}.k.x)",
        "({double} == {double})",
        "{string}.endsWith({string})",
        "matches({string}, {string})",
    ),
    "int": (
        "({int} + {int})",
        "({int} - {int})",
        "({int} * {int})",
        "({int} / {int})",
        "({int} % {int})",
        "-{int}",
        "size({list})",
        "{string}.size()",
        "{map}.size()",
        "{list}.indexOf({any})",
        "{string}.indexOf({string})",
        "{list}.sum()",
        "int({string})",
        "int({double})",
        "({bool} ? {int} : {int})",
        "{list}[{int}]",
        "{optional}.orValue({int})",
        "{timestamp}.getFullYear()",
        "{duration}.getSeconds()",
        "{timestamp}.getHours('+02:00')",
        "{timestamp}.getDayOfWeek()",
        "{list}.lastIndexOf({any})",
        "{string}.lastIndexOf({string}, {int})",
        "{list}.min()",
        "{list}.max()",
        "{quantity}.asInteger()",
        "{quantity}.compareTo({quantity})",
        "sign({quantity})",
        "{ip}.family()",
        "{cidr}.prefixLength()",
        "{semver}.major()",
        "int({timestamp})",
        "{map}.k",
        "{patch}.spec",
    ),
    "uint": ("({uint} + {uint})", "({uint} - {uint})", "({uint} * {uint})", "uint({int})"),
    "double": ("({double} + {double})", "({double} / {double})", "-{double}", "double({int})", "double({string})"),
    "string": (
        "({string} + {string})",
        "string({int})",
        "string({double})",
        "{string}.lowerAscii()",
        "{string}.replace({string}, {string})",
        "{string}.substring({int})",
        "{string}.charAt({int})",
        "{list}.map(x, string(x)).join({string})",
        "'%s-%d'.format([{any}, {int}])",
        "({bool} ? {string} : {string})",
        "{map}[{string}]",
        "string({any})",
        "{string}.trim()",
        "{string}.upperAscii()",
        "{string}.substring({int}, {int})",
        "{string}.find({string})",
        "{string}.replace({string}, {string}, {int})",
        "'%s %s'.format([{any}, {list}])",
        "'%.2f|%x|%b'.format([{double}, {int}, {int}])",
        "strings.quote({string})",
        "jsonpatch.escapeKey({string})",
        "{list}.join({string})",
        "{url}.getHost()",
        "{url}.getEscapedPath()",
        "string({ip})",
        "string({duration})",
        "string({timestamp})",
        "{map}.x",
    ),
    "bytes": ("({bytes} + {bytes})", "bytes({string})"),
    "list": (
        "({list} + {list})",
        "[{any}]",
        "[{int}, {int}]",
        "{list}.map(x, {any})",
        "{list}.map(x, [x, {any}])",
        "{list}.filter(x, {bool})",
        "{list}.filter(x, x != {any})",
        "{map}.map(k, k)",
        "{list}.transformList(i, v, [i, v])",
        "{list}.sort()",
        "{list}.sortBy(x, {any})",
        "{list}.distinct()",
        "{list}.reverse()",
        "{list}.slice({int}, {int})",
        "{list}.flatten()",
        "{string}.split({string})",
        "{string}.findAll('[a-z]')",
        "{string}.findAll({string}, {int})",
        "{string}.split({string}, {int})",
        "{list}.map(x, {bool}, x)",
        "{list}.transformList(i, v, {bool}, v)",
        "{list}.flatten({int})",
        "{list}.map(x, {list}.map(y, [x, y]))",
        "[?{optional}, {any}]",
        "optional.unwrap([{optional}])",
        "{url}.getQuery()[{string}]",
        "lists.range({int} % 20)",
    ),
    "map": (
        "{{'k': {any}}}",
        "{{{string}: {any}, 'z': {any}}}",
        "{{?'k': {optional}}}",
        "{map}.transformMap(k, v, {any})",
        "{list}.transformMapEntry(i, v, {{v: i}})",
    ),
    "quantity": ("{quantity}.add({quantity})", "{quantity}.sub({int})", "quantity({string})"),
    "ip": ("{cidr}.ip()", "ip({string})"),
    "cidr": ("{cidr}.masked()", "cidr({string})"),
    "url": ("url({string})",),
    "semver": ("semver({string})", "semver({string}, {bool})"),
    "patch": (
        "Object{{a: {any}}}",
        "Object{{a: Object.a{{?b: {optional}}}}}",
        "JSONPatch{{op: {string}, path: '', value: {any}}}",
    ),
    "duration": ("({duration} + {duration})", "({timestamp} - {timestamp})", "-{duration}"),
    "timestamp": ("({timestamp} + {duration})", "({timestamp} - {duration})"),
    "optional": (
        "optional.of({any})",
        "optional.ofNonZeroValue({any})",
        "{optional}.or({optional})",
        "{optional}.optMap(o, {any})",
        "{list}[?{int}]",
        "{list}.first()",
        "{list}.last()",
        "{optional}.optFlatMap(o, {optional})",
        "{map}[?{string}]",
        "{optional}.k",
        "{optional}[?{any}]",
        "{map}.?k.?x",
        "format.named({string})",
        "format.uri().validate({string})",
    ),
}

KINDS = tuple(TEMPLATES)
_PART = re.compile(r"\{\{|\}\}|\{(\w+)\}")


@st.composite
def expressions(draw: st.DrawFn, kind: str = "any", depth: int = 4) -> str:
    """An expression that is probably of this kind."""
    if kind == "any" or draw(st.integers(0, 24)) == 0:
        kind = draw(st.sampled_from(KINDS))
    if depth <= 0 or draw(st.booleans()):
        leaf = draw(st.sampled_from(LEAVES[kind]))
        return f"dyn({leaf})" if draw(st.integers(0, 9)) == 0 else leaf
    template = draw(st.sampled_from(TEMPLATES[kind]))

    def part(found: re.Match[str]) -> str:
        return draw(expressions(found[1], depth - 1)) if found[1] else found[0][0]

    return _PART.sub(part, template)


scalars: st.SearchStrategy[Value] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-3, 12),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "a", "ab", "héllo", "1", "-1.5", "1h", "2024-01-01T00:00:00Z", "x" * 50]),
    st.text(max_size=5),
)
json_values: st.SearchStrategy[Value] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["k", "x", "n", "l", ""]), inner, max_size=4),
    max_leaves=8,
)
objects: st.SearchStrategy[dict[str, Value]] = st.fixed_dictionaries(
    {},
    optional={
        "a": json_values,
        "s": st.text(max_size=8) | json_values,
        "l": st.lists(json_values, max_size=5) | json_values,
        "m": st.dictionaries(st.sampled_from(["k", "x", "n", "l"]), json_values, max_size=4) | json_values,
    },
)

# Text that is hardly ever CEL, and text that nearly is.
noise = st.text(max_size=60) | st.text(alphabet="abx01.,:?()[]{}'\"\\+-*/%<>=!&| \n\tuern", max_size=40)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """An expression with something cut out, doubled or put in."""
    text = draw(expressions())
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, min(len(text), start + 6)))
    return (
        text[:start]
        + draw(st.sampled_from(["", text[start:end] * 2, "(", ")", "'", ".", "?", "\0", "}", "in ", "x"]))
        + text[end:]
    )
