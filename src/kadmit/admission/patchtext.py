"""A webhook's patch as the audit log shows it: the webhook's own text, put in order.

Members of an operation are sorted and written once, but their values stay as the webhook wrote them: 1.50 keeps its zero and an
escape stays an escape. Only space between tokens goes, and what browsers could misread is escaped. So the text is cut up and
put together again, never decoded.
"""

import re
from collections.abc import Iterator, Sequence

from kadmit.api.gojson import marshal
from kadmit.patch import gojson

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_ESCAPED = str.maketrans(_ESCAPES)


def patch_text(patch: bytes) -> str:
    """The text of a patch that decodes: an array of operations."""
    operations = _parts(_TOKEN.findall(patch.decode("utf-8", "replace")))
    return f"[{','.join(_operation(tokens) for tokens in operations)}]"


def _operation(tokens: Sequence[str]) -> str:
    if tokens[0] != "{":
        return "".join(tokens)  # null
    members = {_name(part[0]): "".join(part[2:]).translate(_ESCAPED) for part in _parts(tokens)}
    return "{" + ",".join(f"{marshal(name)}:{members[name]}" for name in sorted(members)) + "}"


def _name(token: str) -> str:
    return str(gojson.loads(token.encode()))


def _parts(tokens: Sequence[str]) -> Iterator[Sequence[str]]:
    """What stands between the brackets around these tokens, cut at the commas of that level."""
    depth, start = 0, 1
    for i, token in enumerate(tokens):
        if depth == 1 and token in (",", "]", "}") and i > start:
            yield tokens[start:i]
            start = i + 1
        depth += (token in ("[", "{")) - (token in ("]", "}"))
