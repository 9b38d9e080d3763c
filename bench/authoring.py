"""What testing policies costs: a thousand cases over fifty policies, ten cases from nothing, and a change while watching.

    python bench/authoring.py

Each figure is for whole commands, as users start them, interpreter and all; the best of several runs counts. CPU is that of the
command and all processes that it started. Exit code 1: a target was missed.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

CASES, POLICIES, FEW = 1000, 50, 10
ROUNDS = 5
CHANGES = 8
WANTED_CPU = 10.0  # seconds for all cases
WANTED_FEW = 0.5  # seconds in all
WANTED_CHANGE = 0.3  # seconds from a change to its results

POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: judge-{n}}}
spec:
  matchConstraints:
    resourceRules: [{{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}}]
  matchConditions: [{{name: labelled, expression: "'tier' in object.metadata.?labels.orValue({{}})"}}]
  variables: [{{name: images, expression: "object.spec.containers.map(c, c.image)"}}]
  validations:
  - expression: "variables.images.all(i, !i.endsWith(':bad-{n}'))"
    messageExpression: "'no bad-{n}: ' + variables.images.join(', ')"
  - expression: "object.spec.containers.all(c, c.?resources.limits.memory.hasValue())"
    message: every container has a memory limit
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: judge-{n}}}
spec: {{policyName: judge-{n}, validationActions: [Deny]}}
---
"""
MUTATION = """\
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {{name: change-{n}}}
spec:
  matchConstraints:
    resourceRules: [{{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: 'Object{{metadata: Object.metadata{{labels: {{"changed-{n}": "yes"}}}}}}'
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {{name: change-{n}}}
spec: {{policyName: change-{n}}}
---
"""
DEFAULTS = """\
policies: [policies.yaml]
defaults:
  object:
    apiVersion: v1
    kind: Pod
    metadata: {name: web, namespace: shop, labels: {tier: front}}
    spec:
      containers:
      - {name: web, image: "registry.example/web:1", resources: {limits: {memory: 1Gi}}}
      - {name: proxy, image: "registry.example/proxy:1", resources: {limits: {memory: 64Mi}}}
cases:
"""
CASE = """\
- name: case {i}
  patch:
    metadata: {{name: web-{i}}}
    spec: {{containers: [{{name: web, image: "registry.example/web:{tag}", resources: {{limits: {{memory: 1Gi}}}}}}]}}
  expect: {expect}
"""


def write(folder: Path, cases: int, policies: int) -> None:
    """Half of the policies change, the other half judges; every fifth case is denied."""
    made = "".join((MUTATION if n % 2 else POLICY).format(n=n) for n in range(policies))
    (folder / "policies.yaml").write_text(made)
    (folder / "kadmit-test.yaml").write_text(DEFAULTS + "".join(_case(i, policies) for i in range(cases)))


def _case(i: int, policies: int) -> str:
    n = i % policies // 2 * 2
    if i % 5 == 0:
        return CASE.format(i=i, tag=f"bad-{n}", expect=f"{{denied: {{by: judge-{n}, message: {{contains: 'no bad-{n}'}}}}}}")
    return CASE.format(i=i, tag=i, expect='{partial: {metadata: {labels: {changed-1: "yes"}}}, warnings: []}')


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "kadmit", "test", *arguments]


def once(folder: Path, *arguments: str) -> tuple[float, float]:
    """Seconds by the clock, and of CPU."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command(*arguments), cwd=folder, check=True, stdout=subprocess.DEVNULL)
    took, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def best(measure: Callable[[], float], rounds: int = ROUNDS) -> float:
    return min(measure() for _ in range(rounds))


class Watching:
    """A command that watches, and its output."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            command("--watch"), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1
        )

    def __enter__(self) -> "Watching":
        self.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def wait(self) -> None:
        """Until it has told everything and watches again."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("watching "):
                return


def change(folder: Path) -> float:
    """From a changed policy to the results."""
    with Watching(folder) as watching:
        return best(lambda: _changed(folder, watching), CHANGES)


def _changed(folder: Path, watching: Watching) -> float:
    file = folder / "policies.yaml"
    text = file.read_text()
    begun = time.perf_counter()
    other = folder / "policies.new"
    other.write_text(f"{text}# {begun}\n")
    other.replace(file)
    watching.wait()
    return time.perf_counter() - begun


def main() -> int:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with tempfile.TemporaryDirectory() as made:
        many, few = Path(made) / "many", Path(made) / "few"
        for folder, cases, policies in ((many, CASES, POLICIES), (few, FEW, 2)):
            folder.mkdir()
            write(folder, cases, policies)
        rows = [
            (f"{CASES} cases over {POLICIES} policies, CPU", best(lambda: once(many)[1], 3), WANTED_CPU),
            (f"{FEW} cases, by the clock", best(lambda: once(few)[0]), WANTED_FEW),
            (f"a change while watching {FEW} cases", change(few), WANTED_CHANGE),
        ]
    for what, seconds, wanted in rows:
        print(f"{what:50} {seconds:8.3f} s   wanted: under {wanted:g} s{'' if seconds < wanted else '   MISSED'}")
    return int(any(seconds >= wanted for _, seconds, wanted in rows))


if __name__ == "__main__":
    sys.exit(main())
