"""Names that may have been meant."""

import difflib
from collections.abc import Iterable


def nearest(name: str, choices: Iterable[str]) -> str:
    """The choice that looks most like the name, or ""."""
    listed = list(choices)
    same = [choice for choice in listed if choice.lower() == name.lower()]
    found = same or difflib.get_close_matches(name, listed, n=1, cutoff=0.7)
    return found[0] if found else ""


def suggestion(name: str, choices: Iterable[str]) -> str:
    """A fix that names it."""
    found = nearest(name, choices)
    return f"did you mean '{found}'?" if found else ""
