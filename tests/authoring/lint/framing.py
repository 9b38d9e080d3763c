"""Examples of rules as whole objects: an example may be a part of a policy or one webhook, and the frame says the rest."""

import base64
import datetime
import functools
import re

import yaml

CONSTRAINTS = """\
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}]
"""
_ENDS = re.compile(r"<a certificate that ends on ([0-9]{4}-[0-9]{2}-[0-9]{2})>")


def whole(example: str) -> str:
    """All the objects that an example means."""
    example = _ENDS.sub(lambda found: bundle(found[1]), example)
    if re.search(r"^kind: ", example, re.MULTILINE):
        return example
    given = yaml.safe_load(example)
    return _webhook(example) if "rules" in given else _policy(example, given)


def _policy(example: str, given: dict[str, object]) -> str:
    family = "Mutating" if "mutations" in given else "Validating"
    head = f"apiVersion: admissionregistration.k8s.io/v1\nkind: {family}AdmissionPolicy\nmetadata: {{name: example}}\nspec:\n"
    head += "" if "matchConstraints" in given else CONSTRAINTS
    head += "  reinvocationPolicy: Never\n" if family == "Mutating" and "reinvocationPolicy" not in given else ""
    return head + _indented(example, "  ") + _binding(family, params="paramKind" in given)


def _binding(family: str, *, params: bool) -> str:
    bound = (
        f"---\napiVersion: admissionregistration.k8s.io/v1\nkind: {family}AdmissionPolicyBinding\nmetadata: {{name: example}}\n"
    )
    bound += "spec:\n  policyName: example\n"
    bound += "  validationActions: [Deny]\n" if family == "Validating" else ""
    if params:
        bound += "  paramRef: {name: limits, namespace: policies, parameterNotFoundAction: Deny}\n"
        bound += "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: limits, namespace: policies}\ndata: {most: '10'}\n"
    return bound


def _webhook(example: str) -> str:
    head = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\n"
    head += "metadata: {name: example}\nwebhooks:\n"
    first, _, rest = example.partition("name:")
    return f"{head}{_indented(first, '')}- name:{_indented(rest, '  ').removeprefix('  ')}"


def _indented(text: str, by: str) -> str:
    return "".join(f"{by}{line}\n" if line else "\n" for line in text.splitlines())


@functools.cache
def bundle(day: str) -> str:
    """A CA certificate that ends on a day, as a caBundle."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    end = datetime.datetime.fromisoformat(f"{day}T00:00:00+00:00")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "example")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(end - datetime.timedelta(days=365))
        .not_valid_after(end)
        .sign(key, hashes.SHA256())
    )
    return base64.b64encode(made.public_bytes(serialization.Encoding.PEM)).decode()
