"""Texts of objects and policies in front of people: they cannot steer a terminal, nor turn the order of letters round."""

import re

_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """The text with its tabs and line ends, and every other character that steers written out."""
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def line(text: str) -> str:
    """The same in one line, whatever the text holds."""
    return visible(text).replace("\n", "\\n")
