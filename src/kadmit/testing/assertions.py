"""Assertions about results. A failure says what differs, field by field, and then tells the story of the request.

An expected object is a part of what is found, as in suites of `kadmit test`: null is a field that must not be there, and elements
of a list with keys (containers by name) are found by these keys.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from kadmit.testing.result import Json, Result


def assert_admitted(
    result: Result,
    *,
    object: Mapping[str, Any] | None = None,  # noqa: A002  # Kubernetes' own word
    warnings: Sequence[str] | str | None = None,
    annotations: Mapping[str, str] | None = None,
) -> None:
    """The request was admitted; `object` is a part of what came of it, `warnings` are all, `annotations` are some."""
    __tracebackhide__ = True
    if not result.allowed:
        _fail(result, f"denied ({result.code} {result.reason}): {result.message}")
    _check_object(result, object)
    _check_warnings(result, warnings)
    _check_part(result, "audit annotations", annotations, result.annotations)


def assert_denied(
    result: Result,
    *,
    message: str | re.Pattern[str] | None = None,
    code: int | None = None,
    reason: str | None = None,
    warnings: Sequence[str] | str | None = None,
) -> None:
    """The request was refused; `message` is a part of the text, or a pattern that is found in it."""
    __tracebackhide__ = True
    if result.allowed:
        _fail(result, "admitted, and should have been denied")
    if message is not None and not _says(result.message, message):
        wanted = message.pattern if isinstance(message, re.Pattern) else message
        _fail(result, f"denied with another message:\n  expected: {wanted}\n       got: {result.message}")
    if code is not None and result.code != code:
        _fail(result, f"denied with code {result.code}, expected {code}: {result.message}")
    if reason is not None and result.reason != reason:
        _fail(result, f"denied with reason {result.reason!r}, expected {reason!r}: {result.message}")
    _check_warnings(result, warnings)


def assert_patched(
    result: Result,
    *,
    object: Mapping[str, Any] | None = None,  # noqa: A002
    patch: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """Admission changed the object; `object` is a part of what came of it, `patch` is exactly what was changed."""
    __tracebackhide__ = True
    if not result.allowed:
        _fail(result, f"denied ({result.code} {result.reason}): {result.message}")
    if result.before is None:
        _fail(result, "there is nothing to compare with: only an in-process cluster knows the object without admission")
    if not result.changed:
        _fail(result, "admitted as it was sent, and should have been changed")
    _check_object(result, object)
    if patch is not None and [dict(operation) for operation in patch] != result.patch:
        _fail(result, f"changed otherwise:\n  expected: {_listed(patch)}\n       got: {_listed(result.patch)}")


def assert_unchanged(result: Result) -> None:
    """The request was admitted, and the object is as it would be without admission."""
    __tracebackhide__ = True
    if not result.allowed:
        _fail(result, f"denied ({result.code} {result.reason}): {result.message}")
    if result.changed:
        _fail(result, f"changed, and should not have been: {_listed(result.patch)}")


# ---------------------------------------------------------------- parts


def _check_object(result: Result, wanted: Mapping[str, Any] | None) -> None:
    __tracebackhide__ = True
    if wanted is not None and result.object is None:
        _fail(result, "there is no object in the answer")
    _check_part(result, "object", wanted, result.object or {}, result.shape)


def _check_part(result: Result, what: str, wanted: Mapping[str, Any] | None, found: Mapping[str, Any], shape: Any = None) -> None:
    __tracebackhide__ = True
    if wanted is None:
        return
    from kadmit.authoring.suite import partial

    differences = list(partial.mismatches(dict(wanted), dict(found), shape))
    if differences:
        _fail(result, "\n".join([f"another {what} than expected:", *(f"  {d}" for d in differences)]))


def _check_warnings(result: Result, wanted: Sequence[str] | str | None) -> None:
    __tracebackhide__ = True
    expected = [wanted] if isinstance(wanted, str) else wanted
    if expected is not None and list(expected) != list(result.warnings):
        _fail(result, f"other warnings than expected:\n  expected: {list(expected)}\n       got: {list(result.warnings)}")


def _says(text: str, wanted: str | re.Pattern[str]) -> bool:
    return wanted.search(text) is not None if isinstance(wanted, re.Pattern) else wanted in text


def _listed(patch: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(_operation(dict(operation)) for operation in patch) or "nothing"


def _operation(operation: Json) -> str:
    value = f" {operation['value']!r}" if "value" in operation else ""
    return f"{operation.get('op')} {operation.get('path')}{value}"


def _fail(result: Result, problem: str) -> NoReturn:
    __tracebackhide__ = True
    raise AssertionError(f"{result.title}: {problem}\n\n{result.story}")
