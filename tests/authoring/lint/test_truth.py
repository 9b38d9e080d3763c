"""What the rules say is what the engine does: mutations that are called wrong fail, and what is proposed instead works."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from kadmit.authoring import checking, manifests
from kadmit.authoring.lint.project import Policy, Project
from kadmit.authoring.lint.rule import Finding
from kadmit.authoring.manifests import File

CORPUS = Path(__file__).parent / "corpus"
NOW = datetime(2026, 11, 15, tzinfo=UTC)
FAILING = {"KA101", "KA102", "KA104", "KA105", "KA110"}  # what the engine must refuse


def policies(data: bytes) -> tuple[Project, list[Finding]]:
    read = manifests.read(File("policy.yaml", data))
    return checking.project_of(read, NOW), list(checking.check(read, now=NOW).findings)


def mutating(project: Project) -> list[Policy]:
    return [policy for policy in project.policies if policy.mutating]


def _told(path: Path) -> set[str]:
    return {line.split()[2] for line in path.read_text().splitlines() if line.startswith("# expect: ")}


FAILED = [path for path in sorted((CORPUS / "flawed").glob("*.yaml")) if _told(path) & FAILING - {"KA110"}]
ATOMIC = [path for path in FAILED if "KA101" in _told(path)]


@pytest.mark.parametrize("path", FAILED, ids=lambda path: path.stem)
def test_a_mutation_that_is_called_wrong_fails(path: Path) -> None:
    project, _ = policies(path.read_bytes())
    for policy in mutating(project):
        for kind in policy.kinds:
            results = [project.trials.run(policy, kind, sample.value) for sample in project.trials.samples(kind)]
            assert results
            assert None in results


@pytest.mark.parametrize("path", sorted((CORPUS / "sound").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_mutation_that_is_called_sound_works_on_every_sample_that_it_is_for(path: Path) -> None:
    project, _ = policies(path.read_bytes())
    for policy in mutating(project):
        for kind in policy.kinds:
            for sample in project.trials.samples(kind):
                if project.trials.applies(policy, kind, sample.value):
                    assert project.trials.run(policy, kind, sample.value) is not None, sample.text


@pytest.mark.parametrize("path", ATOMIC, ids=lambda path: path.stem)
def test_what_is_proposed_instead_of_an_atomic_value_works(path: Path) -> None:
    project, found = policies(path.read_bytes())
    proposals = [f.fix.partition("\n")[2] for f in found if f.code == "KA101"]
    (policy,) = mutating(project)
    changed = 0
    for text in proposals:
        assert text
        mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": text}}
        made = {**policy.made, "spec": {**policy.spec, "mutations": [mutation]}}
        repaired = checking.project_of(policy.project.manifests, NOW)
        repaired.policies.clear()
        repaired.add(policy.manifest, made)
        (again,) = repaired.policies
        for kind in again.kinds:
            for sample in repaired.trials.samples(kind):
                result = repaired.trials.run(again, kind, sample.value)
                assert result is not None, text
                changed += result != sample.value
    assert changed
