"""Names that are certainly in order: checks of names that only say yes or no, each asked once of the same text.

Objects of a cluster are full of the same names. A check is remembered for as many texts as a table of fixed size holds, and for
short ones only: a longer text is taken to be unsound here, and whoever asks looks at it again with the check itself.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from kadmit.cel.library import names

IsSound: TypeAlias = Callable[[str], bool]

_KEPT = 4096


class _Known(dict[str, bool]):
    """What a check said of texts up to this length. NB: a dict finds a text in a third of the time that a call takes."""

    __slots__ = ("_check", "_longest")

    def __init__(self, check: Callable[[str], list[str]], longest: int) -> None:
        super().__init__()
        self._check, self._longest = check, longest

    def __missing__(self, text: str) -> bool:
        if len(text) > self._longest:
            return False
        if len(self) >= _KEPT:
            self.clear()
        self[text] = sound = not self._check(text)
        return sound


def remembered(check: Callable[[str], list[str]], longest: int) -> IsSound:
    """Whether this check has no complaint."""
    return _Known(check, longest).__getitem__


is_label = remembered(names.dns1123_label, names.LABEL_LENGTH)
is_subdomain = remembered(names.dns1123_subdomain, names.SUBDOMAIN_LENGTH)
is_label_value = remembered(names.label_value, names.LABEL_LENGTH)
is_label_key = remembered(names.label_key, names.SUBDOMAIN_LENGTH + 1 + names.LABEL_LENGTH)


def are_labels(labels: Mapping[str, str]) -> bool:
    return all(map(is_label_key, labels)) and all(map(is_label_value, labels.values()))
