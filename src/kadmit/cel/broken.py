"""What is wrong with a text that is not plainly valid; and its tree, should nothing be wrong after all.

`recovery` reads the text and reports what the grammar objects to. Then the tree of whatever it could make out is built,
because that may bring up more: reserved names, bad literals, misused macros. Where something is missing in that tree,
cel-go goes on without it, and so does this.
"""

from collections.abc import Callable, Generator, Sequence

from kadmit.cel import literals, recovery
from kadmit.cel.ast import Call, Expr, ListExpr, MapEntry, MapExpr, Select, StructExpr, StructField
from kadmit.cel.builder import NO_NODE, RESERVED, Builder
from kadmit.cel.recovery import HaltedError, Reader, Tree, Word
from kadmit.cel.source import NOWHERE, Location

_OPERATORS = {
    "<": "_<_",
    "<=": "_<=_",
    ">=": "_>=_",
    ">": "_>_",
    "==": "_==_",
    "!=": "_!=_",
    "in": "@in",
    "*": "_*_",
    "/": "_/_",
    "%": "_%_",
    "+": "_+_",
    "-": "_-_",
}

# Where an error of the empty text is put.
_BEFORE_ALL = Location(1, -1)

# A visit asks for the nodes of subtrees and gives its own.
_Visit = Generator[Tree | None, Expr, Expr]


def parse(text: str, builder: Builder) -> Expr | None:
    """Reports into the builder's issues. The tree means something only if there are none."""

    def report(offset: int, message: str) -> None:
        builder.issues.add(builder.source.location(offset) if text else _BEFORE_ALL, message)

    try:
        return _Visitor(builder).build(Reader(text, report).read())
    except HaltedError as halted:
        if str(halted):
            builder.issues.add(NOWHERE, str(halted))
        return None


def _innermost(tree: Tree | None) -> Tree | None:
    """Down to the first tree that is more than a wrapping of another."""
    while tree is not None:
        if tree.kind in ("expr", "conditionalOr", "conditionalAnd", "nested"):
            if tree.words.get("op") or tree.words.get("ops"):
                return tree
            tree = tree.part("e")
        elif tree.kind in _WRAPPED and not tree.words.get("op"):
            tree = tree.child(_WRAPPED[tree.kind])
        else:
            return tree
    return None


_WRAPPED = {"relation": "calc", "calc": "unary", "memberExpr": "member", "member": "primary", "constantLiteral": "literal"}
_COUNTED = frozenset(("expr", "relation", "product", "sum", "select", "memberCall", "index"))


class _Visitor:
    """Builds nodes in the order of cel-go. Visits are generators on a stack of our own: trees may be deep."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._depth = 0

    def build(self, root: Tree) -> Expr:
        visits: list[_Visit] = [self._visit(root.child("expr"))]
        result: Expr | None = None
        while visits:
            try:
                wanted = next(visits[-1]) if result is None else visits[-1].send(result)
            except StopIteration as done:
                visits.pop()
                result = done.value
            else:
                visits.append(self._visit(wanted))
                result = None
        assert result is not None
        return result

    def _visit(self, tree: Tree | None) -> _Visit:
        tree = _innermost(tree)
        visit = _VISITS.get(tree.kind) if tree is not None else None
        if tree is None or visit is None:
            return self._unknown()
        return self._counted(visit(self, tree)) if tree.kind in _COUNTED else visit(self, tree)

    def _counted(self, visit: _Visit) -> _Visit:
        self._depth += 1
        if self._depth > recovery.MAX_DEPTH:
            raise HaltedError("max recursion depth exceeded")
        result = yield from visit
        self._depth -= 1
        return result

    def _unknown(self) -> _Visit:
        """Nothing could be made out: an error has been reported for it already."""
        yield from ()
        return self._builder.nothing(NO_NODE)

    def _id(self, word: Word | None) -> int:
        """An id at a word; none at all where the word is missing."""
        return self._builder.id(word.offset) if word is not None else NO_NODE

    def _all(self, trees: Sequence[Tree]) -> Generator[Tree | None, Expr, list[Expr]]:
        found: list[Expr] = []
        for tree in trees:
            node = yield tree
            found.append(node)
        return found

    def conditional(self, tree: Tree) -> _Visit:
        condition = yield tree.part("e")
        node = self._id(tree.word("op"))
        then = yield tree.part("e1")
        otherwise = yield tree.part("e2")
        return Call(node, "_?_:_", None, (condition, then, otherwise))

    def both(self, tree: Tree) -> _Visit:
        return (yield from self._chain(tree, "_&&_"))

    def either(self, tree: Tree) -> _Visit:
        return (yield from self._chain(tree, "_||_"))

    def _chain(self, tree: Tree, function: str) -> _Visit:
        terms = [(yield tree.part("e"))]
        nodes = []
        for word, term in zip(tree.words["ops"], tree.parts["e1"], strict=True):
            terms.append((yield term))
            nodes.append(self._id(word))
        return self._builder.logic(function, terms, nodes)

    def operation(self, tree: Tree) -> _Visit:
        word = tree.word("op")
        if word is None or word.text not in _OPERATORS:
            return self._builder.report(tree.start.offset, "operator not found")
        left = yield tree.child(tree.rule.name, 0)
        node = self._id(word)
        right = yield tree.child(tree.rule.name, 1)
        return Call(node, _OPERATORS[word.text], None, (left, right))

    def negation(self, tree: Tree) -> _Visit:
        return (yield from self._prefixed(tree, "!_"))

    def negative(self, tree: Tree) -> _Visit:
        return (yield from self._prefixed(tree, "-_"))

    def _prefixed(self, tree: Tree, function: str) -> _Visit:
        words = tree.words.get("ops", [])
        if len(words) % 2 == 0:
            return (yield tree.child("member"))
        node = self._id(words[0])
        operand = yield tree.child("member")
        return Call(node, function, None, (operand,))

    def unary(self, tree: Tree) -> _Visit:
        """No alternative of it could be chosen."""
        yield from ()
        return self._builder.literal(tree.start.offset, "<<error>>")

    def select(self, tree: Tree) -> _Visit:
        operand = yield tree.child("member")
        dot, field = tree.word("op"), tree.part("id")
        if dot is None or field is None:
            return self._builder.nothing(tree.start.offset)
        name, complaint = _name_of(field)
        if complaint:
            self._builder.report(field.start.offset, complaint)
        if tree.word("opt") is not None:
            return self._builder.optional_select(dot.offset, field.start.offset, operand, name)
        return Select(self._id(dot), operand, name)

    def member_call(self, tree: Tree) -> _Visit:
        target = yield tree.child("member")
        name = tree.word("id")
        if name is None:
            return self._builder.nothing(tree.start.offset)
        node = self._id(tree.word("open"))
        args = yield from self._arguments(tree)
        return self._builder.call(node, name.text, target, args)

    def _arguments(self, tree: Tree) -> Generator[Tree | None, Expr, list[Expr]]:
        args = tree.part("args")
        return (yield from self._all(args.parts["e"])) if args is not None and "e" in args.parts else []

    def index(self, tree: Tree) -> _Visit:
        operand = yield tree.child("member")
        bracket = tree.word("op")
        if bracket is None:
            return self._builder.nothing(tree.start.offset)
        node = self._id(bracket)
        index = yield tree.part("index")
        return self._builder.index(node, operand, index, optional=tree.word("opt") is not None)

    def ident(self, tree: Tree) -> _Visit:
        yield from ()
        name = tree.word("id")
        if name is None:
            return self._builder.nothing(tree.start.offset)
        dot = tree.word("leadingDot") is not None
        return self._builder.ident(tree.start.offset, name.offset, name.text, dot=dot)

    def global_call(self, tree: Tree) -> _Visit:
        name = tree.word("id")
        if name is None:
            return self._builder.nothing(tree.start.offset)
        if name.text in RESERVED:
            return self._builder.report(tree.start.offset, f"reserved identifier: {name.text}")
        function = f".{name.text}" if tree.word("leadingDot") is not None else name.text
        node = self._id(tree.word("op"))
        args = yield from self._arguments(tree)
        return self._builder.call(node, function, None, args)

    def list(self, tree: Tree) -> _Visit:
        node = self._id(tree.word("op"))
        elements = tree.part("elems")
        found: list[Expr] = []
        optional: list[int] = []
        for number, element in enumerate(elements.parts.get("elems", []) if elements is not None else []):
            found.append((yield element.part("e")))
            mark = element.word("opt")
            if mark is not None and not self._builder.optional_syntax:
                self._builder.report(mark.offset, "unsupported syntax '?'")
            elif mark is not None:
                optional.append(number)
        return ListExpr(node, tuple(found), frozenset(optional))

    def map(self, tree: Tree) -> _Visit:
        node = self._id(tree.word("op"))
        entries = tree.part("entries")
        return MapExpr(node, (yield from self._entries(entries)) if entries is not None else ())

    def _entries(self, tree: Tree) -> Generator[Tree | None, Expr, tuple[MapEntry, ...]]:
        keys, values = tree.parts.get("keys", []), tree.parts.get("values", [])
        found = []
        for number, colon in enumerate(tree.words.get("cols", [])):
            node = self._id(colon)
            if number >= len(keys) or number >= len(values):
                return ()
            key = keys[number]
            optional = key.word("opt") is not None
            if optional and not self._builder.optional_syntax:
                self._builder.report(key.start.offset, "unsupported syntax '?'")
                continue
            key_node = yield key.part("e")
            value = yield values[number]
            found.append(MapEntry(node, key_node, value, optional))
        return tuple(found)

    def struct(self, tree: Tree) -> _Visit:
        name = ".".join(word.text for word in tree.words.get("ids", []))
        node = self._id(tree.word("op"))
        fields = tree.part("entries")
        found = (yield from self._fields(fields)) if fields is not None else ()
        return StructExpr(node, f".{name}" if tree.word("leadingDot") is not None else name, found)

    def _fields(self, tree: Tree) -> Generator[Tree | None, Expr, tuple[StructField, ...]]:
        colons, values = tree.words.get("cols", []), tree.parts.get("values", [])
        found = []
        for number, field in enumerate(tree.parts.get("fields", [])):
            if number >= len(colons) or number >= len(values):
                return ()
            node = self._id(colons[number])
            optional = field.word("opt") is not None
            if optional and not self._builder.optional_syntax:
                self._builder.report(field.start.offset, "unsupported syntax '?'")
                continue
            name, complaint = _name_of(field.part("name"))
            if complaint:
                self._builder.report(tree.start.offset, complaint)
                continue
            value = yield values[number]
            found.append(StructField(node, name, value, optional))
        return tuple(found)

    def _literal(self, tree: Tree) -> str:
        sign, word = tree.word("sign"), tree.word("tok")
        return (sign.text if sign is not None else "") + (word.text if word is not None else "")

    def int(self, tree: Tree) -> _Visit:
        yield from ()
        return self._builder.number(tree.start.offset, self._literal(tree), literals.int_value)

    def uint(self, tree: Tree) -> _Visit:
        yield from ()
        return self._builder.number(tree.start.offset, self._literal(tree), literals.uint_value)

    def double(self, tree: Tree) -> _Visit:
        yield from ()
        return self._builder.number(tree.start.offset, self._literal(tree), literals.double_value)

    def string(self, tree: Tree) -> _Visit:
        yield from ()
        return self._builder.text(tree.start.offset, self._literal(tree), literals.string_value)

    def bytes(self, tree: Tree) -> _Visit:
        yield from ()
        return self._builder.text(tree.start.offset, self._literal(tree)[1:], literals.bytes_value)

    def constant(self, tree: Tree) -> _Visit:
        yield from ()
        return self._builder.literal(tree.start.offset, {"true": True, "false": False}.get(tree.kind))


def _name_of(tree: Tree | None) -> tuple[str, str]:
    """The name of a field, or why there is none."""
    if tree is not None and tree.kind == "simpleIdentifier" and (word := tree.word("id")) is not None:
        return word.text, ""
    if tree is not None and tree.kind == "escapedIdentifier":
        return "", "unsupported syntax: '`'"
    return "", "unsupported ident kind"


_VISITS: dict[str, Callable[[_Visitor, Tree], _Visit]] = {
    "expr": _Visitor.conditional,
    "conditionalOr": _Visitor.either,
    "conditionalAnd": _Visitor.both,
    "relation": _Visitor.operation,
    "product": _Visitor.operation,
    "sum": _Visitor.operation,
    "logicalNot": _Visitor.negation,
    "negate": _Visitor.negative,
    "unary": _Visitor.unary,
    "select": _Visitor.select,
    "memberCall": _Visitor.member_call,
    "index": _Visitor.index,
    "ident": _Visitor.ident,
    "globalCall": _Visitor.global_call,
    "createList": _Visitor.list,
    "createStruct": _Visitor.map,
    "createMessage": _Visitor.struct,
    "int": _Visitor.int,
    "uint": _Visitor.uint,
    "double": _Visitor.double,
    "string": _Visitor.string,
    "bytes": _Visitor.bytes,
    "true": _Visitor.constant,
    "false": _Visitor.constant,
    "null": _Visitor.constant,
}
