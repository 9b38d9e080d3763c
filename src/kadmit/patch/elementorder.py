"""In which order the items of a merged list stand.

Strategic merge keeps two orders at once: the patch's for the items that the patch names, the live list's for all others. Where
both lists know two items, the live order decides between them; a new item therefore comes as early as it can, which is before
the live items that follow nothing named in the patch.

Items are told apart by an identity: the item itself in a list of scalars, its merge key's value in a list of maps.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

from kadmit.patch import gotext
from kadmit.patch.errors import PatchError

Identity: TypeAlias = Callable[[object], Hashable]

_SMALL = 20  # up to here Go sorts by plain insertion


def scalar_identity(value: object) -> Hashable:
    """NB: with its type, since to Go 1, 1.0 and true differ. Lists and maps have no identity: Go panics, we refuse."""
    if isinstance(value, dict | list):
        raise PatchError(f"runtime error: hash of unhashable type {gotext.type_name(value)}")
    return type(value), value


def is_deletion(item: object) -> bool:
    return isinstance(item, dict) and item.get("$patch") == "delete"


def arrange(items: Sequence[object], *, named: Sequence[object], live: Sequence[object], identity: Identity) -> list[object]:
    """items, some of which the patch has named; named and live say the order."""
    named_places, live_places = _places(named, identity), _places(live, identity)
    from_patch = [item for item in items if identity(item) in named_places]
    from_live = [item for item in items if identity(item) not in named_places]
    return _interleave(
        _sorted(from_live, live_places, identity), _sorted(from_patch, named_places, identity), live_places, identity
    )


def _places(items: Sequence[object], identity: Identity) -> dict[Hashable, int]:
    """Where each identity stands first."""
    places: dict[Hashable, int] = {}
    for place, item in enumerate(items):
        places.setdefault(identity(item), place)
    return places


def _sorted(items: list[object], places: dict[Hashable, int], identity: Identity) -> list[object]:
    """In the order of their places, deletions (which only a careless patch leaves in a list) at the end."""
    return [
        *_sorted_by_place([item for item in items if not is_deletion(item)], places, identity),
        *[item for item in items if is_deletion(item)],
    ]


def _sorted_by_place(items: list[object], places: dict[Hashable, int], identity: Identity) -> list[object]:
    """Only an empty order beside a patch leaves items without a place."""
    known = [item for item in items if identity(item) in places]
    if len(known) == len(items):
        return sorted(items, key=lambda item: places[identity(item)])
    if len(items) <= _SMALL:
        return _insertion_sorted(items, places, identity)
    unknown = [item for item in items if identity(item) not in places]
    return sorted(known, key=lambda item: places[identity(item)]) + unknown[::-1]


def _insertion_sorted(items: list[object], places: dict[Hashable, int], identity: Identity) -> list[object]:
    """Kubernetes' comparison calls an item without a place less than any, on either side, so the steps of the sort show."""
    result: list[object] = []
    for item in items:
        place = places.get(identity(item))
        at = len(result)
        while at > 0:
            before = places.get(identity(result[at - 1]))
            if place is not None and before is not None and place >= before:
                break
            at -= 1
        result.insert(at, item)
    return result


def _interleave(
    from_live: list[object], from_patch: list[object], places: dict[Hashable, int], identity: Identity
) -> list[object]:
    """Put a live item before the next item of the patch only if the live list had it before that item."""
    result: list[object] = []
    waiting = 0
    for item in from_patch:
        place = places.get(identity(item))
        while waiting < len(from_live) and place is not None:
            live_place = places.get(identity(from_live[waiting]))
            if live_place is None or live_place >= place:
                break
            result.append(from_live[waiting])
            waiting += 1
        result.append(item)
    return result + from_live[waiting:]
