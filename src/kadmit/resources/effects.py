"""What a verb asks to be done, and how that can fail: writes. Webhook calls are the other effect, and are admission's."""

from msgspec import Struct

from kadmit.matching.attributes import Json
from kadmit.resources.state import Name, Place


class Put(Struct, frozen=True):
    """A write: an object (None deletes it) at a place, if it is still at the expected revision (None: if it is not there)."""

    place: Place
    name: Name
    value: Json | None
    expected: str | None


class Exists(Exception):
    """There is an object of this name already."""


class Stale(Exception):
    """The object is not at the expected revision any more."""
