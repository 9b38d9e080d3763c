"""JSON Patch (RFC 6902) as Kubernetes applies it.

A patch is decoded once and applied many times. Applying copies the containers on the way to a change, each at most once,
and shares all the rest with the document and the patch: neither is ever changed.

Where Kubernetes leaves the RFC, so does this: `replace` of a missing key adds it; `test` of a missing key equals null; `copy`
of a missing key, and `add` without a value, write null; indexes may be negative; only `replace` and `test` know the whole
document. Two things differ on purpose. Kubernetes compares the texts of scalars in a `test`, and here values are compared where
they are written as the document's are: `<` is `\\u003c` there, and 1 is not 1.0. And the patches that make Kubernetes panic (a
null in a tested list, `replace` of the whole document without a value) are refused, or answered by the rule.
"""

import enum
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, NoReturn, TypeAlias, cast

import orjson
from msgspec import Struct

from kadmit.patch import gojson, jsonpointer, nesting, writtentexts
from kadmit.patch.equality import same
from kadmit.patch.errors import PatchError, Reason
from kadmit.patch.jsonpointer import Pointer, Token

Container: TypeAlias = dict[str, object] | list[object]
_CONTAINERS: Final = (dict, list)  # NB: written out as dict | list, every question would make that union anew


class _Absent(enum.Enum):
    VALUE = "no value"


_ABSENT: Final = _Absent.VALUE


class Limits(Struct, frozen=True):
    """operations: how many a patch may have; copied_bytes: how much JSON its `copy` operations may add up to."""

    operations: int | None = None
    copied_bytes: int = 3 * 1024 * 1024


ADMISSION = Limits()
"""For webhooks and policies."""
PATCH_REQUEST = Limits(operations=10_000)
"""For PATCH requests."""


class Unreadable(NamedTuple):
    """A path or from that is missing or no string: trouble only once the operation is reached."""

    message: str


_NO_PATH: Final = Unreadable("operation missing path field: missing value")
_NO_FROM: Final = Unreadable("operation, missing from field: missing value")


class _Operation(NamedTuple):
    """One step. source: its `from`, which only move and copy read."""

    position: int
    run: "Callable[[_Draft, _Operation], None]"
    kind: str
    path: Pointer | Unreadable
    source: Pointer | Unreadable
    value: object
    null_is_text: bool

    def fail(self, message: str, *, reason: Reason = Reason.INAPPLICABLE) -> NoReturn:
        raise PatchError(message, reason=reason, operation=self.position)


class Patch(Struct, frozen=True):
    operations: tuple[_Operation, ...]

    def __len__(self) -> int:
        return len(self.operations)

    def apply(self, document: Container, *, limits: Limits = ADMISSION) -> Container:
        """The patched document. Raises PatchError at the first operation that fails.

        NB: null if a policy's patch says so, which its caller must be ready for.
        """
        if limits.operations is not None and len(self.operations) > limits.operations:
            raise PatchError(
                f"The allowed maximum operations in a JSON patch is {limits.operations}, got {len(self.operations)}",
                reason=Reason.TOO_LARGE,
            )
        draft = _Draft(document, limits.copied_bytes)
        for operation in self.operations:
            operation.run(draft, operation)
        return cast("Container", draft.root)


def decode(operations: bytes | Sequence[object] | None, *, null_is_text: bool = False) -> Patch:
    """Read a patch from JSON text or from its decoded list.

    null_is_text: the values come from a policy. There a `value: null` is a text, which no missing key equals; on the wire
    it is no value at all.
    """
    decoded = gojson.loads(operations) if isinstance(operations, bytes) else operations
    if decoded is None:
        return Patch(())
    if not isinstance(decoded, list | tuple):
        raise gojson.mismatch(decoded, "jsonpatch.Patch")
    read = [_read(position, item, null_is_text) for position, item in enumerate(decoded)]
    if isinstance(operations, bytes) and b'"test"' in operations and writtentexts.may_be_odd(operations):
        for position in _vain_tests(operations):
            read[position] = read[position]._replace(value=_IN_VAIN)
    return Patch(tuple(read))


_IN_VAIN: Final = object()  # the same as nothing else


def _vain_tests(text: bytes) -> Iterator[int]:
    """Tests for strings that are not written as the document's are, until somebody writes such strings into the document."""
    try:
        items = writtentexts.with_odd(text)
    except (ValueError, RecursionError):
        return
    for position, item in enumerate(items):
        if isinstance(item, dict) and writtentexts.has_odd(item.get("value")):
            if item.get("op") != "test":
                return
            yield position


def _read(position: int, item: object, null_is_text: bool) -> _Operation:
    if item is None:
        item = {}
    if not isinstance(item, dict):
        raise gojson.mismatch(item, "jsonpatch.Operation")
    kind = item.get("op")
    kind = kind if isinstance(kind, str) else "unknown"
    value = item.get("value", _ABSENT)
    if isinstance(value, _CONTAINERS):
        nesting.check(value)
    path = _read_pointer(item.get("path"), _NO_PATH)
    source = _read_pointer(item["from"], _NO_FROM) if "from" in item else _NO_FROM
    return _Operation(position, _RUNNERS.get(kind, _refuse), kind, path, source, value, null_is_text)


def _read_pointer(text: object, missing: Unreadable) -> Pointer | Unreadable:
    if isinstance(text, str):
        return jsonpointer.parse(text)
    if isinstance(text, Unreadable):
        return text
    return missing if text is None else Unreadable(gojson.mismatch_text(text, "Go value of type string"))


class _Draft:
    """The document while it is patched. owned: the ids of the containers that this draft made and may change.

    NB: only containers made here are owned, and every container above an owned one is owned, so an id can never come to mean
    something that is shared. A value that `copy` puts in a second place is shared from then on: see `share`.
    """

    __slots__ = ("copied_bytes", "copied_bytes_limit", "owned", "root")

    def __init__(self, root: Container, copied_bytes_limit: int) -> None:
        self.root: Container | None = root  # None: an operation has put null there
        self.owned: set[int] = set()
        self.copied_bytes = 0
        self.copied_bytes_limit = copied_bytes_limit

    def find(self, pointer: Pointer) -> Container | None:
        """The container that the pointer looks into, to read from."""
        if pointer.last is None:
            return None
        node: object = self.root
        for key, index in pointer.parents:
            if isinstance(node, dict):
                node = node.get(key)
            elif isinstance(node, list) and index is not None and -len(node) <= index < len(node):
                node = node[index]
            else:
                return None
        return node if isinstance(node, _CONTAINERS) else None

    def open(self, pointer: Pointer) -> Container | None:
        """The container that the pointer looks into, to write to: it and all above it become the draft's own."""
        if pointer.last is None or self.root is None:
            return None
        owned = self.owned
        node = self.root
        if id(node) not in owned:
            node = self.root = node.copy()
            owned.add(id(node))
        for key, index in pointer.parents:
            if isinstance(node, dict):
                child = node.get(key)
                if not isinstance(child, _CONTAINERS):
                    return None
                if id(child) not in owned:
                    child = node[key] = child.copy()
                    owned.add(id(child))
            else:
                if index is None or not -len(node) <= index < len(node):
                    return None
                child = node[index]
                if not isinstance(child, _CONTAINERS):
                    return None
                if id(child) not in owned:
                    child = node[index] = child.copy()
                    owned.add(id(child))
            node = child
        return node

    def share(self, value: object) -> None:
        """A value is about to stand in two places: whoever changes either of them must copy it first."""
        if id(value) in self.owned:
            self.owned.clear()

    def count_copied(self, value: object) -> None:
        self.copied_bytes += 0 if value is None else _json_size(value)


class _OutOfReach(Exception):
    """A token that fits no place in its container."""


def _add(draft: _Draft, operation: _Operation) -> None:
    path = operation.path
    if isinstance(path, Unreadable):
        operation.fail("add operation failed to decode path: missing value")
    container = draft.open(path)
    if container is None:
        operation.fail(f'add operation does not apply: doc is missing path: "{path.text}": missing value')
    try:
        _insert(container, path.last, None if operation.value is _ABSENT else operation.value)
    except _OutOfReach as fault:
        operation.fail(f"error in add for path: '{path.text}': {fault}")


def _remove(draft: _Draft, operation: _Operation) -> None:
    path = operation.path
    if isinstance(path, Unreadable):
        operation.fail("remove operation failed to decode path: missing value")
    container = draft.open(path)
    if container is None:
        operation.fail(f'remove operation does not apply: doc is missing path: "{path.text}": missing value')
    try:
        _delete(container, path.last)
    except _OutOfReach as fault:
        operation.fail(f"error in remove for path: '{path.text}': {fault}")


def _replace(draft: _Draft, operation: _Operation) -> None:
    path = operation.path
    if isinstance(path, Unreadable):
        operation.fail(f"replace operation failed to decode path: {path.message}")
    if path.text == "":
        _replace_document(draft, operation)
        return
    container = draft.open(path)
    if container is None:
        operation.fail(f"replace operation does not apply: doc is missing path: {path.text}: missing value")
    value = None if operation.value is _ABSENT else operation.value
    assert path.last is not None
    if isinstance(container, dict):
        container[path.last.key] = value
        return
    try:
        container[_existing(container, path.last)] = value
    except _OutOfReach:
        operation.fail(f"replace operation does not apply: doc is missing key: {path.text}: missing value")


def _replace_document(draft: _Draft, operation: _Operation) -> None:
    """NB: Kubernetes wraps an error here that is not there, and its text says so. null passes for an object."""
    if not isinstance(operation.value, _CONTAINERS) and not (operation.value is None and operation.null_is_text):
        operation.fail("replace operation value must be object or array: %!w(<nil>)")
    draft.root = operation.value


def _move(draft: _Draft, operation: _Operation) -> None:
    """NB: trouble with the source is told by its last key, not by its path."""
    source, path = operation.source, operation.path
    if isinstance(source, Unreadable):
        operation.fail(f"move operation failed to decode from: {source.message}")
    container = draft.open(source)
    if container is None:
        operation.fail(f"move operation does not apply: doc is missing from path: {source.text}: missing value")
    assert source.last is not None
    try:
        value = _look_up(container, source.last)
        _delete(container, source.last)
    except _OutOfReach as fault:
        operation.fail(f"error in move for path: '{source.last.key}': {fault}")
    if isinstance(path, Unreadable):
        operation.fail(f"move operation failed to decode path: {path.message}")
    container = draft.open(path)
    if container is None:
        operation.fail(f"move operation does not apply: doc is missing destination path: {path.text}: missing value")
    try:
        _insert(container, path.last, value)
    except _OutOfReach as fault:
        operation.fail(f"error in move for path: '{path.text}': {fault}")


def _copy(draft: _Draft, operation: _Operation) -> None:
    source, path = operation.source, operation.path
    if isinstance(source, Unreadable):
        operation.fail(f"copy operation failed to decode from: {source.message}")
    container = draft.find(source)
    if container is None:
        operation.fail(f"copy operation does not apply: doc is missing from path: {source.text}: missing value")
    assert source.last is not None
    try:
        value = _look_up(container, source.last)
    except _OutOfReach as fault:
        operation.fail(f"error in copy for from: '{source.text}': {fault}")
    if isinstance(path, Unreadable):
        operation.fail("copy operation failed to decode path: missing value")
    draft.share(value)
    container = draft.open(path)
    if container is None:
        operation.fail(f"copy operation does not apply: doc is missing destination path: {path.text}: missing value")
    draft.count_copied(value)
    if 0 < draft.copied_bytes_limit < draft.copied_bytes:
        operation.fail(
            f"Unable to complete the copy, the accumulated size increase of copy is {draft.copied_bytes}, "
            f"exceeding the limit {draft.copied_bytes_limit}"
        )
    try:
        _insert(container, path.last, value)
    except _OutOfReach as fault:
        operation.fail(f"error while adding value during copy: {fault}")


def _test(draft: _Draft, operation: _Operation) -> None:
    path = operation.path
    if isinstance(path, Unreadable):
        operation.fail(f"test operation failed to decode path: {path.message}")
    if path.text == "":
        found: object = draft.root
    else:
        container = draft.find(path)
        if container is None:
            operation.fail(f"test operation does not apply: is missing path: {path.text}: missing value")
        assert path.last is not None
        try:
            found = _look_up(container, path.last)
        except _OutOfReach as fault:
            operation.fail(f"error in test for path: '{path.text}': {fault}")
    if not _passes(found, operation):
        operation.fail(f"testing value {path.text} failed: test failed", reason=Reason.TEST_FAILED)


def _passes(found: object, operation: _Operation) -> bool:
    """NB: the text null is, to Kubernetes, an empty map or list, and nothing else."""
    value = operation.value
    if value is None and operation.null_is_text:
        return found == {} or found == []
    if found is None:
        return value is None or value is _ABSENT
    return same(found, value)


def _refuse(_draft: _Draft, operation: _Operation) -> None:
    operation.fail(f"Unexpected kind: {operation.kind}")


_RUNNERS: Final = {"add": _add, "remove": _remove, "replace": _replace, "move": _move, "copy": _copy, "test": _test}


def _insert(container: Container, token: Token | None, value: object) -> None:
    assert token is not None
    if isinstance(container, dict):
        container[token.key] = value
    elif token.key == "-":
        container.append(value)
    elif token.place is None:
        raise _OutOfReach(f"value was not a proper array index: '{token.key}': {jsonpointer.index_fault(token.key)}")
    else:
        places = len(container) + 1
        container.insert(_reach(token.place, places) % places, value)


def _delete(container: Container, token: Token | None) -> None:
    assert token is not None
    if isinstance(container, list):
        del container[_existing(container, token)]
    elif token.key in container:
        del container[token.key]
    else:
        raise _OutOfReach(f"Unable to remove nonexistent key: {token.key}: missing value")


def _look_up(container: Container, token: Token) -> object:
    """NB: a missing key of a map is null, a missing index of a list is an error."""
    return container.get(token.key) if isinstance(container, dict) else container[_existing(container, token)]


def _existing(items: list[object], token: Token) -> int:
    if token.place is None:
        raise _OutOfReach(jsonpointer.index_fault(token.key))
    return _reach(token.place, len(items))


def _reach(index: int, places: int) -> int:
    if not -places <= index < places:
        raise _OutOfReach(f"Unable to access invalid index: {index}: invalid index referenced")
    return index


def _json_size(value: object) -> int:
    """The bytes of the JSON that Go writes, which escapes five characters more than others do."""
    try:
        text = orjson.dumps(value)
    except orjson.JSONEncodeError:
        raise PatchError("exceeded max depth") from None
    longer = 5 * sum(map(text.count, (b"<", b">", b"&"))) + 3 * sum(map(text.count, ("\u2028".encode(), "\u2029".encode())))
    return len(text) + longer
