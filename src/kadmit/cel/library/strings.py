"""cel-go's string extension, as Kubernetes loads it: version 0 at first, version 2 (format, quote) from 1.29 on.

Positions count code points, as Python's own strings do. Cost follows the length of the input while a result may be much
longer (`replace('', big)`), so what would not fit into memory is refused before it is made.
"""

from collections.abc import Sequence
from math import ceil

from kadmit.cel import gotext, work
from kadmit.cel.declarations import Example, Function, function, member, plain
from kadmit.cel.library import formatting
from kadmit.cel.library.lists import TRAVERSAL, one_traversal, size_of
from kadmit.cel.library.traversal import reading, reading_twice
from kadmit.cel.types import INT, STRING, list_of
from kadmit.cel.values import CelError, Strings, Value

VERSION_2 = 29

_LIST_OF_STRING = list_of(STRING)
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_QUOTED = str.maketrans(
    {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v", "\\": r"\\", '"': r"\""}
)
_SMALL = 10_000  # a text that cannot grow longer is made without counting first
_FEW = 16  # so many texts are joined without counting first


def _out_of_range(position: int) -> CelError:
    return CelError(f"index out of range: {position}")


def _char_at(text: str, position: int) -> Value:
    return text[position : position + 1] if 0 <= position <= len(text) else _out_of_range(position)


def _index_of(text: str, part: str) -> Value:
    return text.find(part)


def _index_of_from(text: str, part: str, start: int) -> Value:
    if not part:
        return start  # NB: whatever it is
    return text.find(part, start) if start >= 0 else _out_of_range(start)


def _last_index_of(text: str, part: str) -> Value:
    return text.rfind(part)


def _last_index_of_until(text: str, part: str, last: int) -> Value:
    if not part:
        return last  # NB: whatever it is
    if last < 0:
        return _out_of_range(last)
    return text.rfind(part, 0, last + len(part)) if last < len(text) else -1


def _lower(text: str) -> Value:
    return text.lower() if text.isascii() else text.translate(_LOWER)


def _upper(text: str) -> Value:
    return text.upper() if text.isascii() else text.translate(_UPPER)


def _trim(text: str) -> Value:
    return gotext.trim_space(text)


def _replace(text: str, old: str, new: str) -> Value:
    return _replace_some(text, old, new, -1)


def _replace_some(text: str, old: str, new: str, limit: int) -> Value:
    if (len(text) + 1) * len(new) > _SMALL:
        length = _grown(text, old, new, limit)
        if length > formatting.MAX_LENGTH:
            return formatting.TOO_LONG
        work.spend_text(length)
    return text.replace(old, new, limit)


def _grown(text: str, old: str, new: str, limit: int) -> int:
    times = text.count(old)
    return len(text) + (times if limit < 0 else min(times, limit)) * (len(new) - len(old))


def _split(text: str, separator: str) -> Value:
    return Strings(text.split(separator) if separator else text)


def _split_some(text: str, separator: str, limit: int) -> Value:
    if limit < 0:
        return _split(text, separator)
    if limit == 0:
        return Strings()
    if separator:
        return Strings(text.split(separator, limit - 1))
    return Strings([*text[: limit - 1], text[limit - 1 :]] if limit < len(text) else text)


def _substring(text: str, start: int) -> Value:
    return text[start:] if 0 <= start <= len(text) else _out_of_range(start)


def _substring_range(text: str, start: int, end: int) -> Value:
    if start > end:
        return CelError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        return _out_of_range(start)
    return text[start:end] if end <= len(text) else _out_of_range(end)


def _join(parts: list[Value], separator: str = "") -> Value:
    try:
        if len(parts) > _FEW and sum(map(len, parts)) + len(separator) * len(parts) > formatting.MAX_LENGTH:
            return formatting.TOO_LONG
        return separator.join(parts)
    except TypeError:
        bad = next(part for part in parts if part.__class__ is not str)
        return CelError(f"join: invalid input: {gotext.display(bad)}")


def _quote(text: str) -> Value:
    return f'"{text.translate(_QUOTED)}"'


def _joining(_overload: str, _args: Sequence[Value], result: Value) -> int:
    """What comes out is read and built. A failure counts as one character."""
    return ceil(size_of(result) * 2 * TRAVERSAL)


FUNCTIONS: tuple[Function, ...] = (
    function(
        "charAt",
        member("string_char_at_int", STRING, (INT,), STRING, _char_at),
        doc="The character at a position, counted from 0; the empty string right after the last one.",
        examples=(
            Example("'hello'.charAt(4)", "o"),
            Example("'hello'.charAt(5)", ""),
            Example("'hello'.charAt(6)", error="index out of range: 6"),
        ),
    ),
    function(
        "indexOf",
        member("string_index_of_string", STRING, (STRING,), INT, _index_of),
        member("string_index_of_string_int", STRING, (STRING, INT), INT, _index_of_from),
        cost=one_traversal,
        doc="Where a text first occurs, from an optional position on; -1 if nowhere.",
        examples=(
            Example("'hello mellow'.indexOf('ello')", 1),
            Example("'hello mellow'.indexOf('ello', 2)", 7),
            Example("'hello mellow'.indexOf('jello')", -1),
        ),
    ),
    function(
        "lastIndexOf",
        member("string_last_index_of_string", STRING, (STRING,), INT, _last_index_of),
        member("string_last_index_of_string_int", STRING, (STRING, INT), INT, _last_index_of_until),
        cost=one_traversal,
        doc="Where a text last occurs, starting at an optional position at the latest; -1 if nowhere.",
        examples=(Example("'hello mellow'.lastIndexOf('ello')", 7), Example("'hello mellow'.lastIndexOf('ello', 6)", 1)),
    ),
    function(
        "lowerAscii",
        member("string_lower_ascii", STRING, (), STRING, _lower),
        cost=reading,
        doc="The text with A-Z in lower case; other letters stay.",
        examples=(Example("'TacoCÆt'.lowerAscii()", "tacocÆt"),),
    ),
    function(
        "upperAscii",
        member("string_upper_ascii", STRING, (), STRING, _upper),
        cost=reading,
        doc="The text with a-z in upper case; other letters stay.",
        examples=(Example("'tacocæt'.upperAscii()", "TACOCæT"),),
    ),
    function(
        "trim",
        member("string_trim", STRING, (), STRING, _trim),
        cost=reading,
        doc="The text without white space (Unicode's) at its ends.",
        examples=(Example(r"'  \ttrim\n '.trim()", "trim"),),
    ),
    function(
        "replace",
        member("string_replace_string_string", STRING, (STRING, STRING), STRING, _replace),
        member("string_replace_string_string_int", STRING, (STRING, STRING, INT), STRING, _replace_some),
        cost=reading_twice,
        doc="The text with another in place of a part, everywhere or so many times.",
        examples=(
            Example("'hello hello'.replace('he', 'we')", "wello wello"),
            Example("'hello hello'.replace('he', 'we', 1)", "wello hello"),
            Example("'ab'.replace('', '_')", "_a_b_"),
        ),
    ),
    function(
        "split",
        member("string_split_string", STRING, (STRING,), _LIST_OF_STRING, _split),
        member("string_split_string_int", STRING, (STRING, INT), _LIST_OF_STRING, _split_some),
        cost=reading_twice,
        doc="The pieces between separators, or so many of them; an empty separator splits into characters.",
        examples=(Example("'a b c'.split(' ')", ["a", "b", "c"]), Example("'a b c'.split(' ', 2)", ["a", "b c"])),
    ),
    function(
        "substring",
        member("string_substring_int", STRING, (INT,), STRING, _substring),
        member("string_substring_int_int", STRING, (INT, INT), STRING, _substring_range),
        cost=reading,
        doc="The text from one position up to, not including, another.",
        examples=(
            Example("'tacocat'.substring(4)", "cat"),
            Example("'tacocat'.substring(0, 4)", "taco"),
            Example("'tacocat'.substring(2, 1)", error="invalid substring range. start: 2, end: 1"),
        ),
    ),
    function(
        "join",
        member("list_join", _LIST_OF_STRING, (), STRING, _join),
        member("list_join_string", _LIST_OF_STRING, (STRING,), STRING, _join),
        cost=_joining,
        doc="The texts of a list one after another, with an optional separator between them.",
        examples=(Example("['hello', 'mellow'].join()", "hellomellow"), Example("['a', 'b'].join('-')", "a-b")),
    ),
    function(
        "strings.quote",
        plain("strings_quote", (STRING,), STRING, _quote, since=VERSION_2),
        doc="The text in double quotes, with control characters, quotes and backslashes escaped.",
        examples=(Example(r"""strings.quote('a "b"\n')""", '"a \\"b\\"\\n"'),),
    ),
    *formatting.FUNCTIONS,
)
