"""Gatekeeper's Suites (test.gatekeeper.sh), where a template has CEL: then it is a policy, and its constraint is the params.

Gatekeeper itself makes a ValidatingAdmissionPolicy of such a template. What that policy holds is made here: the expressions as
they stand, `variables.params` and `variables.anyObject`, and the constraint's `match` as match conditions and selectors.
Violations are counted as gator counts them, whatever the constraint's enforcementAction says; the kind's own rules are not asked.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from kadmit.api import yaml
from kadmit.api.gojson import quoted
from kadmit.authoring import positions
from kadmit.authoring.foreign import decisions
from kadmit.authoring.manifests import File, Json, Manifest, Unreadable
from kadmit.authoring.suite.model import Ask, BadSuite, Case, Problem, Suite
from kadmit.authoring.suite.outcome import Fault, Outcome
from kadmit.authoring.suite.reading import Files
from kadmit.authoring.suite.texts import Text, pattern_error
from kadmit.matching.attributes import DELETE, UPDATE

TOOL = "gatekeeper"
_ENGINE = "K8sNativeValidation"
_GROUP, _VERSION = "constraints.gatekeeper.sh", "v1beta1"
_MATCHES = ("kinds", "namespaces", "excludedNamespaces", "name", "labelSelector", "namespaceSelector", "scope")
_REGISTRATION = "admissionregistration.k8s.io/v1"


class Assertion(Struct, frozen=True):
    """How many violations there must be, of those whose message the pattern matches: so many, or `yes` or `no`."""

    violations: int | bool = True
    message: str = ""

    def __str__(self) -> str:
        about = f" whose message matches {self.message}" if self.message else ""
        flag = "at least one violation" if self.violations else "no violation"
        return f"{flag if self.is_flag else f'{self.violations} violations'}{about}"

    @property
    def is_flag(self) -> bool:
        return isinstance(self.violations, bool)

    def holds(self, messages: Sequence[str]) -> bool:
        found = [m for m in messages if not self.message or Text(matches=self.message).holds(m)]
        return bool(found) == self.violations if self.is_flag else len(found) == self.violations


class Expected(Struct, frozen=True):
    """What a case asserts; without any assertion there must be no violations."""

    policy: str
    assertions: tuple[Assertion, ...] = ()

    @property
    def compares(self) -> bool:
        return False

    @property
    def follows(self) -> bool:
        return True

    def faults(self, outcome: Outcome) -> list[Fault]:
        messages = decisions.of(self.policy, outcome).messages
        told = "; ".join(messages) or "none"
        wrong = [a for a in self.assertions or (Assertion(violations=False),) if not a.holds(messages)]
        return [Fault("assertions", f"expected {assertion}, found {len(messages)}: {told}") for assertion in wrong]


class _Unable(Exception):
    """Something that cannot be expressed; the message says why."""


def read(file: File, files: Files) -> list[Suite]:
    """A suite for each test. Raises BadSuite."""
    try:
        documents = list(yaml.load_all(file.data))
    except yaml.YamlError as e:
        raise BadSuite([Problem(file.name, *(positions.fault(file.data) or (1, 1)), str(e))]) from None
    made: list[Suite] = []
    for number, document in enumerate(documents):
        raw = _mapping(document.value)
        if raw.get("kind") == "Suite" and str(raw.get("apiVersion")).startswith("test.gatekeeper.sh/"):
            for index, test in enumerate(_listed(raw.get("tests"))):
                made.append(_Reading(file, files, number, index, skipped=bool(raw.get("skip"))).suite(test))
    if not any(suite.cases for suite in made):
        raise BadSuite([Problem(file.name, 1, 1, "holds no Suite with cases")])
    return made


class _Reading:
    """One test on its way to a suite."""

    def __init__(self, file: File, files: Files, document: int, index: int, *, skipped: bool) -> None:
        self._file = file
        self._files = files
        self._document = document
        self._index = index
        self._skipped = skipped
        self._folder = posixpath.dirname(file.name)
        self._depends: dict[str, None] = {file.name: None}

    def suite(self, test: Json) -> Suite:
        name = str(test.get("name") or f"test {self._index + 1}")
        try:
            fixtures, policy, why = *self._fixtures(test), ""
        except _Unable as e:
            fixtures, policy, why = [], "", str(e)
        skipped = "its suite says skip" if self._skipped or test.get("skip") else ""
        cases = tuple(self._cases(test, name, policy, why, skipped))
        return Suite(self._file, cases, tuple(fixtures), {}, tuple(self._depends), self._document, TOOL)

    def _one(self, path: object, what: str) -> Manifest:
        """The one object of a file. Raises _Unable."""
        if not isinstance(path, str) or not path:
            raise _Unable(f"{what}: is not given")
        pattern = posixpath.normpath(posixpath.join(self._folder, path))
        self._depends[pattern] = None
        try:
            found = self._files.manifests(pattern)
        except Unreadable as e:
            raise _Unable(f"{what}: {e}") from None
        if len(found) != 1:
            raise _Unable(f"{what}: {pattern} holds {len(found)} objects")
        return found[0]

    # ------------------------------------------------------------ cases

    def _cases(self, test: Json, name: str, policy: str, why: str, skipped: str) -> Iterator[Case]:
        path = ("tests", str(self._index))
        listed = _listed(test.get("cases"))
        if test.get("invalid") or not listed:
            unable = "a constraint that is invalid" if test.get("invalid") else "a test without cases"
            yield Case(name, Ask(), Expected(policy), path, unable=unable, skipped=skipped)
        for number, case in enumerate(listed):
            title = f"{name}: {case.get('name') or f'case {number + 1}'}"
            at = (*path, "cases", str(number))
            off = skipped or ("its suite says skip" if case.get("skip") else "")
            try:
                if why:
                    raise _Unable(why)
                yield Case(title, self._ask(case), Expected(policy, _assertions(case)), at, skipped=off)
            except _Unable as e:
                yield Case(title, Ask(), Expected(policy), at, unable="" if off else str(e), skipped=off)

    def _ask(self, case: Json) -> Ask:
        if case.get("inventory"):
            raise _Unable("inventory: CEL sees no other objects")
        manifest = self._one(case.get("object"), "object")
        if manifest.kind.kind == "AdmissionReview":
            return _of_review(manifest)
        return Ask(object=manifest, operation="CREATE", field_validation="Ignore", policies_only=True)

    # ------------------------------------------------------------ the policy

    def _fixtures(self, test: Json) -> tuple[list[Manifest], str]:
        """What Gatekeeper makes of a template and a constraint, and the policy's name. Raises _Unable."""
        if test.get("expansion"):
            raise _Unable("expansion: objects that Gatekeeper would expand")
        template, constraint = self._one(test.get("template"), "template"), self._one(test.get("constraint"), "constraint")
        source = _source(template)
        kind = str(_at(template.value, "spec", "crd", "spec", "names").get("kind") or "")
        if constraint.kind.kind != kind:
            raise _Unable(f"constraint: is a {constraint.kind.kind}, the template makes {kind}")
        match = _at(constraint.value, "spec", "match")
        others = [key for key in match if key not in _MATCHES]
        if others:
            raise _Unable(f"constraint: match.{others[0]} is for Gatekeeper alone")
        name = f"gatekeeper-{template.name}"
        values = [
            _definition(kind),
            {**constraint.value, "apiVersion": f"{_GROUP}/{_VERSION}"},
            _policy(name, kind, source, match),
            _binding(name, constraint, match),
        ]
        return [Manifest(template.file, template.document, value, (value["kind"],)) for value in values], name


def _source(template: Manifest) -> Json:
    """Raises _Unable."""
    targets = _listed(_at(template.value, "spec").get("targets"))
    codes = [code for target in targets for code in _listed(target.get("code"))]
    found = [_mapping(code.get("source")) for code in codes if code.get("engine") == _ENGINE]
    if not found:
        raise _Unable("template: has Rego only")
    return dict(found[0])


def _assertions(case: Json) -> tuple[Assertion, ...]:
    """Raises _Unable."""
    return tuple(map(_assertion, _listed(case.get("assertions"))))


def _assertion(raw: Json) -> Assertion:
    violations, message = raw.get("violations", True), str(raw.get("message") or "")
    if isinstance(violations, str):
        violations = {"yes": True, "no": False}.get(violations, violations)
    if not isinstance(violations, int) or violations < 0:
        raise _Unable(f"assertions: violations must be yes, no or a number, is {violations}")
    fault = pattern_error(message) if message else ""
    if fault:
        raise _Unable(f"assertions: {fault}")
    return Assertion(violations, message)


def _of_review(manifest: Manifest) -> Ask:
    """A request that stands in an AdmissionReview. Raises _Unable."""
    request = _mapping(manifest.value.get("request"))
    user = _mapping(request.get("userInfo"))
    operation = str(request.get("operation") or "CREATE")

    def inside(key: str) -> Manifest | None:
        value = dict(_mapping(request.get(key)))
        whole = value.get("kind") and value.get("apiVersion")
        return Manifest(manifest.file, manifest.document, value, ("request", key)) if whole else None

    new, old = inside("object"), inside("oldObject")
    if operation == UPDATE and old is None:
        old = new  # NB: gator shows policies an update of nothing, which no server does
    if (old if operation == DELETE else new) is None:
        raise _Unable(f"object: its AdmissionReview lacks a whole object to {operation}")
    return Ask(
        object=None if operation == DELETE else new,
        old=old,
        operation=operation,
        user=str(user.get("username") or ""),
        groups=tuple(str(g) for g in user.get("groups") or ()),
        field_validation="Ignore",
        policies_only=True,
    )


# ---------------------------------------------------------------- what Gatekeeper would register


def _definition(kind: str) -> Json:
    plural = kind.lower()
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": _VERSION, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": plural}
    spec = {"group": _GROUP, "scope": "Cluster", "names": names, "versions": [version]}
    metadata = {"name": f"{plural}.{_GROUP}"}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata, "spec": spec}


def _policy(name: str, kind: str, source: Json, match: Mapping[str, Any]) -> Json:
    variables = [
        {"name": "anyObject", "expression": "request.operation == 'DELETE' ? oldObject : object"},
        {"name": "params", "expression": "has(params.spec) && has(params.spec.parameters) ? params.spec.parameters : null"},
    ]
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["CREATE", "UPDATE", "DELETE"]}
    conditions = [*_listed(source.get("matchCondition")), *_listed(source.get("matchConditions")), *_conditions(match)]
    spec: Json = {
        "paramKind": {"apiVersion": f"{_GROUP}/{_VERSION}", "kind": kind},
        "failurePolicy": source.get("failurePolicy") or "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": conditions,
        "variables": [*variables, *_listed(source.get("variables"))],
        "validations": _listed(source.get("validations")),
    }
    metadata = {"name": name}
    return {"apiVersion": _REGISTRATION, "kind": "ValidatingAdmissionPolicy", "metadata": metadata, "spec": spec}


def _binding(name: str, constraint: Manifest, match: Mapping[str, Any]) -> Json:
    selectors = {"objectSelector": match.get("labelSelector"), "namespaceSelector": match.get("namespaceSelector")}
    spec = {
        "policyName": name,
        "paramRef": {"name": constraint.name, "parameterNotFoundAction": "Allow"},
        "validationActions": ["Deny"],
        "matchResources": {key: value for key, value in selectors.items() if value is not None},
    }
    metadata = {"name": f"{name}-{constraint.name}"}
    return {"apiVersion": _REGISTRATION, "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata, "spec": spec}


def _conditions(match: Mapping[str, Any]) -> Iterator[Json]:
    """The parts of a constraint's match that no selector can say. NB: what has no namespace is in all of them, and in none."""
    kinds = _listed(match.get("kinds"))
    if kinds:
        yield {"name": "constraint-kinds", "expression": " || ".join(map(_of_kinds, kinds))}
    if match.get("namespaces"):
        told = _like("request.namespace", _patterns(match, "namespaces"))
        yield {"name": "constraint-namespaces", "expression": f"request.namespace == '' || {told}"}
    if match.get("excludedNamespaces"):
        told = _like("request.namespace", _patterns(match, "excludedNamespaces"))
        yield {"name": "constraint-excluded-namespaces", "expression": f"request.namespace == '' || !({told})"}
    if match.get("name"):
        yield {"name": "constraint-name", "expression": _like("request.name", [match["name"]])}
    if match.get("scope") in ("Cluster", "Namespaced"):
        sign = "==" if match["scope"] == "Cluster" else "!="
        yield {"name": "constraint-scope", "expression": f"request.namespace {sign} ''"}


def _patterns(raw: Mapping[str, Any], key: str) -> list[str]:
    """Raises _Unable."""
    found = raw.get(key) or []
    if not isinstance(found, list) or not all(isinstance(pattern, str) for pattern in found):
        raise _Unable(f"constraint: match: {key} must be a list of texts")
    return found


def _of_kinds(raw: Json) -> str:
    """Raises _Unable."""
    given = {"group": _patterns(raw, "apiGroups"), "kind": _patterns(raw, "kinds")}
    parts = [f"request.kind.{field} in {_texts(texts)}" for field, texts in given.items() if texts and "*" not in texts]
    return f"({' && '.join(parts)})" if parts else "true"


def _texts(values: Sequence[object]) -> str:
    return f"[{', '.join(quoted(str(v)) for v in values)}]"


def _like(what: str, patterns: Sequence[object]) -> str:
    """A `*` may stand at the ends of a pattern, and for anything."""
    texts = [".*".join(map(re.escape, str(p).split("*"))) for p in patterns]
    return " || ".join(f"{what}.matches({quoted(f'^{text}$')})" for text in texts)


# ---------------------------------------------------------------- shapes


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _listed(value: object) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _at(value: object, *path: str) -> Mapping[str, Any]:
    for key in path:
        value = _mapping(value).get(key)
    return _mapping(value)
