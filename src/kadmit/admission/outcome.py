"""What a pass through the chain leaves behind, as data: the object, warnings, audit annotations, metric increments, events.

Nobody logs, counts or writes a header while deciding; whoever drives the chain reads this afterwards.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct, field

from kadmit.admission.events import Event
from kadmit.cel.library import names

TRUNCATE_AT, TRUNCATE_TO = 4 * 1024, 256
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Increment(NamedTuple):
    """A counter, or an observation of a histogram, that a request moves."""

    metric: str
    labels: tuple[tuple[str, str], ...]


class Record(Struct):
    """Grows along the chain. Handed from mutate() to validate(), so that both halves speak with one voice."""

    warnings: list[str] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)
    request_annotations: set[str] = field(default_factory=set)  # keys that only audit level Request and above may show
    increments: list[Increment] = field(default_factory=list)
    events: list[Event] | None = None  # None: nobody wants an explanation

    def warn(self, text: str) -> None:
        if text:
            self.warnings.append(text)

    def annotate(self, key: str, value: str, *, request_level: bool = False) -> None:
        """An audit annotation. The first value of a key stays; a key that is no qualified name is dropped."""
        if key not in self.annotations and is_annotation_key(key):
            self.annotations[key] = value
            if request_level:
                self.request_annotations.add(key)

    def count(self, metric: str, **labels: str) -> None:
        self.increments.append(Increment(metric, tuple(sorted(labels.items()))))

    def happened(self, event: Event) -> None:
        """NB: whoever calls this asks first whether there are `events`, lest an event be made for nobody."""
        if self.events is not None:
            self.events.append(event)


@lru_cache(maxsize=1024)
def is_annotation_key(key: str) -> bool:
    return key.count("/") == 1 and not names.label_key(key)


def warning_headers(warnings: list[str]) -> list[str]:
    """Warning headers as the API server writes them: each text once, all cut short once they are too much."""
    unique = [w for w in dict.fromkeys(warnings) if w]
    written, truncating = 0, False
    headers: list[str] = []
    for i, text in enumerate(unique):
        if truncating and written >= TRUNCATE_AT:
            break
        shown = text[:TRUNCATE_TO] if truncating else text
        header = warning_header(shown)
        if header is None:
            continue
        if not truncating and written + len(shown) > TRUNCATE_AT:
            truncating, written = True, 0
            headers = []
            for earlier in unique[: i + 1]:
                again = warning_header(earlier[:TRUNCATE_TO])
                if again is not None:
                    written += len(earlier[:TRUNCATE_TO])
                    headers.append(again)
            continue
        written += len(shown)
        headers.append(header)
    return headers


def warning_header(text: str) -> str | None:
    """One header, or None where the text cannot stand in one (control characters)."""
    if _CONTROL.search(text):
        return None
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'
