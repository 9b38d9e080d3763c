"""What text becomes which token, and where unreadable text ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kadmit.cel import lexer as lex

TOKENS = {
    "a in b": [lex.IDENTIFIER, lex.IN, lex.IDENTIFIER],
    "int inn _in": [lex.IDENTIFIER, lex.IDENTIFIER, lex.IDENTIFIER],
    "true truex null": [lex.TRUE, lex.IDENTIFIER, lex.NULL],
    "<= < = =": None,
    "<=< ==>=> !=!": [lex.LESS_EQUALS, lex.LESS, lex.EQUALS, lex.GREATER_EQUALS, lex.GREATER, lex.NOT_EQUALS, lex.EXCLAM],
    "1 1u 0x1 0x1u 1.0 .5 1e5 1.5E-3": [lex.INT, lex.UINT, lex.INT, lex.UINT, lex.FLOAT, lex.FLOAT, lex.FLOAT, lex.FLOAT],
    "1.a": [lex.INT, lex.DOT, lex.IDENTIFIER],
    "a.5": [lex.IDENTIFIER, lex.FLOAT],
    "1.2.3": [lex.FLOAT, lex.FLOAT],
    "0xg": [lex.INT, lex.IDENTIFIER],
    "1e": [lex.INT, lex.IDENTIFIER],
    "1.e5": [lex.INT, lex.DOT, lex.IDENTIFIER],
    "00x1": [lex.INT, lex.IDENTIFIER],
    "'a' \"b\" '''c''' \"\"\"d\"\"\"": [lex.STRING] * 4,
    "r'\\' R\"\\\"": [lex.STRING] * 2,
    "b'a' B\"a\" br'\\' Br'''\\'''": [lex.BYTES] * 4,
    "rb'a'": [lex.IDENTIFIER, lex.STRING],
    "xb'a'": [lex.IDENTIFIER, lex.STRING],
    "'''a'b''c'''": [lex.STRING],
    "''''": [lex.STRING, lex.STRING],
    "'''a": None,
    "''''a''''": None,
    "'' 'a'": [lex.STRING, lex.STRING],
    "`a-b/c.d e`": [lex.ESC_IDENTIFIER],
    "a // b\nc": [lex.IDENTIFIER, lex.IDENTIFIER],
    "// a": [],
    " \t\r\n\f ": [],
    "\v": None,
    "é": None,
}


@pytest.mark.parametrize("text", TOKENS)
def test_text_becomes_tokens_or_cannot_be_read(text: str) -> None:
    tokens = lex.tokens(text)
    expected = TOKENS[text]
    assert (None if tokens is None else tokens.kinds) == (None if expected is None else [*expected, lex.EOF])


# What follows the unreadable text is read as if nothing had been before it.
UNREADABLE = {
    "#1": ["#"],
    "a = b": ["= "],
    "=": ["="],
    "1 & 2 | 3": ["& ", "| "],
    "&x": ["&x"],
    "'abc": ["'abc"],
    "'a\nb'": ["'a\n", "'"],
    "'\\q'": ["'\\q", "'"],
    "'\\x4g'": ["'\\x4g", "'"],
    "'\\u12 '": ["'\\u12 ", "'"],
    "'\\09'": ["'\\09", "'"],
    "'\\4'": ["'\\4", "'"],
    "'a\\": ["'a\\"],
    "'''a\\q'''": ["'a\\q", "'"],
    "b'a": ["'a"],
    "`a": ["`a"],
    "``": ["``"],
    "`a!b`": ["`a!", "`"],
    "é😀": ["é", "😀"],
}


@pytest.mark.parametrize("text", UNREADABLE)
def test_unreadable_text_ends_with_the_character_that_ended_all_hope(text: str) -> None:
    assert [stretch.text for stretch in lex.stretches(text) if stretch.kind == lex.UNREADABLE] == UNREADABLE[text]


@given(st.text(alphabet="ab1.x'\"`()=&|\\ n\n\r/ue"))
def test_stretches_make_up_the_whole_text(text: str) -> None:
    stretches = list(lex.stretches(text))
    assert "".join(s.space + ("" if s.kind == lex.EOF else s.text) for s in stretches) == text


@given(st.text(alphabet="ab1.x'\"`()=&|\\ n\n\r/ue"))
def test_both_ways_of_reading_agree(text: str) -> None:
    stretches = list(lex.stretches(text))
    tokens = lex.tokens(text)
    if tokens is None:
        assert any(s.kind == lex.UNREADABLE for s in stretches)
    else:
        assert [(s.kind, s.start, s.text) for s in stretches] == list(zip(tokens.kinds, tokens.starts, tokens.texts, strict=True))
