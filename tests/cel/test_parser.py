"""The parser agrees with cel-go: trees, ids, positions, and what is switched on in which version of Kubernetes.

data/trees.jsonl holds what cel-go 0.26 makes of each expression: the tree with ids, and where each id stands.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cel import celspec, debug_string

from kadmit.cel import depth, macros, parser, recovery
from kadmit.cel.ast import Ast, Call, Comprehension, Expr, Literal, children
from kadmit.cel.source import Issues
from kadmit.cel.values import UInt

MACROS = macros.available(36)
TREES = [json.loads(line) for line in (Path(__file__).parent / "data/trees.jsonl").read_text("utf-8").splitlines()]


def parse(text: str, minor: int = 36) -> tuple[Ast | None, Issues]:
    return parser.parse(text, macros=macros.available(minor), optional_syntax=minor >= 28)


def tree_of(text: str, minor: int = 36) -> Ast:
    tree, issues = parse(text, minor)
    assert tree is not None, issues.render()
    return tree


def messages_of(text: str, minor: int = 36) -> list[str]:
    tree, issues = parse(text, minor)
    assert tree is None
    return [issue.message for issue in sorted(issues.found, key=lambda issue: issue.location)]


@pytest.mark.parametrize("row", TREES, ids=[row["expr"] for row in TREES])
def test_nodes_have_the_ids_and_positions_that_cel_go_gives_them(row: dict[str, Any]) -> None:
    tree = tree_of(row["expr"])
    assert debug_string.ids(tree.root) == row["tree"]
    assert sorted(tree.offsets.items()) == [tuple(pair) for pair in row["at"]]


@pytest.fixture
def _limits_of_cel_go_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """cel-go's own parser tests lower the limits."""
    monkeypatch.setattr(recovery, "MAX_DEPTH", 32)
    monkeypatch.setattr(depth, "LIMIT", 32)
    monkeypatch.setattr(recovery, "MAX_RECOVERIES", 4)
    monkeypatch.setattr(recovery, "MAX_SKIPPED", 4)


@pytest.mark.parametrize("file", ["parsing", "checking", "comprehension", "conformance"])
@pytest.mark.usefixtures("_limits_of_cel_go_tests")
def test_every_source_of_cel_spec_gives_the_tree_or_the_errors_of_cel_go(file: str) -> None:
    """The data was made with the standard macros and existsOne, without optional syntax."""
    standard = macros.available(27)
    enabled = {**standard, ("existsOne", 2, True): standard[("exists_one", 2, True)]}
    differing = []
    for path, test in celspec.load(file):
        tree, issues = parser.parse(test["original"]["expr"], macros=enabled, optional_syntax=False)
        found = issues.render() if tree is None else debug_string.kinds(tree.root)
        if found != (test["ast"] if "ast" in test else _as_input(test["error"])):
            differing.append(path)
    assert differing == []


def _as_input(errors: str) -> str:
    """Each test bears its own name where ours says <input>."""
    return re.sub(r"(?m)^ERROR: [^:\n]*:(?=-?\d)", "ERROR: <input>:", errors)


LITERALS = {
    "1": 1,
    "-1": -1,
    "0x1F": 31,
    "-0x1f": -31,
    "00017": 17,
    "9223372036854775807": 2**63 - 1,
    "-9223372036854775808": -(2**63),
    "1u": UInt(1),
    "0xFFFFFFFFFFFFFFFFU": UInt(2**64 - 1),
    "1.5": 1.5,
    "-.5e1": -5.0,
    "1e3": 1000.0,
    "true": True,
    "false": False,
    "null": None,
    "''": "",
    "'a\"b'": 'a"b',
    '"a\\n\\t\\\\\\"\\?\\`"': 'a\n\t\\"?`',
    "'\\x41\\101\\u20ac\\U0001F600'": "AA€😀",
    "'\\377'": "ÿ",
    "r'\\n'": "\\n",
    'R"""a"b\\"""': 'a"b\\',
    "'''a\r\nb\rc'''": "a\nb\nc",
    "b'aé\\xff\\377'": b"a\xc3\xa9\xff\xff",
    "bR'\\x'": b"\\x",
}


@pytest.mark.parametrize("text", LITERALS)
def test_a_literal_stands_for_its_value(text: str) -> None:
    root = tree_of(text).root
    assert isinstance(root, Literal)
    assert (root.value, type(root.value)) == (LITERALS[text], type(LITERALS[text]))


BAD_LITERALS = {
    "9223372036854775808": "invalid int literal",
    "-9223372036854775809": "invalid int literal",
    "0x8000000000000000": "invalid int literal",
    "1" * 9000: "invalid int literal",
    "18446744073709551616u": "invalid uint literal",
    "1e999": "invalid double literal",
    "-1e999": "invalid double literal",
    "'\\ud800'": "invalid unicode code point",
    "'\\U00110000'": "invalid unicode code point",
    "b'\\u00e9'": "unable to unescape string",
}


@pytest.mark.parametrize("text", BAD_LITERALS)
def test_a_literal_without_a_value_is_an_issue(text: str) -> None:
    assert messages_of(text) == [BAD_LITERALS[text]]


# The macro, and the minor version of Kubernetes that brought it.
SINCE = {
    "has(a.b)": 0,
    "a.exists_one(x, x)": 0,
    "a.map(x, x, x)": 0,
    "a.optMap(x, x)": 28,
    "a.optFlatMap(x, x)": 28,
    "a.all(i, v, v)": 32,
    "a.exists(i, v, v)": 32,
    "a.existsOne(i, v, v)": 32,
    "a.exists_one(i, v, v)": 32,
    "a.transformList(i, v, v)": 32,
    "a.transformList(i, v, v, v)": 32,
    "a.transformMap(i, v, v)": 32,
    "a.transformMapEntry(i, v, v)": 32,
    "a.sortBy(x, x)": 34,
    "a.existsOne(x, x)": 99,
    "a.bind(x, x)": 99,
}


@pytest.mark.parametrize("text", SINCE)
@pytest.mark.parametrize("minor", [27, 28, 31, 32, 33, 34, 36])
def test_a_macro_is_an_ordinary_call_before_its_version(text: str, minor: int) -> None:
    tree = tree_of(text, minor)
    assert bool(tree.macros) == (SINCE[text] <= minor)
    assert (tree.root.id in tree.macros) == (SINCE[text] <= minor)


def test_a_tree_remembers_macros_as_they_were_written() -> None:
    tree = tree_of("[1].map(x, has(x.y))")
    assert isinstance(tree.root, Comprehension)
    written = tree.macros[tree.root.id]
    assert isinstance(written, Call)
    assert (written.function, debug_string.ids(written.args[0])) == ("map", "(4 x)")
    assert written.args[1].id in tree.macros


OPTIONAL_SYNTAX = {
    "a.?b": "unsupported syntax '.?'",
    "a[?b]": "unsupported syntax '[?'",
    "[?a]": "unsupported syntax '?'",
    "{?a: b}": "unsupported syntax '?'",
    "T{?a: b}": "unsupported syntax '?'",
}


@pytest.mark.parametrize("text", OPTIONAL_SYNTAX)
def test_optional_syntax_came_with_1_28(text: str) -> None:
    assert messages_of(text, 27) == [OPTIONAL_SYNTAX[text]]
    tree_of(text, 28)


def test_a_text_may_be_long_but_not_too_long() -> None:
    tree_of(f"'{'é' * 99_998}'")
    assert messages_of("a" * 100_001) == ["expression code point size exceeds limit: size: 100001, limit 100000"]


DEEP = {
    "parentheses": lambda n: "(" * n + "1" + ")" * n,
    "lists": lambda n: "[" * n + "1" + "]" * n,
    "maps": lambda n: "{1:" * n + "1" + "}" * n,
    "structs": lambda n: "T{a:" * n + "1" + "}" * n,
    "calls": lambda n: "f(" * n + "1" + ")" * n,
    "conditionals": lambda n: "a?b:" * n + "1",
}
CHAINS = {
    "sums": lambda n: "1" + "+1" * n,
    "relations": lambda n: "1" + "==1" * n,
    "selections": lambda n: "a" + ".b" * n,
    "indexes": lambda n: "a" + "[0]" * n,
    "methods": lambda n: "a" + ".f()" * n,
}


@pytest.mark.parametrize("shape", DEEP)
def test_nesting_has_a_limit(shape: str) -> None:
    tree_of(DEEP[shape](249))
    assert messages_of(DEEP[shape](250)) == ["expression recursion limit exceeded: 250"]


@pytest.mark.parametrize("shape", CHAINS)
def test_chains_have_a_limit(shape: str) -> None:
    tree_of(CHAINS[shape](250))
    assert messages_of(CHAINS[shape](251)) == ["max recursion depth exceeded"]


@pytest.mark.parametrize("nesting", [83, 84])
def test_the_right_sides_of_sums_and_products_count_as_nesting(nesting: int) -> None:
    text = "1+2*(" * nesting + "1" + ")" * nesting
    tree, issues = parse(text)
    assert (tree is not None, issues.count) == ((True, 0) if nesting < 84 else (False, 1))


def test_chains_of_logic_have_no_limit() -> None:
    tree = tree_of("a" + " && b || c" * 5000)
    assert max(_depths(tree.root)) < 20


def _depths(root: Expr) -> list[int]:
    found = []
    todo = [(root, 0)]
    while todo:
        node, level = todo.pop()
        found.append(level)
        todo.extend((child, level + 1) for child in children(node))
    return found


@pytest.mark.parametrize("text", ["(" * 100_000, "a." * 50_000, "!" * 100_000, "[{" * 50_000, "'" * 99_999, "a?" * 50_000])
def test_hostile_text_is_an_issue_and_no_crash(text: str) -> None:
    tree, issues = parse(text)
    assert tree is None
    assert issues


def test_copies_that_double_with_every_call_end_at_a_limit() -> None:
    tree_of("x" + ".optMap(a, a)" * 8)
    assert messages_of("x" + ".optMap(a, a)" * 60) == ["expression is too large after macro expansion"]


@given(st.text(alphabet="ab.01'\"()[]{}?:,+-!&|=<>*/% \n\\xrT`é#"))
def test_any_text_gives_a_tree_or_issues_and_never_both(text: str) -> None:
    tree, issues = parse(text)
    assert (tree is None) == bool(issues)
    assert issues.render() != "" or tree is not None


@given(st.lists(st.sampled_from([row["expr"] for row in TREES]), min_size=1, max_size=3))
def test_both_readers_agree_on_valid_text(parts: list[str]) -> None:
    """The slow one reads everything that the fast one does not take; what both can read must come out the same."""
    text = "[" + ",\n".join(parts) + "\n]"
    fast = tree_of(text)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(depth, "may_exceed_limit", lambda _kinds: True)
        slow = tree_of(text)
    assert debug_string.ids(slow.root) == debug_string.ids(fast.root)
    assert slow.offsets == fast.offsets
