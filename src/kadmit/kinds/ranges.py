"""Ranges of sizes and costs: from the least to the most it can be. What grows beyond 64 bits stays at their end."""

import math
from typing import NamedTuple

MOST = 2**64 - 1
TRAVERSAL = 0.1  # of a text, by character
PATTERN = 0.25  # of a regular expression, by character


class Range(NamedTuple):
    least: int
    most: int

    def plus(self, other: "Range") -> "Range":
        return Range(min(self.least + other.least, MOST), min(self.most + other.most, MOST))

    def times(self, other: "Range") -> "Range":
        return Range(min(self.least * other.least, MOST), min(self.most * other.most, MOST))

    def scaled(self, factor: float) -> "Range":
        return Range(_scaled(self.least, factor), _scaled(self.most, factor))

    def covering(self, other: "Range") -> "Range":
        return Range(min(self.least, other.least), max(self.most, other.most))


def exactly(size: int) -> Range:
    return Range(size, size)


def _scaled(size: int, factor: float) -> int:
    """NB: in doubles, as large numbers round differently otherwise."""
    return min(math.ceil(float(size) * factor), MOST)


NOTHING = Range(0, 0)
ONE = Range(1, 1)
ANY = Range(0, MOST)
EMPTY = Range(MOST, 0)  # covers nothing yet
