"""authorizer: what is asked for, step by step, and what becomes of the answer."""

from dataclasses import dataclass, field

import pytest

from kadmit.cel.library import authorizer as library
from kadmit.cel.library import selectors
from kadmit.cel.library.authorizer import (
    Attributes,
    AuthorizerValue,
    Decision,
    PathCheck,
    ResourceCheck,
    User,
    request_resource,
)
from kadmit.cel.library.selectors import FieldRequirement, LabelRequirement
from kadmit.cel.values import CelError, Value

NO_INTEGER = "for 'Gt', 'Lt' operators, the value must be an integer"
ALICE = User("alice", "1", ("developers",))


@dataclass
class Recorder:
    """Answers as told, and remembers what it was asked."""

    answer: Decision = field(default_factory=lambda: Decision(is_allowed=True, reason="because"))
    asked: list[Attributes] = field(default_factory=list)

    def check(self, attributes: Attributes) -> Decision:
        self.asked.append(attributes)
        return self.answer


def message(value: Value) -> str:
    assert isinstance(value, CelError)
    return value.message


def pods(recorder: Recorder) -> ResourceCheck:
    check: Value = library.resource(library.group(AuthorizerValue(ALICE, recorder), ""), "pods")
    assert isinstance(check, ResourceCheck)
    return check


def test_a_path_is_asked_about() -> None:
    recorder = Recorder()
    check = library.path(AuthorizerValue(ALICE, recorder), "/healthz")
    assert isinstance(check, PathCheck)
    decision = library.check_path(check, "get")
    assert recorder.asked == [Attributes(ALICE, "get", path="/healthz")]
    assert library.allowed(decision) is True
    assert library.reason(decision) == "because"


def test_a_resource_is_asked_about_in_any_version() -> None:
    recorder = Recorder()
    check = library.name(library.namespace(library.subresource(pods(recorder), "exec"), "default"), "one")
    library.check_resource(check, "create")
    assert recorder.asked == [
        Attributes(
            ALICE,
            "create",
            resource_request=True,
            version="*",
            resource="pods",
            subresource="exec",
            namespace="default",
            name="one",
        )
    ]


def test_steps_do_not_change_the_check_they_start_from() -> None:
    recorder = Recorder()
    check = pods(recorder)
    library.namespace(check, "other")
    library.check_resource(check, "get")
    assert recorder.asked[0].namespace == ""


def test_the_requests_own_resource_can_be_asked_about() -> None:
    recorder = Recorder()
    check = request_resource(ALICE, recorder, group="apps", resource="deployments", namespace="default", name="web")
    library.check_resource(check, "delete")
    asked = recorder.asked[0]
    assert (asked.group, asked.version, asked.resource, asked.namespace, asked.name, asked.verb) == (
        "apps",
        "*",
        "deployments",
        "default",
        "web",
        "delete",
    )


def test_a_service_account_asks_with_its_own_name_and_groups() -> None:
    recorder = Recorder()
    robot = library.as_service_account(AuthorizerValue(ALICE, recorder), "default", "robot")
    library.check_path(library.path(robot, "/"), "get")
    assert recorder.asked[0].user == User(
        "system:serviceaccount:default:robot", groups=("system:serviceaccounts", "system:serviceaccounts:default")
    )


def test_what_makes_no_sense_is_refused_before_anybody_is_asked() -> None:
    recorder = Recorder()
    start = AuthorizerValue(ALICE, recorder)
    assert message(library.path(start, " \t")) == "path must not be empty"
    assert message(library.resource(library.group(start, ""), "")) == "resource must not be empty"
    assert message(library.as_service_account(start, "Bad_Ns", "Bad_Name")) == "Invalid service account name"
    assert message(library.as_service_account(start, "a.b", "a.b")) == "Invalid service account namespace"
    assert recorder.asked == []


def test_selectors_travel_as_requirements() -> None:
    recorder = Recorder()
    check = library.label_selector(library.field_selector(pods(recorder), "spec.nodeName=n"), "app in (b,a),!old")
    library.check_resource(check, "list")
    asked = recorder.asked[0]
    assert asked.field_selector == (FieldRequirement("spec.nodeName", "=", "n"),)
    assert asked.label_selector == (LabelRequirement("app", "in", ("a", "b")), LabelRequirement("old", "!"))
    assert asked.field_selector_error == asked.label_selector_error == ""


def test_a_selector_that_cannot_be_read_is_left_out() -> None:
    recorder = Recorder()
    library.check_resource(library.label_selector(library.field_selector(pods(recorder), "x"), "(("), "list")
    asked = recorder.asked[0]
    assert asked.field_selector == ()
    assert asked.label_selector == ()
    assert asked.field_selector_error == "invalid selector: 'x'; can't understand 'x'"
    assert asked.label_selector_error == "found '(', expected: !, identifier, or 'end of string'"


def test_a_decision_tells_of_errors() -> None:
    fine, broken = Decision(is_allowed=False), Decision(is_allowed=False, error="no connection")
    assert (library.errored(fine), library.error(fine)) == (False, "")
    assert (library.errored(broken), library.error(broken)) == (True, "no connection")


def test_nothing_here_can_be_compared() -> None:
    recorder = Recorder()
    start = AuthorizerValue(ALICE, recorder)
    check = library.group(start, "apps")
    for value in (start, check, pods(recorder), library.path(start, "/"), recorder.answer):
        assert message(value.equals(value)) == "no such overload"


def test_two_checks_fit_into_an_expression_and_three_do_not() -> None:
    prices = {f.name: f.cost for f in library.FUNCTIONS}
    charge = prices["check"]
    assert charge is not None
    price = charge("pathcheck_check", (), None)
    assert price is not None
    assert 2 * price < 1_000_000 < 3 * price


@pytest.mark.parametrize(("selector", "cost"), [("", 10), ("a", 61), ("a=b", 111), ("x" * 11, 312)])
def test_a_selector_costs_its_text_and_the_requirements_it_could_hold(selector: str, cost: int) -> None:
    assert library.selector_cost("", (None, selector), None) == cost


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        ("", ()),
        (",,", ()),
        ("=", ()),  # neither field nor value
        ("b=2,a==1,c!=3", (("a", "=", "1"), ("b", "=", "2"), ("c", "!=", "3"))),
        ("a=x\\,y\\=z\\\\", (("a", "=", "x,y=z\\"),)),
        ("a=", (("a", "=", ""),)),
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        ("a=\\b", "invalid field selector: invalid escape sequence: \\b"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_field_selectors_are_read(text: str, requirements: tuple[tuple[str, str, str], ...] | str) -> None:
    expected = requirements if isinstance(requirements, str) else tuple(FieldRequirement(*r) for r in requirements)
    assert selectors.parse_fields(text) == expected


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        ("", ()),
        ("b, a", (("a", "exists"), ("b", "exists"))),
        ("!a", (("a", "!"),)),
        ("a=1,b==2,c!=3", (("a", "=", ("1",)), ("b", "==", ("2",)), ("c", "!=", ("3",)))),
        ("a>1,b<2", (("a", "gt", ("1",)), ("b", "lt", ("2",)))),
        ("in in (in,notin)", (("in", "in", ("in", "notin")),)),
        ("a in (,x,)", (("a", "in", ("", "x")),)),
        ("a notin ()", (("a", "notin", ("",)),)),
        ("a=", (("a", "=", ("",)),)),
        ("a,", "found '', expected: identifier after ','"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a=(", "unable to parse requirement: found '(', expected: identifier"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        (
            "a>x",
            f'unable to parse requirement: values[0]: Invalid value: "x": {NO_INTEGER}',
        ),
    ],
)
def test_label_selectors_are_read(text: str, requirements: tuple[tuple[str, str, tuple[str, ...]], ...] | str) -> None:
    expected = requirements if isinstance(requirements, str) else tuple(LabelRequirement(*r) for r in requirements)
    assert selectors.parse_labels(text) == expected


@pytest.mark.parametrize("text", ["-bad", "a/b/c=1", "a=-x", "a in (-x,-y)"])
def test_keys_and_values_of_labels_are_checked(text: str) -> None:
    problem = selectors.parse_labels(text)
    assert isinstance(problem, str)
    assert "Invalid value: " in problem
