"""Random documents, and patches that fit them."""

import copy

from hypothesis import strategies as st

from kadmit.patch import jsonpointer

KEYS = st.sampled_from(["a", "b", "c", "a/b", "m~n", "0", "-", ""])
SCALARS = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([0.5, 1.0, -2.5]) | st.sampled_from(["", "x", "y<z", "é"])
)
VALUES: st.SearchStrategy[object] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)
MERGE_PATCHES: st.SearchStrategy[object] = st.recursive(
    SCALARS | st.lists(SCALARS, max_size=3), lambda inner: st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


def places(node: object, path: str = "") -> list[str]:
    """The pointer of every value below node."""
    found: list[str] = []
    for key, child in _members(node):
        place = f"{path}/{jsonpointer.escape(str(key))}"
        found += [place, *places(child, place)]
    return found


def _members(node: object) -> list[tuple[object, object]]:
    if isinstance(node, dict):
        return list(node.items())
    return list(enumerate(node)) if isinstance(node, list) else []


def at(document: object, pointer: str) -> object:
    node = document
    for part in pointer.split("/")[1:]:
        key = jsonpointer.token(part).key
        if isinstance(node, list):
            node = node[int(key)]
        else:
            assert isinstance(node, dict)
            node = node[key]
    return node


@st.composite
def fitting_operation(draw: st.DrawFn, document: object) -> dict[str, object]:
    """An operation that applies to the document."""
    existing = places(document)
    kind = draw(st.sampled_from(["add", "remove", "replace", "test", "move", "copy"] if existing else ["add"]))
    if kind in {"add", "copy", "move"}:
        source = draw(st.sampled_from(existing)) if kind != "add" else ""
        target = draw(addition_place(document, without=source if kind == "move" else None))
        if kind == "add":
            return {"op": "add", "path": target, "value": draw(VALUES)}
        return {"op": kind, "from": source, "path": target}
    path = draw(st.sampled_from(existing))
    value = copy.deepcopy(at(document, path)) if kind == "test" else draw(VALUES)
    return {"op": kind, "path": path} if kind == "remove" else {"op": kind, "path": path, "value": value}


@st.composite
def addition_place(draw: st.DrawFn, document: object, *, without: str | None) -> str:
    """Where something can be added; after a move's source is gone, maps only, outside of the source."""
    containers = [
        place
        for place in ["", *places(document)]
        if isinstance(at(document, place), dict | list)
        and (without is None or (isinstance(at(document, place), dict) and _untouched(place, without, document)))
    ]
    place = draw(st.sampled_from(containers or [""]))
    node = at(document, place)
    if isinstance(node, list):
        return f"{place}/{draw(st.sampled_from([*map(str, range(len(node) + 1)), '-']))}"
    return f"{place}/{jsonpointer.escape(draw(KEYS))}"


def _untouched(place: str, source: str, document: object) -> bool:
    """Taking the source away leaves this place where it is."""
    parent = source.rpartition("/")[0]
    inside_source = f"{place}/".startswith(f"{source}/")
    return not inside_source and not (isinstance(at(document, parent), list) and f"{place}/".startswith(f"{parent}/"))
