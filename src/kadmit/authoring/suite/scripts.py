"""Scripts of webhooks, as suites write them."""

from kadmit.authoring.suite.model import ALLOW, DENY, FAIL, RESPONSE, TIMEOUT, Reply, Scripts
from kadmit.authoring.suite.nodes import Node, nearest

_DOES = (ALLOW, DENY, "patch", FAIL, TIMEOUT, RESPONSE)
_BESIDES = ("warnings", "auditAnnotations")


def read(node: Node, webhooks: set[str]) -> Scripts:
    """By the name of the webhook, which must be one of those that are there; a single reply need not be a list."""
    made: dict[str, tuple[Reply, ...]] = {}
    for name, replies in node.members():
        if name not in webhooks:
            there = (
                f"there {'are' if len(webhooks) > 1 else 'is'} {', '.join(sorted(webhooks))}" if webhooks else "there are none"
            )
            replies.complain(f'no configuration has a webhook "{name}"', nearest(name, webhooks) or there)
        listed = replies.elements() if isinstance(replies.value, list) else [replies]
        if not listed:
            replies.complain("must have at least one reply")
        made[name] = tuple(map(_reply, listed))
    return made


def _reply(node: Node) -> Reply:
    if isinstance(node.value, str):
        return Reply(node.one_of((ALLOW, DENY, FAIL, TIMEOUT)) or ALLOW)
    if not node.known((*_DOES, *_BESIDES), wanted="allow, deny, fail, timeout, or an object that says more"):
        return Reply()
    does = [key for key in _DOES if node.has(key)]
    if len(does) > 1 and set(does) != {ALLOW, "patch"}:
        node.complain(f"must do one thing, does {' and '.join(does)}")
    for key in (ALLOW, TIMEOUT):
        if node.has(key) and not _is_said(node.at(key)):
            node.at(key).complain("must be true", "write deny for a webhook that does not allow" if key == ALLOW else "")
    return _done(node, next((d for d in does if d != ALLOW), ALLOW))


def _done(node: Node, does: str) -> Reply:
    warnings: tuple[str, ...] = node.get("warnings", Node.texts, ())
    annotations = {key: value.text() for key, value in node.at("auditAnnotations").members()} if node.has(_BESIDES[1]) else {}
    value = node.at(does)
    if does == DENY:
        return _denial(value, warnings, annotations)
    if does == "patch":
        operations = [e.object(wanted="a JSON Patch operation") for e in value.elements(wanted="a list of JSON Patch operations")]
        return Reply(ALLOW, patch=tuple(operations), warnings=warnings, annotations=annotations)
    if does == RESPONSE:
        return Reply(RESPONSE, response=value.object(wanted="an AdmissionResponse"))
    if does in (FAIL, TIMEOUT):
        if warnings or annotations:
            node.complain(f"a call that ends in {does} says nothing else")
        return Reply(does, message=value.text() if does == FAIL and not _is_said(value) else "")
    return Reply(ALLOW, warnings=warnings, annotations=annotations)


def _is_said(node: Node) -> bool:
    """Whether nothing is told but that it is so, which nobody can deny: what should be `false` has another word."""
    return node.value is None or node.value is True


def _denial(node: Node, warnings: tuple[str, ...], annotations: dict[str, str]) -> Reply:
    if isinstance(node.value, str):
        return Reply(DENY, node.value, warnings=warnings, annotations=annotations)
    if node.value is True or not node.known(("code", "reason", "message")):
        return Reply(DENY, warnings=warnings, annotations=annotations)
    return Reply(
        DENY,
        node.get("message", Node.text, ""),
        node.get("code", Node.number, 0),
        node.get("reason", Node.text, ""),
        warnings=warnings,
        annotations=annotations,
    )
