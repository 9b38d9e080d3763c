"""Suites as files: what may stand in one, and where it says that something may not."""

# ruff: noqa: E501  a case is one line of a table, however long

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.authoring import suites

from kadmit.authoring.manifests import File
from kadmit.authoring.suite import expecting, reading
from kadmit.authoring.suite.expectation import Annotations, Call, Denial, Expected, Texts
from kadmit.authoring.suite.model import ALLOW, DENY, FAIL, RESPONSE, TIMEOUT, BadSuite, Problem, Reply, Suite
from kadmit.authoring.suite.texts import Text

OBJECT = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"


def problems(text: str) -> list[str]:
    with pytest.raises(BadSuite) as raised:
        suites.read(text)
    return [str(p).removeprefix(f"{suites.PATH}:") for p in raised.value.problems]


def test_a_suite_has_fixtures_cases_and_defaults() -> None:
    suite = suites.read(f"""
        policies: [mutating.yaml, "valid*.yaml"]
        fixtures: [settings.yaml, {{apiVersion: v1, kind: Secret, metadata: {{name: s}}}}]
        namespaces: {{shop: {{tier: front}}, empty: {{}}}}
        defaults: {{user: {{name: alice, groups: [dev], extra: {{k: [v]}}}}, namespace: shop, object: {OBJECT}}}
        cases:
        - {{name: one, expect: admitted}}
        - {{name: two, user: bob, operation: UPDATE, oldObject: settings.yaml, dryRun: true, expect: denied}}
        """)
    assert [m.kind.kind for m in suite.fixtures[-4:]] == ["ConfigMap", "Secret", "Namespace", "Namespace"]
    assert suite.fixtures[-2].metadata["labels"] == {"kubernetes.io/metadata.name": "shop", "tier": "front"}
    one, two = suite.cases
    assert (one.ask.user, one.ask.groups, one.ask.extra, one.ask.namespace) == ("alice", ("dev",), {"k": ("v",)}, "shop")
    assert (two.ask.user, two.ask.groups, two.ask.operation, two.ask.dry_run) == ("bob", (), "UPDATE", True)
    assert two.ask.old is not None
    assert two.ask.old.name == "settings"
    assert suite.depends == (
        "suites/kadmit-test.yaml", "suites/mutating.yaml", "suites/valid*.yaml", "suites/validating.yaml", "suites/settings.yaml",
    )  # fmt: skip


def test_variations_are_cases_of_their_own_and_patch_what_the_case_patched() -> None:
    suite = suites.read(f"""
        cases:
        - name: levels
          object: {OBJECT}
          patch: {{data: {{a: "1", b: "2"}}}}
          expect: admitted
          variations:
          - {{name: without b, patch: {{data: {{b: null}}}}}}
          - {{name: json patch, patch: [{{op: add, path: /data/c, value: "3"}}], expect: denied}}
        """)
    assert [case.name for case in suite.cases] == ["levels[without b]", "levels[json patch]"]
    assert [case.ask.object.value["data"] for case in suite.cases if case.ask.object] == [
        {"a": "1"},
        {"a": "1", "b": "2", "c": "3"},
    ]
    assert [case.path for case in suite.cases] == [("cases", "0", "variations", "0"), ("cases", "0", "variations", "1")]


TWO = {**suites.FILES, "suites/two.yaml": "---\n".join([suites.SETTINGS, suites.SETTINGS.replace("settings", "other")])}


@pytest.mark.parametrize(
    ("which", "name"), [("#1", "settings"), ("#2", "other"), ("#other", "other"), ("#ConfigMap/other", "other")]
)
def test_an_object_of_a_file_is_named_by_number_or_name(which: str, name: str) -> None:
    suite = suites.read(f"cases: [{{name: a, object: 'two.yaml{which}', expect: admitted}}]", TWO)
    assert suite.cases[0].ask.object is not None
    assert suite.cases[0].ask.object.name == name


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("admitted", Expected()),
        ("denied", Expected(denied=Denial())),
        ("{admitted: true, unchanged: true}", Expected(unchanged=True)),
        ("{denied: true}", Expected(denied=Denial())),
        ("{denied: {code: 422, reason: Invalid, by: p, message: m}}", Expected(denied=Denial(422, "Invalid", Text("m"), "p"))),
        ("{denied: {message: {contains: [a, b], matches: c+}}}", Expected(denied=Denial(message=Text(None, ("a", "b"), "c+")))),
        ("{partial: {data: {a: b}}}", Expected(partial={"data": {"a": "b"}})),
        ("{object: settings.yaml}", Expected(object=suites.Texts(suites.FILES).manifests("suites/settings.yaml")[0].value)),
        ("{warnings: []}", Expected(warnings=Texts())),
        ("{warnings: [a, {contains: b}]}", Expected(warnings=Texts((Text("a"), Text(None, ("b",)))))),
        ("{warnings: {contains: a}}", Expected(warnings=Texts((Text(None, ("a",)),), all=False))),
        ("{auditAnnotations: {p/k: v}}", Expected(annotations=Annotations({"p/k": Text("v")}))),
        ("{auditAnnotations: {contains: {p/k: v}}}", Expected(annotations=Annotations({"p/k": Text("v")}, all=False))),
        (
            "{webhooks: [a, {name: b, sent: {operation: CREATE}}]}",
            Expected(called=(Call("a"), Call("b", {"operation": "CREATE"}))),
        ),
        ("{patch: [{op: remove, path: /data}]}", Expected(patch=[{"op": "remove", "path": "/data"}])),
    ],
)
def test_what_may_be_expected(written: str, expected: Expected) -> None:
    assert suites.read(f"cases: [{{name: a, object: {OBJECT}, expect: {written}}}]").cases[0].expected == expected


@pytest.mark.parametrize(
    ("written", "reply"),
    [
        ("allow", Reply()),
        ("timeout", Reply(TIMEOUT)),
        ("fail", Reply(FAIL)),
        ("{fail: connection refused}", Reply(FAIL, "connection refused")),
        ("deny", Reply(DENY)),
        ("{deny: never}", Reply(DENY, "never")),
        ("{deny: {code: 403, reason: Forbidden, message: m}}", Reply(DENY, "m", 403, "Forbidden")),
        ("{patch: [{op: remove, path: /data}]}", Reply(patch=({"op": "remove", "path": "/data"},))),
        ("{allow: true, warnings: [w], auditAnnotations: {a: b}}", Reply(ALLOW, warnings=("w",), annotations={"a": "b"})),
        ("{response: {allowed: true}}", Reply(RESPONSE, response={"allowed": True})),
    ],
)
def test_what_a_webhook_may_reply(written: str, reply: Reply) -> None:
    text = f"""
        policies: [webhooks.yaml]
        webhooks: {{change.example.com: [{written}]}}
        cases: [{{name: a, object: {OBJECT}, expect: admitted}}]
        """
    assert suites.read(text).scripts == {"change.example.com": (reply,)}


ONE = f"object: {OBJECT}, expect: admitted"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[]", ["1:1: the suite: must be an object, is a list"]),
        ("cases: {}", ["1:1: cases: must be a list of cases, is an object"]),
        ("cases: []", ["1:1: cases: there are none: a suite without cases tests nothing"]),
        ("policies: [mutating.yaml]", ["1:1: cases: must be a list of cases, is nothing"]),
        (f"case: 1\ncases: [{{name: a, {ONE}}}]", ['1:1: the suite: unknown key "case" (did you mean "cases"?)']),
        (f"cases:\n- name: a\n  objct: {OBJECT}\n  expect: admitted\n  oldObject: {OBJECT}",
         ['3:3: cases[0]: unknown key "objct" (did you mean "object"?)']),
        (f"cases:\n- {{{ONE}}}", ["2:3: cases[0]: must have a name"]),
        (f"cases:\n- {{name: a, object: {OBJECT}}}", ["2:3: cases[0]: must expect something (expect: admitted)"]),
        (f"cases:\n- {{name: a, {ONE}}}\n- {{name: a, {ONE}}}", ['3:3: cases[1]: there is another case "a"']),
        (f"cases:\n- {{name: 'a::b', {ONE}}}", ["2:11: cases[0].name: must be a line of text without :: and without blanks around it"]),
        ("cases:\n- {name: a, expect: admitted}",
         ["2:3: cases[0]: must have an object, or the oldObject that is deleted or connected to"]),
        ("cases:\n- {name: a, object: none.yaml, expect: admitted}",
         ["2:21: cases[0].object: suites/none.yaml: No such file or directory"]),
        ("cases:\n- {name: a, object: 'settings.yaml#2', expect: admitted}",
         ['2:22: cases[0].object: suites/settings.yaml holds no object "#2" (#1 ConfigMap/settings)']),
        ("cases:\n- {name: a, object: validating.yaml, expect: admitted}",
         [("2:21: cases[0].object: suites/validating.yaml holds 2 such objects: say which "
          "(#1 ValidatingAdmissionPolicy/levels, #2 ValidatingAdmissionPolicyBinding/levels)")]),
        ("cases:\n- {name: a, object: {metadata: {name: b}}, expect: admitted}",
         ["2:13: cases[0].object: an object must have apiVersion", "2:13: cases[0].object: an object must have kind"]),
        (f"cases:\n- {{name: a, operation: PATCH, {ONE}}}",
         ['2:24: cases[0].operation: must be one of CREATE, UPDATE, DELETE, CONNECT, is "PATCH"']),
        (f"cases:\n- {{name: a, operation: CREATE, oldObject: {OBJECT}, {ONE}}}",
         ["2:3: cases[0]: what is created has no oldObject (operation: UPDATE)"]),
        (f"cases:\n- {{name: a, object: {OBJECT}, expect: allowed}}",
         ['2:85: cases[0].expect: must be one of admitted, denied, is "allowed"']),
        (f"cases:\n- {{name: a, object: {OBJECT}, expect: {{}}}}", ["2:77: cases[0].expect: expects nothing"]),
        (f"cases:\n- {{name: a, object: {OBJECT}, expect: {{denied: true, partial: {{}}}}}}",
         ["2:100: cases[0].expect.partial: what is denied leaves no object"]),
        (f"cases:\n- {{name: a, object: {OBJECT}, expect: {{admitted: false}}}}",
         ["2:86: cases[0].expect.admitted: must be true (write denied: true for a request that is refused)"]),
        (f"cases:\n- {{name: a, object: {OBJECT}, expect: {{denied: {{message: {{matches: '('}}}}}}}}",
         ["2:115: cases[0].expect.denied.message.matches: error parsing regexp: missing closing ): `(`"]),
        (f"webhooks: {{a.example: allow}}\ncases: [{{name: a, {ONE}}}]",
         ['1:12: webhooks.a.example: no configuration has a webhook "a.example" (there are none)']),
        (f"policies: [webhooks.yaml]\nwebhooks: {{change.exampl.com: allow}}\ncases: [{{name: a, {ONE}}}]",
         ['2:12: webhooks.change.exampl.com: no configuration has a webhook "change.exampl.com" (did you mean "change.example.com"?)']),
        (f"policies: [webhooks.yaml]\nwebhooks: {{change.example.com: {{allow: true, deny: true}}}}\ncases: [{{name: a, {ONE}}}]",
         ["2:12: webhooks.change.example.com: must do one thing, does allow and deny"]),
        (f"policies: [settings.yaml]\ncases: [{{name: a, {ONE}}}]",
         ["1:1: policies: holds no policy, binding or webhook configuration (other objects are fixtures)"]),
        (f"fixtures: [nothing/*.yaml]\ncases: [{{name: a, {ONE}}}]",
         ['1:12: fixtures[0]: "nothing/*.yaml" names no file (looked for suites/nothing/*.yaml)']),
        (f"cases:\n- {{name: a, patch: [{{op: remove, path: /none}}], {ONE}}}",
         ['2:13: cases[0].patch: cannot be applied: error in remove for path: \'/none\': Unable to remove nonexistent key: none: missing value']),
        (f"policies: [webhooks.yaml]\nwebhooks: {{change.example.com: {{allow: false}}}}\ncases: [{{name: a, {ONE}}}]",
         ["2:33: webhooks.change.example.com.allow: must be true (write deny for a webhook that does not allow)"]),
        (f"policies: [webhooks.yaml]\nwebhooks: {{change.example.com: {{timeout: 5}}}}\ncases: [{{name: a, {ONE}}}]",
         ["2:33: webhooks.change.example.com.timeout: must be true"]),
        (f"policies: [webhooks.yaml]\nwebhooks: {{change.example.com: {{fail: 5}}}}\ncases: [{{name: a, {ONE}}}]",
         ["2:33: webhooks.change.example.com.fail: must be a text, is a number"]),
        ('cases:\n- {name: a, object: "no\\nne\\e.yaml", expect: admitted}',
         ["2:22: cases[0].object: suites/no\\nne\\u001b.yaml: No such file or directory"]),
        (f"cases:\n- {{name: a, name: b, {ONE}}}", ['2:1: key "name" already set in map']),
        ("cases: [", ["1:9: yaml: line 1: did not find expected node content"]),
        (f"cases: [{{name: a, {ONE}}}]\n---\n{{}}", ["1:1: holds 2 documents: a suite is one"]),
        (f"cases:\n- {{name: a, object: {OBJECT}, expect: {{golden: g}}}}\n- {{name: b, object: {OBJECT}, expect: {{golden: g}}}}",
         ["3:94: cases[1].expect.golden: another case has the golden file \"suites/g\" (write {case} in the path for the case's name)"]),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place_and_a_hint(text: str, told: list[str]) -> None:
    assert problems(text) == told


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file() -> None:
    found = problems("casess: 1\nfixtures: 1\ncases: [{nam: a}]")
    assert [line.split(": ")[0] for line in found] == ["1:1", "2:1", "3:9", "3:9", "3:10"]


def test_a_golden_path_may_name_the_case() -> None:
    suite = suites.read(f"cases: [{{name: 'two words', object: {OBJECT}, expect: {{golden: 'golden/{{case}}.yaml'}}}}]")
    assert suite.cases[0].golden is not None
    assert suite.cases[0].golden.path == "suites/golden/two-words.yaml"


KEYS = [
    *reading.SUITE,
    *reading.CASE,
    *expecting.KEYS,
    "contains",
    "matches",
    "change.example.com",
    "deny",
    "metadata",
]
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-1, 500)
    | st.sampled_from(["", "a", "mutating.yaml", "settings.yaml#2", "denied", "UPDATE", "("])
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=25,
)
SUITES = st.fixed_dictionaries(
    {"cases": st.lists(st.fixed_dictionaries({"name": LEAVES, "object": ANYTHING, "expect": ANYTHING}), max_size=2) | ANYTHING},
    optional=dict.fromkeys(("policies", "fixtures", "namespaces", "webhooks", "defaults"), ANYTHING),
)


def read_or_problems(value: object) -> Suite | tuple[Problem, ...]:
    try:
        return suites.read(json.dumps(value))
    except BadSuite as bad:
        return bad.problems


@given(SUITES | ANYTHING)
def test_whatever_stands_in_a_file_is_a_suite_or_a_list_of_problems(value: object) -> None:
    found = read_or_problems(value)
    if isinstance(found, Suite):
        assert found.cases
    else:
        assert found
        assert all(p.line >= 1 and p.column >= 1 and p.message for p in found)


@given(st.binary(max_size=60))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    with pytest.raises(BadSuite):
        reading.read(File(suites.PATH, data), suites.Texts({}))
