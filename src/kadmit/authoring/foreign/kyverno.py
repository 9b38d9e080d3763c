"""Kyverno's kyverno-test.yaml, as far as it is about policies of Kubernetes' own kinds.

Kyverno asks each policy by itself; a policy without a binding is asked, too; the kind's own rules are not. A result is `pass`
where the policy was about the object and had nothing against it, `fail` where it had, `skip` where it was not about it.
NB: Kyverno takes a result of `pass` or `fail` for fulfilled if the policy was not about the object at all. Here it is a failure.
"""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kadmit.api import registration, yaml
from kadmit.authoring import positions
from kadmit.authoring.foreign import decisions
from kadmit.authoring.foreign.decisions import FAIL, PASS, SKIP
from kadmit.authoring.manifests import File, Json, Manifest, Unreadable
from kadmit.authoring.suite.expectation import compared
from kadmit.authoring.suite.model import Ask, BadSuite, Case, Problem, Suite
from kadmit.authoring.suite.outcome import Fault, Outcome
from kadmit.authoring.suite.reading import Files
from kadmit.matching.attributes import CREATE, DELETE, UPDATE

TOOL = "kyverno"
_POLICIES = (registration.MUTATING_POLICY, registration.VALIDATING_POLICY)
_BINDINGS = registration.POLICY_OF
_PAYLOADS = ("jsonPayload", "jsonPayloads", "httpPayloads", "envoyPayloads")


class Expected(Struct, frozen=True):
    """What Kyverno calls a result. `patched`: the object after its mutation."""

    policy: str
    result: str
    patched: Json | None = None

    @property
    def compares(self) -> bool:
        return False

    @property
    def follows(self) -> bool:
        return True

    def faults(self, outcome: Outcome) -> list[Fault]:
        found = decisions.of(self.policy, outcome)
        faults = []
        if found.result != self.result:
            because = f": {'; '.join(found.messages)}" if found.messages else ""
            faults.append(Fault("result", f"expected {self.result}, found {found.result}{because}"))
        admitted = outcome.admission.object
        if self.patched is not None and admitted is not None:
            faults += compared("patchedResources", outcome.settled(self.patched), admitted)
        return faults


def read(file: File, files: Files) -> list[Suite]:
    """A suite for each policy of each test in the file. Raises BadSuite."""
    try:
        documents = list(yaml.load_all(file.data))
    except yaml.YamlError as e:
        raise BadSuite([Problem(file.name, *(positions.fault(file.data) or (1, 1)), str(e))]) from None
    made: list[Suite] = []
    for number, document in enumerate(documents):
        if isinstance(document.value, dict) and document.value.get("kind") == "Test":
            made += _Reading(file, files, number, document.value).suites()
    if not any(suite.cases for suite in made):
        raise BadSuite([Problem(file.name, 1, 1, "holds no kind: Test with results")])
    return made


class _Reading:
    """One test on its way to suites."""

    def __init__(self, file: File, files: Files, document: int, raw: Json) -> None:
        self._file = file
        self._files = files
        self._document = document
        self._raw = raw
        self._folder = posixpath.dirname(file.name)
        self._depends: dict[str, None] = {file.name: None}
        self._faults: dict[str, str] = {}  # by field: why its files cannot be used
        self._names: dict[str, int] = {}

    def suites(self) -> list[Suite]:
        policies, params = self._read("policies"), self._read("paramResources")
        resources, values = self._read("resources"), self._values()
        beside = [m for m in policies if m.kind.group != registration.GROUP and not m.kind.group.endswith("kyverno.io")]
        around = [*beside, *params, *_namespaces(self._file, values)]
        cases: dict[str, list[Case]] = {}
        for index, result in enumerate(_listed(self._raw.get("results"))):
            name = str(result.get("policy") or "").rpartition("/")[2]
            cases.setdefault(name, []).extend(self._cases(index, result, name, policies, resources, values))
        return [self._suite(name, listed, policies, around) for name, listed in cases.items()]

    def _suite(self, policy: str, cases: Sequence[Case], policies: Sequence[Manifest], around: Sequence[Manifest]) -> Suite:
        fixtures = (*around, *_alone(policy, policies))
        return Suite(self._file, tuple(cases), fixtures, {}, tuple(self._depends), self._document, TOOL)

    # ------------------------------------------------------------ files

    def _read(self, field: str) -> list[Manifest]:
        return [m for path in _texts(self._raw.get(field)) for m in self._manifests(field, path)]

    def _manifests(self, field: str, path: str) -> Sequence[Manifest]:
        if "://" in path:
            self._faults[field] = f"{field}: {path} is not on this machine"
            return ()
        pattern = posixpath.normpath(posixpath.join(self._folder, path))
        self._depends[pattern] = None
        try:
            found = self._files.found(pattern)
            made = [m for each in found for m in self._files.manifests(each)]
        except Unreadable as e:
            self._faults[field] = f"{field}: {e}"
            return ()
        self._depends |= dict.fromkeys(found)
        if not found:
            self._faults[field] = f"{field}: {pattern} is not there"
        return made

    def _values(self) -> Json:
        """Variables that a file has, or that stand here."""
        listed = [m.value for path in _texts([self._raw.get("variables")]) for m in self._manifests("variables", path)]
        inline = self._raw.get("values")
        return {**(listed[0] if listed else {}), **(inline if isinstance(inline, dict) else {})}

    # ------------------------------------------------------------ results

    def _cases(
        self,
        index: int,
        result: Json,
        policy: str,
        policies: Sequence[Manifest],
        resources: Sequence[Manifest],
        values: Json,
    ) -> Iterator[Case]:
        wanted = str(result.get("result") or "")
        meant = _meant(result, resources)
        unable = self._unable(result, policy, policies) or ("" if meant else _nobody(result))
        path = ("results", str(index))
        if unable:
            yield Case(self._name(policy, wanted, result.get("kind")), Ask(), Expected(policy, wanted), path, unable=unable)
            return
        for manifest in meant:
            name = self._name(policy, wanted, f"{manifest.kind.kind}/{manifest.name}")
            patched, missing = self._patched(result, manifest)
            ask = self._ask(result, manifest, values)
            yield Case(name, ask, Expected(policy, wanted, patched), path, unable=missing)

    def _name(self, policy: str, wanted: str, about: object) -> str:
        """NB: a test may say the same twice."""
        name = f"{policy}: {about or 'everything'} {wanted}"
        self._names[name] = self._names.get(name, 0) + 1
        return name if self._names[name] == 1 else f"{name} ({self._names[name]})"

    def _unable(self, result: Json, policy: str, policies: Sequence[Manifest]) -> str:
        """Why a result cannot be expressed; nothing if it can."""
        if self._faults:
            return next(iter(self._faults.values()))
        kinds = [m.kind for m in policies if m.name == policy and m.kind.kind not in _BINDINGS]
        if not kinds:
            return f'no file has a policy "{policy}"'
        if kinds[0].group != registration.GROUP or kinds[0].kind not in _POLICIES:
            return f"{policy} is a {kinds[0].kind} of {kinds[0].group}, not one of Kubernetes' own policies"
        payloads = [key for key in _PAYLOADS if self._raw.get(key)]
        if payloads:
            return f"{payloads[0]}: no object of a cluster"
        if any(spec.get("subresource") for spec in _listed(result.get("resourceSpecs"))):
            return "resourceSpecs: a subresource says not of which object"
        return "" if result.get("result") in (PASS, FAIL, SKIP) else f"result: {result.get('result')} is not pass, fail or skip"

    def _patched(self, result: Json, manifest: Manifest) -> tuple[Json | None, str]:
        """The object that a mutation is to give, and why it cannot be had."""
        path = result.get("patchedResources")
        if not isinstance(path, str) or not path:
            return None, ""
        found = [m for m in self._manifests("patchedResources", path) if _key(m) == _key(manifest)]
        fault = self._faults.pop("patchedResources", "")
        return (found[0].value, "") if found else (None, fault or f"patchedResources: {path} does not hold this object")

    def _ask(self, result: Json, manifest: Manifest, values: Json) -> Ask:
        given = _mapping(values.get("globalValues")).get("request.operation")
        operation = str(result.get("operation") or given or CREATE).upper()
        ask = replace(self._user(), object=manifest, operation=operation, field_validation="Ignore", policies_only=True)
        if operation == UPDATE:
            return replace(ask, old=manifest)
        return replace(ask, object=None, old=manifest) if operation == DELETE else ask

    def _user(self) -> Ask:
        path = self._raw.get("userinfo")
        found = self._manifests("userinfo", path) if isinstance(path, str) and path else ()
        info = _mapping(found[0].value.get("userInfo")) if found else {}
        name = info.get("username")
        extra = {str(k): tuple(_texts(v)) for k, v in _mapping(info.get("extra")).items()}
        return Ask(user=str(name), groups=tuple(_texts(info.get("groups"))), extra=extra) if name else Ask()


# ---------------------------------------------------------------- shapes


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _listed(value: object) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _key(manifest: Manifest) -> tuple[object, ...]:
    return manifest.kind, manifest.metadata.get("namespace") or "", manifest.name


def _meant(result: Json, resources: Sequence[Manifest]) -> list[Manifest]:
    """The resources that a result names, all of its kind if it names none."""
    names = [*_texts(result.get("resources")), *_texts([result.get("resource")])]
    specs = _listed(result.get("resourceSpecs"))
    kind = str(result.get("kind") or "").rpartition("/")[2]
    of_kind = [m for m in resources if not kind or kind in (m.kind.kind, "*")]
    if not names and not specs:
        return of_kind
    by_name = [m for name in names for m in of_kind if name in (m.name, f"{m.metadata.get('namespace') or ''}/{m.name}")]
    return [*by_name, *(m for spec in specs for m in of_kind if _fits(spec, m))]


def _fits(spec: Json, manifest: Manifest) -> bool:
    given = {k: v for k, v in spec.items() if v}
    found = {
        "group": manifest.kind.group,
        "version": manifest.kind.version,
        "kind": manifest.kind.kind,
        "namespace": manifest.metadata.get("namespace") or "",
        "name": manifest.name,
    }
    return all(found.get(key) == value for key, value in given.items())


def _nobody(result: Json) -> str:
    names = ", ".join([*_texts(result.get("resources")), *_texts([result.get("resource")])])
    return f"no resource is a {result.get('kind')} named {names}" if names else f"no resource is a {result.get('kind')}"


def _namespaces(file: File, values: Json) -> Iterator[Manifest]:
    """Namespaces with the labels that a selector may ask for."""
    for raw in _listed(values.get("namespaces")):
        yield Manifest(file, 0, {**raw, "apiVersion": "v1", "kind": "Namespace"})
    for raw in _listed(values.get("namespaceSelector")):
        labels = {"kubernetes.io/metadata.name": raw.get("name"), **_mapping(raw.get("labels"))}
        metadata = {"name": raw.get("name"), "labels": labels}
        yield Manifest(file, 0, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})


def _alone(policy: str, manifests: Sequence[Manifest]) -> Iterator[Manifest]:
    """A policy and its bindings, or one that binds it to everything if it has none."""
    for manifest in manifests:
        if manifest.kind.group != registration.GROUP or manifest.kind.kind not in _POLICIES or manifest.name != policy:
            continue
        yield manifest
        bindings = [m for m in manifests if _binds(m, manifest)]
        yield from bindings or [_binding(manifest)]


def _binds(manifest: Manifest, policy: Manifest) -> bool:
    named = _mapping(manifest.value.get("spec")).get("policyName")
    return _BINDINGS.get(manifest.kind.kind) == policy.kind.kind and named == policy.name


def _binding(policy: Manifest) -> Manifest:
    is_mutating = policy.kind.kind == _POLICIES[0]
    spec: Json = {"policyName": policy.name} | ({} if is_mutating else {"validationActions": ["Deny"]})
    kind = f"{policy.kind.kind}Binding"
    value = {"apiVersion": policy.value["apiVersion"], "kind": kind, "metadata": {"name": policy.name}, "spec": spec}
    return replace(policy, value=value)
