"""The names that Go's \\p{…} knows, and how RE2 spells the same characters.

Go compares names without regard to case, spaces, underscores and hyphens, knows long names of categories, and counts
unassigned characters as category C. RE2 knows short names only, spelled exactly, and has no class for unassigned
characters. NB: Go's table of scripts is keyed with underscores while its names are stripped of them, so scripts of two
words (Old_Italic) do not exist there.
"""

import sys
import unicodedata
from collections.abc import Callable
from functools import cache
from itertools import groupby

_SCRIPTS = frozenset(
    """
    Adlam Ahom Arabic Armenian Avestan Balinese Bamum Batak Bengali Bhaiksuki Bopomofo Brahmi Braille Buginese Buhid
    Carian Chakma Cham Cherokee Chorasmian Common Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari Dogra Duployan
    Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gurmukhi Han Hangul Hanunoo Hatran Hebrew
    Hiragana Inherited Javanese Kaithi Kannada Katakana Kawi Kharoshthi Khmer Khojki Khudawadi Lao Latin Lepcha Limbu Lisu
    Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen Medefaidrin Miao Modi Mongolian Mro Multani
    Myanmar Nabataean Nandinagari Newa Nko Nushu Ogham Oriya Osage Osmanya Palmyrene Phoenician Rejang Runic Samaritan
    Saurashtra Sharada Shavian Siddham Sinhala Sogdian Soyombo Sundanese Syriac Tagalog Tagbanwa Takri Tamil Tangsa Tangut
    Telugu Thaana Thai Tibetan Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Yezidi Yi
    """.split()  # noqa: SIM905  # a hundred names read better as text
)
_CATEGORIES = frozenset(
    "Any C Cc Cf Cn Co Cs L LC Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs".split()  # noqa: SIM905  # as above
)
_ALIASES = dict(
    pair.split("=")
    for pair in """
    Casedletter=LC Closepunctuation=Pe Combiningmark=M Connectorpunctuation=Pc Control=Cc Currencysymbol=Sc
    Dashpunctuation=Pd Decimalnumber=Nd Enclosingmark=Me Finalpunctuation=Pf Format=Cf Initialpunctuation=Pi Letter=L
    Letternumber=Nl Lineseparator=Zl Lowercaseletter=Ll Mark=M Mathsymbol=Sm Modifierletter=Lm Modifiersymbol=Sk
    Nonspacingmark=Mn Number=N Openpunctuation=Ps Other=C Otherletter=Lo Othernumber=No Otherpunctuation=Po Othersymbol=So
    Paragraphseparator=Zp Privateuse=Co Punctuation=P Separator=Z Spaceseparator=Zs Spacingmark=Mc Surrogate=Cs Symbol=S
    Titlecaseletter=Lt Unassigned=Cn Uppercaseletter=Lu Cntrl=Cc Digit=Nd Punct=P
    """.split()  # noqa: SIM905  # as above
)
_SPECIAL = {"Lc": "LC", "Ascii": "ASCII", "Assigned": "Assigned"}
_MISSING = {"C", "Cn", "LC", "ASCII", "Assigned"}  # what RE2 does not know, or means differently
_ASSIGNED_BUT_C = r"\pL\pM\pN\pP\pS\pZ"
_ASSIGNED = _ASSIGNED_BUT_C + r"\p{Cc}\p{Cf}\p{Co}\p{Cs}"
# (name, negated) -> characters that RE2 can name by a union, usable inside brackets
_UNIONS = {
    ("LC", False): r"\p{Lu}\p{Ll}\p{Lt}",
    ("ASCII", False): r"\x{0}-\x{7f}",
    ("ASCII", True): r"\x{80}-\x{10ffff}",
    ("Assigned", False): _ASSIGNED,
    ("Cn", True): _ASSIGNED,
    ("C", True): _ASSIGNED_BUT_C,
}


_COMPLEMENTS: dict[str, Callable[[str], bool]] = {  # what has no union, by category of the character
    "LC": lambda category: category not in ("Lu", "Ll", "Lt"),
    "Assigned": lambda category: category == "Cn",
    "Cn": lambda category: category == "Cn",
    "C": lambda category: category[0] == "C",
}


def resolve(name: str) -> str | None:
    """The class that Go takes a name for, or None."""
    bare = name.replace("_", "").replace("-", "").replace(" ", "")
    canonical = bare[:1].upper() + bare[1:].lower()
    if not name.isascii():
        return None
    if canonical in _SPECIAL:
        return _SPECIAL[canonical]
    if canonical in _CATEGORIES or canonical in _SCRIPTS:
        return canonical
    return _ALIASES.get(canonical)


def standing_alone(name: str, *, negated: bool) -> str:
    """The class as RE2 takes it outside brackets."""
    if name not in _MISSING:
        return within_brackets(name, negated=negated)
    union = _UNIONS.get((name, negated))
    return f"[{union}]" if union is not None else f"[^{_UNIONS[name, not negated]}]"


def within_brackets(name: str, *, negated: bool) -> str:
    """The class as RE2 takes it as a part of a bracket expression."""
    if name not in _MISSING:
        return f"\\{'P' if negated else 'p'}{{{name}}}"
    union = _UNIONS.get((name, negated))
    return union if union is not None else _enumerated(name)


@cache
def _enumerated(name: str) -> str:
    """A complement, range by range: brackets do not nest, so it cannot be written as [^…] there."""
    belongs = _COMPLEMENTS[name]
    runs = groupby(range(sys.maxunicode + 1), lambda code: belongs(unicodedata.category(chr(code))))
    spans = [list(run) for inside, run in runs if inside]
    return "".join(f"\\x{{{span[0]:x}}}-\\x{{{span[-1]:x}}}" for span in spans)
