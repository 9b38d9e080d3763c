"""Expectations, as suites write them."""

from collections.abc import Callable

from kadmit.authoring.manifests import Json
from kadmit.authoring.suite.expectation import Annotations, Call, Denial, Expected, Texts
from kadmit.authoring.suite.nodes import Node
from kadmit.authoring.suite.texts import Text, pattern_error

KEYS = (
    "admitted",
    "denied",
    "object",
    "partial",
    "patch",
    "unchanged",
    "warnings",
    "auditAnnotations",
    "webhooks",
    "golden",
)
_OF_ADMITTED = ("object", "partial", "patch", "unchanged")
_TEXT = ("contains", "matches")

ReadObject = Callable[[Node], Json | None]


def read(node: Node, read_object: ReadObject) -> Expected:
    """`admitted`, `denied`, or an object that says more. Objects may stand in files, which is why the caller reads them."""
    if isinstance(node.value, str):
        return Expected(denied=Denial() if node.one_of(("admitted", "denied")) == "denied" else None)
    if not node.known(KEYS, wanted="admitted, denied, or an object that says more"):
        return Expected()
    if not node.value:
        node.complain("expects nothing")
    _check_sense(node)
    return Expected(
        denied=node.get("denied", _denied, None),
        object=node.get("object", read_object, None),
        partial=node.get("partial", read_object, None),
        patch=node.get("patch", _patch, None),
        unchanged=node.get("unchanged", Node.flag, False),
        warnings=node.get("warnings", _warnings, None),
        annotations=node.get("auditAnnotations", _annotations, None),
        called=node.get("webhooks", _called, None),
    )


def _check_sense(node: Node) -> None:
    if node.has("admitted") and not node.at("admitted").flag():
        node.at("admitted").complain("must be true", "write denied: true for a request that is refused")
    if not node.has("denied"):
        return
    beside = [key for key in ("admitted", *_OF_ADMITTED) if node.has(key)]
    if beside:
        node.at(beside[0]).complain("what is denied leaves no object" if beside[0] != "admitted" else "cannot be denied, too")


def _denied(node: Node) -> Denial:
    if node.value is True:
        return Denial()
    if node.value is False:
        node.complain("must be true, or say more", "write admitted: true for a request that is admitted")
        return Denial()
    if not node.known(("code", "reason", "message", "by"), wanted="true, or an object that says more"):
        return Denial()
    return Denial(
        node.get("code", Node.number, 0),
        node.get("reason", Node.text, ""),
        node.get("message", text, None),
        node.get("by", Node.text, ""),
    )


def text(node: Node) -> Text:
    """A text as it is, or what it contains or matches."""
    if isinstance(node.value, str):
        return Text(node.value)
    if not node.known(_TEXT, wanted="a text, or an object with contains or matches"):
        return Text()
    contains = node.at("contains")
    parts = contains.texts() if isinstance(contains.value, list) else (node.get("contains", Node.text, ""),)
    pattern = node.get("matches", Node.text, "")
    fault = pattern_error(pattern) if pattern else ""
    if fault:
        node.at("matches").complain_at_value(fault)
    return Text(None, tuple(p for p in parts if p), pattern)


def _patch(node: Node) -> list[Json]:
    return [element.object(wanted="a JSON Patch operation") for element in node.elements(wanted="a list of operations")]


def _warnings(node: Node) -> Texts:
    if isinstance(node.value, list):
        return Texts(tuple(map(text, node.elements())))
    if not node.known(("contains",), wanted="a list, or an object with contains"):
        return Texts()
    inside = node.at("contains")
    listed = inside.elements() if isinstance(inside.value, list) else [inside]
    return Texts(tuple(map(_part, listed)), all=False)


def _part(node: Node) -> Text:
    """In a `contains`, a bare text may be a part of the warning."""
    return Text(None, (node.value,)) if isinstance(node.value, str) else text(node)


def _annotations(node: Node) -> Annotations:
    if node.has("contains") and len(node.value) == 1:
        return Annotations({key: text(value) for key, value in node.at("contains").members()}, all=False)
    return Annotations({key: text(value) for key, value in node.members()})


def _called(node: Node) -> tuple[Call, ...]:
    return tuple(map(_call, node.elements(wanted="a list of webhooks")))


def _call(node: Node) -> Call:
    if isinstance(node.value, str):
        return Call(node.value)
    if not node.known(("name", "sent")):
        return Call("")
    return Call(node.at("name").text(), node.get("sent", Node.object, None))
