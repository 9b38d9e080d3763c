"""Text to tokens: the longest match wins, white space and comments vanish.

Token kinds carry the numbers of CEL's published grammar, so that messages can list kinds in the grammar's order.
Valid text takes the fast way, `tokens`. Where a character begins no token, or a token breaks off, `tokens` gives
None; `stretches` then tells the rest: which text could not be read, up to and including the character that ended it.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

EOF = 0
EQUALS, NOT_EQUALS, IN, LESS, LESS_EQUALS, GREATER_EQUALS, GREATER = 1, 2, 3, 4, 5, 6, 7
AND, OR = 8, 9
LBRACKET, RBRACKET, LBRACE, RBRACE, LPAREN, RPAREN = 10, 11, 12, 13, 14, 15
DOT, COMMA, MINUS, EXCLAM, QUESTION, COLON, PLUS, STAR, SLASH, PERCENT = 16, 17, 18, 19, 20, 21, 22, 23, 24, 25
TRUE, FALSE, NULL = 26, 27, 28
FLOAT, INT, UINT, STRING, BYTES, IDENTIFIER, ESC_IDENTIFIER = 31, 32, 33, 34, 35, 36, 37
UNREADABLE = 99  # no token: text that could not be read

_LITERAL_NAMES = [
    "==",
    "!=",
    "in",
    "<",
    "<=",
    ">=",
    ">",
    "&&",
    "||",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    ".",
    ",",
    "-",
    "!",
    "?",
    ":",
    "+",
    "*",
    "/",
    "%",
    "true",
    "false",
    "null",
]
_KINDS = {text: kind for kind, text in enumerate(_LITERAL_NAMES, 1)}

# What messages call each kind.
NAMES: dict[int, str] = {
    EOF: "<EOF>",
    **{kind: f"'{text}'" for text, kind in _KINDS.items()},
    FLOAT: "NUM_FLOAT",
    INT: "NUM_INT",
    UINT: "NUM_UINT",
    STRING: "STRING",
    BYTES: "BYTES",
    IDENTIFIER: "IDENTIFIER",
    ESC_IDENTIFIER: "ESC_IDENTIFIER",
}

_HIDDEN = r"(?>[\t\n\f\r ]+|//[^\n]*)*+"
_ESCAPE = r"""\\(?:[abfnrtv"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"""
_STRING = "|".join(
    [
        rf'"""(?>[^\\]|{_ESCAPE})*?"""',
        rf"'''(?>[^\\]|{_ESCAPE})*?'''",
        rf'"(?>[^\\"\n\r]+|{_ESCAPE})*+"',
        rf"'(?>[^\\'\n\r]+|{_ESCAPE})*+'",
        r'[rR]"""[\s\S]*?"""',
        r"[rR]'''[\s\S]*?'''",
        r'[rR]"[^"\n\r]*+"',
        r"[rR]'[^'\n\r]*+'",
    ]
)
_EXPONENT = r"[eE][+-]?[0-9]++"
# A name right before a quote may be a string's prefix, so strings are asked before it is taken for a name.
_TOKEN = re.compile(
    rf"""{_HIDDEN}(?:
      ([A-Za-z_][A-Za-z0-9_]*+)(?!["'])
    | (\.(?![0-9]) | [=!<>]= | && | \|\| | [\[\](){{}},:?+*%/!<>-])
    | ({_STRING})
    | ([0-9]++\.[0-9]++(?:{_EXPONENT})? | [0-9]++{_EXPONENT} | \.[0-9]++(?:{_EXPONENT})?)
    | (0x[0-9a-fA-F]++[uU] | [0-9]++[uU])
    | (0x[0-9a-fA-F]++ | [0-9]++)
    | ([bB](?:{_STRING}))
    | ([A-Za-z_][A-Za-z0-9_]*+)
    | (`[A-Za-z0-9_.\-/ ]++`)
    | \Z
    )""",
    re.VERBOSE,
)
_KIND_OF_GROUP = (EOF, IDENTIFIER, UNREADABLE, STRING, FLOAT, UINT, INT, BYTES, IDENTIFIER, ESC_IDENTIFIER)

_SPACE = re.compile(_HIDDEN)
# The longest beginning of a token that then breaks off; the character behind it is what ended it.
_PARTIAL_ESCAPE = r"(?:\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]?)?)?"
_BEGINNING = re.compile(
    rf""""(?>[^\\"\n\r]|{_ESCAPE})*+{_PARTIAL_ESCAPE}"""
    rf"""|'(?>[^\\'\n\r]|{_ESCAPE})*+{_PARTIAL_ESCAPE}"""
    r"|`[A-Za-z0-9_.\-/ ]*+|[=&|]|"
)


class Tokens(Struct, frozen=True):
    """Parallel lists, because a parser asks for kinds far more often than for texts; the last one is EOF."""

    kinds: list[int]
    starts: list[int]
    texts: list[str]


def tokens(text: str) -> Tokens | None:
    """All tokens, or None where some text cannot be read."""
    kinds: list[int] = []
    starts: list[int] = []
    texts: list[str] = []
    match = _TOKEN.match
    position = 0
    while m := match(text, position):
        group = m.lastindex
        if group is None:
            kinds.append(EOF)
            starts.append(m.end())
            texts.append("<EOF>")
            return Tokens(kinds, starts, texts)
        word = m[group]
        position = m.end()
        kinds.append(_KINDS.get(word) or _KIND_OF_GROUP[group])
        starts.append(position - len(word))
        texts.append(word)
    return None


class Stretch(Struct, frozen=True):
    """A token as it stands in the text, with the white space and comments before it; or text that cannot be read."""

    kind: int
    start: int
    text: str
    space: str = ""


def stretches(text: str) -> Iterator[Stretch]:
    """Tokens one by one, with unreadable text between them; the last one is EOF."""
    position = 0
    while True:
        start = _SPACE.match(text, position).end()  # type: ignore[union-attr]  # it matches the empty text, too
        stretch = _stretch_at(text, start, text[position:start])
        yield stretch
        if stretch.kind == EOF:
            return
        position = start + len(stretch.text)


def _stretch_at(text: str, start: int, space: str) -> Stretch:
    m = _TOKEN.match(text, start)
    if m is None:
        end = _BEGINNING.match(text, start).end() + 1  # type: ignore[union-attr]  # it matches the empty text, too
        return Stretch(UNREADABLE, start, text[start:end], space)
    if m.lastindex is None:
        return Stretch(EOF, start, "<EOF>", space)
    word = m[m.lastindex]
    return Stretch(_KINDS.get(word) or _KIND_OF_GROUP[m.lastindex], start, word, space)
