"""What Go's encoding/json says of a text that is not JSON.

A scanner without values: it follows the text with a stack of open brackets (never recursion) and stops at the first byte
that Go would not accept. NB: at the end of the text Go offers one blank to the state it is in, so `tru` complains of a
blank in a literal, while `[1` is merely at its end.
"""

import re

from kadmit.patch import gotext

_MAX_DEPTH = 10_000
_SPACES = re.compile(rb"[ \t\r\n]*")
_PLAIN = re.compile(rb'[^"\\\x00-\x1f]*')
_DIGITS = re.compile(rb"[0-9]*")
_HEX = frozenset(b"0123456789abcdefABCDEF")
_CLOSING = {ord("["): ord("]"), ord("{"): ord("}")}
_LITERALS = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_END = "unexpected end of JSON input"


class _Fault(Exception):
    """The scan is over."""


def fault(data: bytes) -> str | None:
    """Go's message, or None if the text is JSON."""
    try:
        _Scanner(data).document()
    except _Fault as found:
        return str(found)
    return None


class _Scanner:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0
        self.open = bytearray()

    def document(self) -> None:
        """Values and what stands between them, until every bracket is closed."""
        wants_value = True
        while wants_value:
            wants_value = self._opens_or_scalar() or self._continues()
        if self._skip_spaces() is not None:
            raise self._unexpected("after top-level value")

    def _opens_or_scalar(self) -> bool:
        """Read one value; True if it opened a bracket and the first value in it comes next."""
        byte = self._peek()
        if byte in b"[{":
            return self._enters(byte)
        if byte == ord('"'):
            self._string()
        elif byte in b"-0123456789":
            self._number()
        elif byte in _LITERALS:
            self._literal(_LITERALS[byte])
        else:
            raise self._unexpected("looking for beginning of value")
        return False

    def _enters(self, bracket: int) -> bool:
        self.open.append(bracket)
        if len(self.open) > _MAX_DEPTH:
            raise self._unexpected("exceeded max depth")
        self.position += 1
        if self._peek() == _CLOSING[bracket]:
            self._leave()
            return False
        if bracket == ord("{"):
            self._key()
        return True

    def _continues(self) -> bool:
        """After a value: close what ends here; True if a comma asks for another value."""
        while self.open:
            byte = self._peek()
            if byte == ord(","):
                self.position += 1
                if self.open[-1] == ord("{"):
                    self._key()
                return True
            if byte != _CLOSING[self.open[-1]]:
                raise self._unexpected("after object key:value pair" if self.open[-1] == ord("{") else "after array element")
            self._leave()
        return False

    def _leave(self) -> None:
        self.position += 1
        self.open.pop()

    def _key(self) -> None:
        if self._peek() != ord('"'):
            raise self._unexpected("looking for beginning of object key string")
        self._string()
        if self._peek() != ord(":"):
            raise self._unexpected("after object key")
        self.position += 1

    def _string(self) -> None:
        self.position += 1
        while True:
            self._skip(_PLAIN)
            byte = self._at_end_blank()
            if byte == ord('"'):
                self.position += 1
                return
            if byte != ord("\\"):
                raise self._unexpected("in string literal") if self.position < len(self.data) else _Fault(_END)
            self._escape()

    def _escape(self) -> None:
        self.position += 1
        byte = self._at_end_blank()
        if byte not in b'bfnrt\\/"u':
            raise self._unexpected("in string escape code")
        self.position += 1
        for _ in range(4 if byte == ord("u") else 0):
            if self._at_end_blank() not in _HEX:
                raise self._unexpected("in \\u hexadecimal character escape")
            self.position += 1

    def _number(self) -> None:
        if self.data[self.position] == ord("-"):
            self.position += 1
            self._require_digit("in numeric literal")
        if self.data[self.position] == ord("0"):
            self.position += 1
        else:
            self._skip(_DIGITS)
        if self._at_end_blank() == ord("."):
            self.position += 1
            self._require_digit("after decimal point in numeric literal")
            self._skip(_DIGITS)
        if self._at_end_blank() in b"eE":
            self.position += 1
            if self._at_end_blank() in b"+-":
                self.position += 1
            self._require_digit("in exponent of numeric literal")
            self._skip(_DIGITS)

    def _require_digit(self, context: str) -> None:
        if self._at_end_blank() not in b"0123456789":
            raise self._unexpected(context)

    def _literal(self, word: bytes) -> None:
        for expected in word:
            if self._at_end_blank() != expected:
                raise self._unexpected(f"in literal {word.decode()} (expecting {_quoted(expected)})")
            self.position += 1

    def _peek(self) -> int:
        """The next byte that is no space; there must be one."""
        byte = self._skip_spaces()
        if byte is None:
            raise _Fault(_END)
        return byte

    def _skip_spaces(self) -> int | None:
        self._skip(_SPACES)
        return self.data[self.position] if self.position < len(self.data) else None

    def _skip(self, pattern: re.Pattern[bytes]) -> None:
        found = pattern.match(self.data, self.position)
        assert found is not None
        self.position = found.end()

    def _at_end_blank(self) -> int:
        return self.data[self.position] if self.position < len(self.data) else ord(" ")

    def _unexpected(self, context: str) -> _Fault:
        return _Fault(f"invalid character {_quoted(self._at_end_blank())} {context}")


def _quoted(byte: int) -> str:
    """One byte in single quotes. NB: Go takes the byte, not the character that it is part of."""
    if byte == ord("'"):
        return r"'\''"
    if byte == ord('"'):
        return "'\"'"
    return f"'{gotext.quote(chr(byte))[1:-1]}'"
