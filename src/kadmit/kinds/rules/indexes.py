"""Lists of completion indexes, such as 0-3,7: in order, and below the number of completions."""

from kadmit.api.gojson import quoted
from kadmit.cel import gotext


def counted(text: str, completions: int) -> tuple[int, str]:
    """How many indexes a text lists, and what is wrong with it."""
    last, total = None, 0
    for interval in text.split(",") if text else ():
        first, final, wrong = _interval(interval, completions)
        if wrong:
            return 0, wrong
        if last is not None and last >= first:
            return 0, f"non-increasing order, previous: {last}, current: {first}"
        total += final - first + 1
        last = final
    return total, ""


def _interval(text: str, completions: int) -> tuple[int, int, str]:
    parts = text.split("-")
    if len(parts) > 2:
        need = "an index interval can have at most two parts separated by '-'"
        return 0, 0, f"the fragment {quoted(text)} violates the requirement that {need}"
    found: list[int] = []
    for part in parts:
        index = gotext.atoi(part)
        if isinstance(index, str):
            return 0, 0, f"cannot convert string to integer for index: {quoted(part)}"
        if index >= completions:
            return 0, 0, f"too large index: {quoted(part)}"
        found.append(index)
    if len(found) == 2 and found[0] >= found[1]:
        return 0, 0, f"non-increasing order, previous: {found[0]}, current: {found[1]}"
    return found[0], found[-1], ""
