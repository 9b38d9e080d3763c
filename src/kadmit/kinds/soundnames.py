"""Names that are certainly in order: checks of names that only say yes or no, each asked once of the same text.

Objects of a cluster are full of the same names. A check is remembered for as many texts as a table of fixed size holds, and for
short ones only: a longer text is taken to be unsound here, and whoever asks looks at it again with the check itself.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeAlias

from kadmit.cel.library import names

IsSound: TypeAlias = Callable[[str], bool]

_KEPT = 4096


def remembered(check: Callable[[str], list[str]], longest: int) -> IsSound:
    """Whether this check has no complaint."""
    known = lru_cache(maxsize=_KEPT)(lambda text: not check(text))
    return lambda text: len(text) <= longest and known(text)


is_label = remembered(names.dns1123_label, names.LABEL_LENGTH)
is_subdomain = remembered(names.dns1123_subdomain, names.SUBDOMAIN_LENGTH)
is_label_value = remembered(names.label_value, names.LABEL_LENGTH)
is_label_key = remembered(names.label_key, names.SUBDOMAIN_LENGTH + 1 + names.LABEL_LENGTH)


def are_labels(labels: Mapping[str, str]) -> bool:
    return all(is_label_key(key) and is_label_value(value) for key, value in labels.items())
