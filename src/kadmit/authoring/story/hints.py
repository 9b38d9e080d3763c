"""What may help against errors that people meet often, by the server's own text of them."""

import re

_HINTS = (
    (
        re.compile(r"may not mutate atomic arrays, maps or structs: (\S+)"),
        "{0} is atomic: an apply configuration may not set it, not even in an element that is new; use patchType JSONPatch",
    ),
    (
        re.compile(r'add operation does not apply: doc is missing path: "(/.*)/[^/"]*"'),
        "there is no {0}: add it first where it is missing, or use patchType ApplyConfiguration; in a key, / is written ~1",
    ),
    (
        re.compile(r"resulted in error: no such key: (\S+)"),
        "{0} is absent here: ask has(…) before, or read it as .?{0} with orValue(…)",
    ),
    (
        re.compile(r"resulted in error: index out of bounds: (\S+)"),
        "the list has no element {0}: ask its size() before, or read it as [?{0}] with orValue(…)",
    ),
    (
        re.compile(r"no params found for policy binding with `Deny` parameterNotFoundAction()"),
        "the binding's paramRef names an object that is not there; NB: without a namespace it is looked for where the request is",
    ),
)


def hint(message: str) -> str:
    """The hint for a message, or nothing."""
    for pattern, text in _HINTS:
        found = pattern.search(message)
        if found is not None:
            return text.format(found[1])
    return ""
