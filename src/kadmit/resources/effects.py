"""What a verb asks to be done, and how that can fail: writes. Webhook calls are the other effect, and are admission's."""

from dataclasses import dataclass

from kadmit.matching.attributes import Json
from kadmit.resources.state import Name, Place


@dataclass(frozen=True, slots=True)
class Put:
    """A write: an object (None deletes it) at a place, if it is still at the expected revision (None: if it is not there)."""

    place: Place
    name: Name
    value: Json | None
    expected: str | None


class Exists(Exception):
    """There is an object of this name already."""


class Stale(Exception):
    """The object is not at the expected revision any more."""
