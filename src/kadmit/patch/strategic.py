"""Strategic merge patch: a merge patch that knows which lists merge, and by which key.

The directives of a patch: `$patch` (replace or delete the map it stands in, or one item of a list), `$retainKeys` (drop all
other keys), `$setElementOrder/LIST`, `$deleteFromPrimitiveList/LIST`. Input is never changed; maps and lists that the patch
does not reach are shared.

What is known of a kind comes in as PatchMeta. kadmit.kinds builds it, once per kind, from OpenAPI:
- a schema with `properties` is a struct: PatchMeta(kind="struct", name=last part of the schema's name, fields=...);
- a `$ref` (alone, or as the first of `allOf`) is the referred struct; the one of a type that contains itself is made with an
  empty dict as fields, which is filled afterwards;
- `additionalProperties` is PatchMeta(kind="map"), `type: array` is PatchMeta(kind="slice", element=meta of `items`);
- an object without properties (RawExtension, JSON, FieldsV1) and the struct-like scalars (Quantity, IntOrString, Time) are
  structs without fields; other scalars are PatchMeta(kind="string"), "bool", "int64" and so on;
- Field.strategies is `x-kubernetes-patch-strategy` split at commas, Field.merge_key is `x-kubernetes-patch-merge-key`; both stand
  on the property itself, beside the `$ref` or `items`.
Custom resources have no PatchMeta: Kubernetes refuses strategic merge for them.

NB: Kubernetes walks a patch in the random order of a Go map. Here keys are walked sorted, so that of two errors always the same
one is told, and a list's deletions come before its additions.
"""

from collections.abc import Hashable, Mapping, Sequence

from msgspec import Struct, field

from kadmit.patch import elementorder, gotext, nesting
from kadmit.patch.errors import PatchError, Reason

_DIRECTIVE = "$patch"
_RETAIN_KEYS = "$retainKeys"
_SET_ORDER = "$setElementOrder"
_DELETE_FROM = "$deleteFromPrimitiveList"


class PatchMeta(Struct, frozen=True):
    """One type of a kind. kind: what Go calls it; name: of a struct; fields: of a struct; element: of a slice."""

    kind: str
    name: str = ""
    fields: "Mapping[str, Field]" = field(default_factory=dict)
    element: "PatchMeta | None" = None


class Field(Struct, frozen=True):
    """One field of a struct: its type, and how a patch treats it."""

    meta: PatchMeta
    strategies: tuple[str, ...] = ()
    merge_key: str = ""

    @property
    def strategy(self) -> str:
        """merge, replace, or nothing. NB: retainKeys only tells clients to send the directive."""
        others = [strategy for strategy in self.strategies if strategy != "retainKeys"]
        return others[0] if others else ""


def apply(original: dict[str, object], patch: dict[str, object], meta: PatchMeta) -> dict[str, object]:
    """The patched object. Raises PatchError."""
    nesting.check(patch)
    return _merge_map(original, patch, meta)


def _merge_map(original: dict[str, object], patch: dict[str, object], meta: PatchMeta) -> dict[str, object]:
    if _DIRECTIVE in patch:
        return _obey_directive(patch)
    merged, rest = original.copy(), patch.copy()
    _retain_keys(merged, rest)
    for key in sorted(rest):
        if key.startswith(_SET_ORDER):
            _set_element_order(key, merged, rest, meta)
    for key in sorted(rest):
        _merge_field(key, merged, rest[key], meta)
    return merged


def _obey_directive(patch: dict[str, object]) -> dict[str, object]:
    directive = patch[_DIRECTIVE]
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != _DIRECTIVE}
    if directive == "delete":
        return {}
    raise _unknown_directive(directive, patch)


def _unknown_directive(directive: object, patch: dict[str, object]) -> PatchError:
    return PatchError(f"unknown patch type: {gotext.string_text(directive)} in map: {gotext.value_text(patch)}")


def _retain_keys(merged: dict[str, object], rest: dict[str, object]) -> None:
    if _RETAIN_KEYS not in rest:
        return
    names = rest.pop(_RETAIN_KEYS)
    if not isinstance(names, list):
        raise _malformed("retainKeys")
    retained = {elementorder.scalar_identity(name) for name in names}
    if any(_must_be_retained(key, value) and (str, key) not in retained for key, value in rest.items()):
        raise _malformed("retainKeys")
    for key in [key for key in merged if (str, key) not in retained]:
        del merged[key]


def _must_be_retained(key: str, value: object) -> bool:
    return value is not None and not key.startswith((_DELETE_FROM, _SET_ORDER))


def _merge_field(key: str, merged: dict[str, object], value: object, meta: PatchMeta) -> None:
    deletes = key.startswith(_DELETE_FROM)
    if deletes:
        key = _list_name(key, _DELETE_FROM) or key
    if value is None:
        merged.pop(key, None)
    elif type(merged.get(key)) is not type(value):
        if not deletes:
            _set_field(key, merged, value)
    elif isinstance(value, dict):
        known, current = _struct_field(meta, key), merged[key]
        assert isinstance(current, dict)
        merged[key] = value if known.strategy == "replace" else _merge_map(current, value, known.meta)
    elif isinstance(value, list):
        known, element = _list_field(meta, key)
        current = merged[key]
        assert isinstance(current, list)
        merged[key] = _merge_list(current, value, known, element, deletes=deletes).arranged
    else:
        merged[key] = value


def _set_field(key: str, merged: dict[str, object], value: object) -> None:
    """Put a value where there was none, or one of another type."""
    if isinstance(value, dict) and _DIRECTIVE in value:
        merged.pop(key, None)
    else:
        merged[key] = _without_nulls_and_directives(value)


def _without_nulls_and_directives(value: object) -> object:
    """NB: of directives only maps with `$patch` go; a null goes from maps, not from lists."""
    if isinstance(value, dict):
        return {
            key: _without_nulls_and_directives(child)
            for key, child in value.items()
            if child is not None and not _is_directive(child)
        }
    if isinstance(value, list):
        return [_without_nulls_and_directives(item) for item in value if not _is_directive(item)]
    return value


def _without_directives(items: list[object]) -> list[object]:
    return [_without_directives_in(item) for item in items if not _is_directive(item)]


def _without_directives_in(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_directives_in(child) for key, child in value.items() if not _is_directive(child)}
    return _without_directives(value) if isinstance(value, list) else value


def _is_directive(value: object) -> bool:
    return isinstance(value, dict) and _DIRECTIVE in value


def _struct_field(meta: PatchMeta, key: str) -> Field:
    if meta.kind != "struct":
        raise PatchError(f"merging an object in json but data type is not struct, instead is: {meta.kind}")
    if key not in meta.fields:
        raise PatchError(f"unable to find api field in struct {meta.name} for the json field {gotext.quote(key)}")
    return meta.fields[key]


def _list_field(meta: PatchMeta, key: str) -> tuple[Field, PatchMeta]:
    """The field and the type of its items."""
    known = _struct_field(meta, key)
    if known.meta.element is None:
        raise PatchError(f"expected slice or array type, but got: {meta.kind}")
    if known.meta.element.kind == "slice":
        raise PatchError("unexpected slice of slice")
    return known, known.meta.element


class _MergedList(Struct, frozen=True):
    """arranged: the result; live: the order of the live list, as `$setElementOrder` sees it afterwards.

    NB: Kubernetes edits the live list in place, so new items that took the place of deleted ones count as live in it.
    """

    arranged: list[object]
    live: list[object]


def _merge_list(original: list[object], patch: list[object], known: Field, element: PatchMeta, *, deletes: bool) -> _MergedList:
    if known.strategy != "merge" and not deletes:
        return _MergedList(patch, original)
    if not original and not patch:
        return _MergedList(original, original)
    if _item_type(original, patch) is not dict:
        return _MergedList(_merge_scalars(original, patch, deletes=deletes, merge_key=known.merge_key), original)
    if not known.merge_key:
        raise PatchError(f"cannot merge lists without merge key for {element.kind}")
    return _merge_items(original, patch, known.merge_key, element)


def _item_type(*lists: list[object]) -> type:
    """The type that all items share."""
    types = [type(item) for items in lists for item in items]
    if not types:
        raise PatchError("no elements in any of the given slices")
    if types[0] is list:
        raise PatchError("lists of lists are not supported", reason=Reason.UNSUPPORTED)
    if len(set(types)) > 1 or types[0] is type(None):
        raise PatchError(f"list element types are not identical: {gotext.value_text(list(lists))}")
    return types[0]


def _merge_scalars(original: list[object], patch: list[object], *, deletes: bool, merge_key: str) -> list[object]:
    identity = elementorder.scalar_identity
    if deletes:
        gone = set(map(identity, patch))
        return [item for item in original if identity(item) not in gone]
    both = list({identity(item): item for item in [*original, *patch]}.values())
    if merge_key:
        _require_keys(both, merge_key)
    return elementorder.arrange(both, named=patch, live=original, identity=identity)


def _merge_items(original: list[object], patch: list[object], merge_key: str, element: PatchMeta) -> _MergedList:
    survivors, ordinary, replaces = _obey_item_directives(original, patch, merge_key)
    if replaces:
        survivors, ordinary = ordinary, []
    merged = _merge_ordinary_items(survivors, ordinary, merge_key, element)
    _require_keys(merged, merge_key)
    arranged = elementorder.arrange(merged, named=ordinary, live=survivors, identity=_identity_by(merge_key))
    return _MergedList(arranged, original if replaces else merged[: len(original)])


def _obey_item_directives(original: list[object], patch: list[object], merge_key: str) -> tuple[list[object], list[object], bool]:
    """The live items that stay, the items of the patch that are no directives, and whether they replace the whole list."""
    ordinary: list[object] = []
    doomed: set[Hashable] = set()
    replaces = False
    for item in patch:
        assert isinstance(item, dict)
        if _DIRECTIVE not in item:
            ordinary.append(item)
            continue
        match item[_DIRECTIVE]:
            case "delete":
                doomed.add(elementorder.scalar_identity(_key_of(item, merge_key)))
            case "replace":
                replaces = True
            case "merge":
                raise PatchError("merging lists cannot yet be specified in the patch")
            case other:
                raise _unknown_directive(other, item)
    return [item for item in original if _identity_if_any(item, merge_key) not in doomed], ordinary, replaces


def _merge_ordinary_items(survivors: list[object], patch: list[object], merge_key: str, element: PatchMeta) -> list[object]:
    """NB: a new item is taken as it is, nulls and directives inside it included."""
    merged = survivors.copy()
    places: dict[Hashable, int] = {}
    for place, item in enumerate(survivors):
        places.setdefault(_identity_if_any(item, merge_key), place)
    for item in patch:
        assert isinstance(item, dict)
        identity = elementorder.scalar_identity(_key_of(item, merge_key))
        if identity not in places:
            places[identity] = len(merged)
            merged.append(item)
            continue
        current = merged[places[identity]]
        assert isinstance(current, dict)
        merged[places[identity]] = _merge_map(current, item, element)
    return merged


def _set_element_order(key: str, merged: dict[str, object], rest: dict[str, object], meta: PatchMeta) -> None:
    """Merge the list that the directive names, now, and bring it into the given order."""
    order = _as_list(rest.pop(key))
    name = _list_name(key, _SET_ORDER)
    live = _as_list(merged[name]) if name in merged else []
    patch = _as_list(rest[name]) if name in rest else []
    known, element = _list_field(meta, name)
    _check_order(patch, order, known.merge_key)
    if name in merged and name in rest:
        result = _merge_list(live, patch, known, element, deletes=False)
    elif name in merged:
        result = _MergedList(live, live)
    elif name in rest:
        result = _MergedList(_without_directives(patch), live)
    else:
        return
    merged[name] = _ordered(result, order, _item_type(result.live, patch), known.merge_key)
    rest.pop(name, None)


def _ordered(result: _MergedList, order: list[object], item_type: type, merge_key: str) -> list[object]:
    """The merged list in the order that the directive gives."""
    if merge_key:
        _require_keys(result.arranged, merge_key)
        _require_findable(result.arranged, order, merge_key)
    else:
        _require_identities([*order, *result.arranged])
    if item_type is dict:
        _require_keys([*order, *result.live], merge_key)
    identity = _identity_by(merge_key) if merge_key else elementorder.scalar_identity
    return elementorder.arrange(result.arranged, named=order, live=result.live, identity=identity)


def _require_identities(items: list[object]) -> None:
    for item in items:
        elementorder.scalar_identity(item)


def _check_order(patch: list[object], order: list[object], merge_key: str) -> None:
    """The patch must name its items in the given order, and no others."""
    if not order or not patch:
        return
    if merge_key:
        for item in patch:
            _as_map(item)
    wanted = [item for item in patch if not elementorder.is_deletion(item)]
    at = 0
    for item in order:
        while at < len(wanted) and _is_directive(wanted[at]):
            at += 1
        if at == len(wanted):
            return
        at += _same_item(wanted[at], item, merge_key)
    if at < len(wanted):
        given, asked = gotext.value_text(patch), gotext.value_text(order)
        raise PatchError(f"The order in patch list:\n{given}\n doesn't match {_SET_ORDER} list:\n{asked}\n")


def _same_item(left: object, right: object, merge_key: str) -> bool:
    if merge_key:
        one, other = _as_map(left), _as_map(right)
        left, right = _key_of(one, merge_key), _key_of(other, merge_key)
    return type(left) is type(right) and elementorder.scalar_identity(left) == elementorder.scalar_identity(right)


def _require_keys(items: Sequence[object], merge_key: str) -> None:
    for item in items:
        _key_of(_as_map(item), merge_key)


def _require_findable(items: list[object], order: list[object], merge_key: str) -> None:
    """NB: something in the order that is no map is only noticed by a search that passes it."""
    stop = next((place for place, item in enumerate(order) if not isinstance(item, dict)), None)
    if stop is None:
        return
    before = {_identity_if_any(item, merge_key) for item in order[:stop]}
    if any(_identity_if_any(item, merge_key) not in before for item in items):
        raise PatchError(f"value for key {stop} is not a map")


def _identity_by(merge_key: str) -> elementorder.Identity:
    return lambda item: _identity_if_any(item, merge_key)


def _identity_if_any(item: object, merge_key: str) -> Hashable:
    """NB: an item without the key equals nothing that a patch can name."""
    if not isinstance(item, dict) or merge_key not in item:
        return None
    return elementorder.scalar_identity(item[merge_key])


def _key_of(item: dict[str, object], merge_key: str) -> object:
    if merge_key not in item:
        raise PatchError(f"map: {gotext.value_text(item)} does not contain declared merge key: {merge_key}")
    return item[merge_key]


def _as_map(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise PatchError(f"expected a map[string]interface {{}}, but received a {gotext.type_name(value)}")
    return value


def _as_list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise PatchError(f"expected a []interface {{}}, but received a {gotext.type_name(value)}")
    return value


def _list_name(key: str, directive: str) -> str:
    """The list that a parallel list belongs to."""
    prefix, slash, name = key.partition("/")
    if not slash or prefix != directive:
        raise _malformed("primitive list" if directive == _DELETE_FROM else "setElementOrder list")
    return name


def _malformed(what: str) -> PatchError:
    return PatchError(f"invalid patch format of {what}", reason=Reason.MALFORMED)
