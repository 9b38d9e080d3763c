"""kadmit init: a first policy with its binding, and a suite that tests them and passes."""

import sys
from pathlib import Path
from typing import NoReturn

import click

BAD_INPUT = 2

POLICY = """\
# Nobody runs an image whose version may change under its name.
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: image-versions
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
      - apiGroups: [""]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [pods]
  variables:
    - name: images
      expression: object.spec.containers.map(c, c.image)
  validations:
    - expression: variables.images.all(i, i.contains(':') && !i.endsWith(':latest'))
      messageExpression: "'give each image a version: ' + variables.images.join(', ')"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: image-versions
spec:
  policyName: image-versions
  validationActions: [Deny]
  matchResources:
    namespaceSelector:
      matchExpressions:
        - {key: images, operator: NotIn, values: [any]}
"""

SUITE = """\
# Run with `kadmit test`. No cluster is needed.
policies: [policy.yaml]

# Namespaces with their labels; one that is only named in an object is made up.
namespaces:
  sandbox: {images: any}

# What all cases have in common.
defaults:
  object:
    apiVersion: v1
    kind: Pod
    metadata: {name: web, namespace: shop}
    spec:
      containers:
        - {name: web, image: "registry.example/web:1.4"}

cases:
  - name: an image with a version
    expect:
      admitted: true
      unchanged: true

  - name: an image without a version
    variations:
      - name: no tag
        patch: {spec: {containers: [{name: web, image: registry.example/web}]}}
      - name: latest
        patch: {spec: {containers: [{name: web, image: "registry.example/web:latest"}]}}
    expect:
      denied:
        by: image-versions
        reason: Invalid
        message: {contains: "give each image a version: registry.example/web"}

  - name: a pod without a version may go
    operation: DELETE
    patch: {spec: {containers: [{name: web, image: registry.example/web}]}}
    expect: admitted

  - name: a namespace in which any image may run
    patch: {metadata: {namespace: sandbox}, spec: {containers: [{name: web, image: registry.example/web}]}}
    expect: admitted
"""

FILES = {"policy.yaml": POLICY, "kadmit-test.yaml": SUITE}


@click.command("init", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("folder", default=".", metavar="[DIR]")
@click.option("--force", is_flag=True, help="Write over files that are there.")
def command(folder: str, *, force: bool) -> None:
    """Write a first policy with its binding, and a suite that tests them, into DIR.

    \b
      kadmit init policies
      kadmit test policies

    Exit code: 0 written, 2 a file is in the way or cannot be written.
    """
    root = Path(folder)
    try:
        present = [str(root / name) for name in FILES if (root / name).exists()]
        if present and not force:
            _bad_input(f"{', '.join(present)}: there already; --force writes over it")
        root.mkdir(parents=True, exist_ok=True)
        for name, text in FILES.items():
            (root / name).write_text(text, encoding="utf-8")
    except OSError as e:
        _bad_input(f"{e.filename}: {e.strerror}")
    for name in FILES:
        click.echo(f"wrote {root / name}")
    where = "" if root == Path() else f" {folder}"
    click.echo(f"now run: kadmit test{where}")


def _bad_input(message: str) -> NoReturn:
    click.echo(f"kadmit init: {message}", err=True)
    sys.exit(BAD_INPUT)
