"""Suites out of files named `kadmit-test.yaml`: what stands in one, strictly, and everything that is wrong with it at once.

Files that a suite names are read through `Files`, so that reading a suite can be tried without a disk, and a caller can keep what
it has read.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from msgspec.structs import replace

from kadmit.api import registration, yaml
from kadmit.authoring import positions
from kadmit.authoring.manifests import File, Json, Manifest, Unreadable
from kadmit.authoring.suite import expecting, scripts
from kadmit.authoring.suite.expectation import Expected
from kadmit.authoring.suite.model import Ask, BadSuite, Case, Golden, Problem, Suite
from kadmit.authoring.suite.nodes import Node, Problems
from kadmit.matching.attributes import CONNECT, CREATE, DELETE, UPDATE
from kadmit.patch import jsonpatch, mergepatch
from kadmit.patch.errors import PatchError

SUITE = ("policies", "fixtures", "namespaces", "webhooks", "defaults", "cases")
_REQUEST = (
    "object",
    "oldObject",
    "operation",
    "subresource",
    "options",
    "namespace",
    "user",
    "dryRun",
    "fieldValidation",
    "webhooks",
    "expect",
)
VARIATION = ("name", *_REQUEST, "patch", "oldPatch", "fixtures")
CASE = (*VARIATION, "variations")
DEFAULTS = _REQUEST
_USER = ("name", "groups", "uid", "extra")
_HOOKS = (registration.MUTATING_WEBHOOKS, registration.VALIDATING_WEBHOOKS)
_REPEATED = re.compile(r"line ([0-9]{1,9}): (.*)", re.DOTALL)
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")


class Files(Protocol):
    """What a suite may ask about files: a seam, because only commands touch the disk."""

    def manifests(self, path: str) -> Sequence[Manifest]:
        """The objects of a file. Raises Unreadable."""

    def found(self, pattern: str) -> Sequence[str]:
        """The files that a path, a folder or a glob names, sorted; none if there are none. Raises Unreadable."""

    def text(self, path: str) -> str | None:
        """What a file holds, None if it is not there. Raises Unreadable."""


def read(file: File, files: Files) -> Suite:
    """Raises BadSuite."""
    problems = Problems(file)
    try:
        documents = list(yaml.load_all(file.data))
    except yaml.YamlError as e:
        raise BadSuite([Problem(file.name, *(positions.fault(file.data) or (1, 1)), str(e))]) from None
    if len(documents) > 1:
        raise BadSuite([Problem(file.name, 1, 1, f"holds {len(documents)} documents: a suite is one")])
    document = documents[0] if documents else yaml.Document(None)
    problems.found += (_repeated(file.name, text) for text in document.repeated)
    reading = _Reading(file, files, problems)
    made = reading.suite(Node(problems, (), document.value))
    if problems.found:
        raise BadSuite(sorted(dict.fromkeys(problems.found), key=lambda p: (p.line, p.column)), tuple(reading.depends))
    return made


def _repeated(name: str, text: str) -> Problem:
    found = _REPEATED.fullmatch(text)
    return Problem(name, int(found[1]) if found else 1, 1, found[2] if found else text)


class _Layers:
    """A request as its layers say: a variation, its case, the defaults. The first that has a key decides."""

    def __init__(self, *nodes: Node) -> None:
        self.nodes = nodes

    def find(self, key: str) -> Node | None:
        return next((node.at(key) for node in self.nodes if node.has(key)), None)

    def all(self, key: str) -> list[Node]:
        """From the most general to the most special."""
        return [node.at(key) for node in reversed(self.nodes) if node.has(key)]


class _Reading:
    """One suite on its way from a document to data."""

    def __init__(self, file: File, files: Files, problems: Problems) -> None:
        self._file = file
        self._files = files
        self._problems = problems
        self._folder = posixpath.dirname(file.name)
        self.depends: dict[str, None] = {file.name: None}
        self._hooks: set[str] = set()
        self._goldens: dict[str, Node] = {}
        self._sources = {posixpath.normpath(file.name)}  # what a golden file would be written over

    def suite(self, node: Node) -> Suite:
        if not node.known(SUITE):
            return Suite(self._file, ())
        policies = self._objects(node.at("policies")) if node.has("policies") else []
        self._check_policies(node, policies)
        fixtures = self._objects(node.at("fixtures")) if node.has("fixtures") else []
        namespaces = self._namespaces(node.at("namespaces")) if node.has("namespaces") else []
        present = (*policies, *fixtures, *namespaces)
        self._hooks = webhook_names(present)
        scripted = scripts.read(node.at("webhooks"), self._hooks) if node.has("webhooks") else {}
        defaults = node.at("defaults") if node.has("defaults") else Node(self._problems, (), {})
        defaults.known(DEFAULTS)
        cases = tuple(self._cases(node, defaults))
        for path in self._goldens.keys() & self._sources:
            self._goldens[path].complain_at_value(f'"{path}" is a file that the suite reads', "--update would write over it")
        return Suite(self._file, cases, present, scripted, tuple(self.depends))

    # ------------------------------------------------------------ what is there

    def _objects(self, node: Node) -> list[Manifest]:
        return [manifest for element in node.elements() for manifest in self._listed(element)]

    def _listed(self, node: Node) -> Iterator[Manifest]:
        """An object that stands here, or those of the files that a path names."""
        if isinstance(node.value, dict):
            yield self._inline(node)
            return
        pattern = self._path(node.text(wanted="an object, or the path of a file"))
        self.depends[pattern] = None
        try:
            found = self._files.found(pattern) if node.value else []
        except Unreadable as e:
            node.complain_at_value(str(e))
            return
        if not found and isinstance(node.value, str):
            node.complain_at_value(f'"{node.value}" names no file', f"looked for {pattern}")
        for path in found:
            yield from self._manifests(node, path)

    def _path(self, name: str) -> str:
        return posixpath.normpath(posixpath.join(self._folder, name))

    def _manifests(self, node: Node, path: str) -> Sequence[Manifest]:
        self.depends[path] = None
        self._sources.add(path)
        try:
            found = self._files.manifests(path)
        except Unreadable as e:
            node.complain_at_value(str(e))
            return ()
        for manifest in found:
            for text in manifest.repeated:
                node.complain_at_value(f"{path}: {text}")
        return found

    def _inline(self, node: Node) -> Manifest:
        for key in ("apiVersion", "kind"):
            if not node.get(key, Node.text, ""):
                node.complain(f"an object must have {key}")
        return Manifest(self._file, 0, node.value, node.path)

    def _namespaces(self, node: Node) -> Iterator[Manifest]:
        """By name, with their labels."""
        for name, labels in node.members():
            listed = {} if labels.value is None else {key: value.text() for key, value in labels.members()}
            metadata = {"name": name, "labels": {"kubernetes.io/metadata.name": name, **listed}}
            value = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata, "status": {"phase": "Active"}}
            yield Manifest(self._file, 0, value, labels.path)

    def _check_policies(self, node: Node, policies: Sequence[Manifest]) -> None:
        if policies and not any(m.kind.group == registration.GROUP for m in policies):
            node.at("policies").complain("holds no policy, binding or webhook configuration", "other objects are fixtures")

    # ------------------------------------------------------------ cases

    def _cases(self, node: Node, defaults: Node) -> Iterator[Case]:
        listed = node.at("cases").elements(wanted="a list of cases")
        if node.has("cases") and isinstance(node.value["cases"], list) and not listed:
            node.at("cases").complain("there are none: a suite without cases tests nothing")
        names: set[str] = set()
        for element in listed:
            if element.known(CASE):
                for case in self._variations(element, defaults):
                    if case.name in names:
                        element.complain_at_value(f'there is another case "{case.name}"')
                    names.add(case.name)
                    yield case

    def _variations(self, node: Node, defaults: Node) -> Iterator[Case]:
        name = self._name(node)
        if not node.has("variations"):
            yield self._case(name, node, _Layers(node, defaults))
            return
        listed = node.at("variations").elements(wanted="a list of variations")
        if not listed:
            node.at("variations").complain("there are none: this case tests nothing")
        for element in listed:
            if element.known(VARIATION):
                yield self._case(f"{name}[{self._name(element)}]", element, _Layers(element, node, defaults))

    def _name(self, node: Node) -> str:
        name = node.at("name").text() if node.has("name") else ""
        if not node.has("name"):
            node.complain("must have a name")
        elif not name or name != name.strip() or "\n" in name or "::" in name:
            node.at("name").complain_at_value("must be a line of text without :: and without blanks around it")
        return name

    def _case(self, name: str, node: Node, layers: _Layers) -> Case:
        expect = layers.find("expect")
        if expect is None:
            node.complain("must expect something", "expect: admitted")
        expected = expecting.read(expect, self._expected_object) if expect is not None else Expected()
        scripted: dict[str, Any] = {}
        for webhooks in layers.all("webhooks"):
            scripted |= scripts.read(webhooks, self._hooks)
        fixtures = tuple(m for listed in layers.all("fixtures") for m in self._objects(listed))
        golden = self._golden(expect, name) if expect is not None and expect.has("golden") else None
        return Case(name, self._ask(node, layers), expected, node.path, fixtures, scripted, golden)

    def _golden(self, expect: Node, name: str) -> Golden:
        node = expect.at("golden")
        path = self._path(node.text().replace("{case}", _NOT_PLAIN.sub("-", name).strip("-")))
        if path in self._goldens:
            node.complain_at_value(f'another case has the golden file "{path}"', "write {case} in the path for the case's name")
        self._goldens[path] = node
        self.depends[path] = None
        try:
            return Golden(path, self._files.text(path))
        except Unreadable as e:
            node.complain_at_value(str(e))
            return Golden(path)

    # ------------------------------------------------------------ requests

    def _ask(self, node: Node, layers: _Layers) -> Ask:
        found = layers.find
        user = found("user")
        named = self._user(user) if user is not None else Ask()
        operation, subresource = found("operation"), found("subresource")
        new = self._patched(self._referred(found("object")), layers.all("patch"))
        old = self._patched(self._referred(found("oldObject")), layers.all("oldPatch"))
        ask = replace(
            named,
            object=new,
            old=old,
            operation=operation.one_of((CREATE, UPDATE, DELETE, CONNECT)) if operation is not None else "",
            subresource=subresource.text() if subresource is not None else "",
            options=_read(found("options"), Node.object, {}),
            namespace=_read(found("namespace"), Node.text, ""),
            dry_run=_read(found("dryRun"), Node.flag, False),
            field_validation=_read(found("fieldValidation"), _validation, "Strict") or "Strict",
        )
        _check_request(node, ask)
        return ask

    def _user(self, node: Node) -> Ask:
        if isinstance(node.value, str):
            return Ask(user=node.text())
        if not node.known(_USER):
            return Ask()
        if not node.get("name", Node.text, ""):
            node.complain("must have a name")
        extra = {key: value.texts() for key, value in node.at("extra").members()} if node.has("extra") else {}
        name, uid = node.get("name", Node.text, ""), node.get("uid", Node.text, "")
        return Ask(user=name, groups=node.get("groups", Node.texts, ()), uid=uid, extra=extra)

    def _expected_object(self, node: Node) -> Json | None:
        """NB: an expected object need not say what it is; it only stands beside the one that was admitted."""
        if isinstance(node.value, dict):
            return node.value
        found = self._referred(node)
        return None if found is None else found.value

    def _referred(self, node: Node | None) -> Manifest | None:
        """The object that stands here, or the one that `file`, `file#2` or `file#Kind/name` refers to."""
        if node is None:
            return None
        if isinstance(node.value, dict):
            return self._inline(node)
        path, _, which = node.text(wanted="an object, or the path of a file").partition("#")
        if not path:
            return None
        path = self._path(path)
        manifests = self._manifests(node, path)
        found = [m for i, m in enumerate(manifests, 1) if which in ("", str(i), m.name, f"{m.kind.kind}/{m.name}")]
        if len(found) == 1:
            return found[0]
        if manifests:
            _complain_of_reference(node, path, which, manifests, found)
        return None

    def _patched(self, manifest: Manifest | None, patches: Sequence[Node]) -> Manifest | None:
        for node in patches:
            if manifest is None:
                node.complain("there is no object to patch")
                return None
            try:
                value = _apply(node, manifest.value)
            except PatchError as e:
                node.complain(f"cannot be applied: {e}")
                continue
            manifest = replace(manifest, value=value)
        return manifest


def _read(node: Node | None, read: Any, otherwise: Any) -> Any:
    return otherwise if node is None else read(node)


def _validation(node: Node) -> str:
    return node.one_of(("Strict", "Warn", "Ignore"))


def _apply(node: Node, value: Json) -> Json:
    """A list is a JSON patch, an object a merge patch. Raises PatchError."""
    if isinstance(node.value, list):
        operations = [e.object(wanted="a JSON Patch operation") for e in node.elements()]
        made: object = jsonpatch.decode(operations).apply(value) if all(operations) else value
    else:
        made = mergepatch.apply(value, node.object(wanted="a merge patch, or a list of JSON Patch operations"))
    return made if isinstance(made, dict) else value


def _check_request(node: Node, ask: Ask) -> None:
    if ask.object is None and ask.old is None and not node.problems.found:
        node.complain("must have an object, or the oldObject that is deleted or connected to")
    elif ask.object is None and ask.operation in (CREATE, UPDATE):
        node.complain(f"{ask.operation} must have an object")
    if ask.operation == CREATE and ask.old is not None and not ask.subresource:
        node.complain("what is created has no oldObject", "operation: UPDATE")
    if ask.options and ask.operation not in ("", CONNECT):
        node.complain("only CONNECT has options")


def _complain_of_reference(node: Node, path: str, which: str, manifests: Sequence[Manifest], found: Sequence[Manifest]) -> None:
    there = ", ".join(f"#{i} {m.kind.kind}/{m.name}" for i, m in enumerate(manifests, 1))
    if found:
        node.complain_at_value(f"{path} holds {len(found)} such objects: say which", there)
    else:
        node.complain_at_value(f'{path} holds no object "#{which}"', there)


def webhook_names(manifests: Iterable[Manifest]) -> set[str]:
    """The names of all webhooks of these configurations."""
    configurations = [m.value for m in manifests if m.kind.group == registration.GROUP and m.kind.kind in _HOOKS]
    listed = [c["webhooks"] for c in configurations if isinstance(c.get("webhooks"), list)]
    return {str(hook.get("name")) for hooks in listed for hook in hooks if isinstance(hook, dict)}
