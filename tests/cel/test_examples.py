"""Every example in a function's record is true, and every function has one."""

import pytest

from kadmit.cel import environment, jsonform
from kadmit.cel.declarations import Example, Function
from kadmit.cel.library.authorizer import Attributes, AuthorizerValue, Decision, User, request_resource
from kadmit.cel.source import CompileError
from kadmit.cel.values import CelError, Value

FUNCTIONS = environment.mutation().catalogue.functions
OPERATORS = {name for name in FUNCTIONS if name.startswith(("_", "@", "!", "-", "cel.@"))}
EXAMPLES = [(name, example) for name, f in FUNCTIONS.items() for example in f.examples]


class NobodyMay:
    def check(self, attributes: Attributes) -> Decision:
        return Decision(is_allowed=False)


def _answer(text: str) -> tuple[object, str | None]:
    try:
        program = environment.mutation().compile(text)
    except CompileError as e:
        return None, str(e)
    authorizer = AuthorizerValue(User("alice"), NobodyMay())
    resource = request_resource(User("alice"), NobodyMay(), group="", resource="pods")
    bindings: dict[str, Value] = {
        "object": {},
        "oldObject": None,
        "authorizer": authorizer,
        "authorizer.requestResource": resource,
    }
    value = program.evaluate(bindings).value
    return (None, value.message) if isinstance(value, CelError) else (jsonform.to_json(value), None)


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[f"{n}: {e.expr}"[:80] for n, e in EXAMPLES])
def test_an_example_gives_what_it_says(name: str, example: Example) -> None:
    assert _answer(example.expr) == (example.value, example.error)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda f: f.name)
def test_a_function_says_what_it_does_and_shows_it(function: Function) -> None:
    if function.name not in OPERATORS:
        assert function.doc
        assert function.examples
