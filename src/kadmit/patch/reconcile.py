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
    return _reconciled(paths, resolved(shape))


def _reconciled(paths: Set, shape: Shape) -> Set:
    now_whole = [element for element, child in paths.children.items() if _is_now_atomic(shape, element, child)]
    children = {element: child for element, child in paths.children.items() if element not in now_whole}
    below = {element: _child_reconciled(child, shape, element) for element, child in children.items()}
    if not now_whole and all(below[element] is children[element] for element in children):
        return paths
    return Set(paths.members | frozenset(now_whole), below)


def _child_reconciled(paths: Set, shape: Shape, element: Element) -> Set:
    child = _type_at(shape, element)
    return paths if child is None else _reconciled(paths, child)


def _is_now_atomic(shape: Shape, element: Element, below: Set) -> bool:
    child = _type_at(shape, element)
    if isinstance(child, ListShape):
        return not child.associative
    if isinstance(child, MapShape):
        return child.atomic and bool(below)
    return isinstance(child, Atomic) and bool(below)


def _type_at(shape: Shape, element: Element) -> Shape | None:
    """The shape of a part, where there is one to go by: sets of untyped maps are left alone."""
    if isinstance(shape, ListShape):
        return resolved(shape.element)
    if not isinstance(shape, MapShape) or _is_untyped_map(shape):
        return None
    child = shape.fields.get(element, shape.element) if isinstance(element, str) else shape.element
    return None if child is None else _unless_untyped(resolved(child))


def _unless_untyped(shape: Shape) -> Shape | None:
    return None if isinstance(shape, MapShape) and _is_untyped_map(shape) else shape


def _is_untyped_map(shape: MapShape) -> bool:
    return not shape.fields and (isinstance(shape.element, Deduced) or shape.element == Leaf(Scalar.UNTYPED))
