"""Sets of paths under a shape: making them whole, and bringing them up to date when the shape has changed.

Managed fields outlive schemas. A list or map that was granular when a set was written and is atomic now is owned as a
whole by everybody who owned a part of it; the other direction needs no change.
"""

from kadmit.patch.fieldpath import Element, Key, Set
from kadmit.patch.shapes import Atomic, Deduced, Leaf, ListShape, MapShape, Scalar, Shape
from kadmit.patch.typed import resolved


def with_named_fields(paths: Set, shape: Shape | None) -> Set:
    """The set, with every declared field on the way to one of its paths as a member too."""
    shape = None if shape is None else resolved(shape)
    named = [element for element in paths.children if isinstance(shape, MapShape) and element in shape.fields]
    children = {element: with_named_fields(child, _below(shape, element)) for element, child in paths.children.items()}
    return Set(paths.members | frozenset(named), children)


def _below(shape: Shape | None, element: Element) -> Shape | None:
    if isinstance(element, str):
        if isinstance(shape, MapShape):
            return shape.fields.get(element, shape.element)
        return shape if isinstance(shape, Deduced) else None
    return shape.element if isinstance(element, Key) and isinstance(shape, ListShape) else None


def reconciled(paths: Set, shape: Shape) -> Set:
    """The set as it would have been written under this shape; the same set if nothing has changed."""
    shape = resolved(shape)
    return paths if isinstance(shape, MapShape) and _is_untyped_map(shape) else _reconciled(paths, shape)


def _reconciled(paths: Set, shape: Shape) -> Set:
    whole: list[Element] = []
    changed: dict[Element, Set] = {}
    for element, child in paths.children.items():
        part = _type_at(shape, element)
        if part is None:
            continue
        if _is_now_atomic(part):
            whole.append(element)
        elif (current := _reconciled(child, part)) is not child:
            changed[element] = current
    if not whole and not changed:
        return paths
    kept = {element: changed.get(element, child) for element, child in paths.children.items() if element not in whole}
    return Set(paths.members | frozenset(whole), kept)


def _is_now_atomic(shape: Shape) -> bool:
    if type(shape) is ListShape:
        return not shape.associative
    return shape.atomic if type(shape) is MapShape else type(shape) is Atomic


def _type_at(shape: Shape, element: Element) -> Shape | None:
    """The shape of a part, where there is one to go by: sets of untyped maps are left alone."""
    if type(shape) is MapShape:
        child = shape.fields.get(element, shape.element) if type(element) is str else shape.element
    else:
        child = shape.element if type(shape) is ListShape else None
    part = None if child is None else resolved(child)
    return None if type(part) is MapShape and _is_untyped_map(part) else part


def _is_untyped_map(shape: MapShape) -> bool:
    return not shape.fields and (isinstance(shape.element, Deduced) or shape.element == Leaf(Scalar.UNTYPED))
