"""Certificates of webhooks' caBundles."""

from base64 import b64decode
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from kadmit.authoring.lint.project import Project, Webhook

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

# Annotations by which somebody else fills caBundles in; what stands in the file is a placeholder then.
_INJECTED = (
    "cert-manager.io/inject-ca-from",
    "cert-manager.io/inject-ca-from-secret",
    "cert-manager.io/inject-apiserver-ca",
    "service.beta.openshift.io/inject-cabundle",
)


class Bundle(Struct, frozen=True):
    webhook: Webhook
    data: bytes

    @property
    def field(self) -> str:
        return f"{self.webhook.field}.clientConfig.caBundle"


def of(project: Project) -> Iterator[Bundle]:
    """All bundles that are meant as they stand."""
    for webhook in project.webhooks:
        raw = (webhook.made.get("clientConfig") or {}).get("caBundle")
        annotations = webhook.manifest.metadata.get("annotations") or {}
        if raw and not any(name in annotations for name in _INJECTED):
            yield Bundle(webhook, b64decode(raw))


def certificates(bundle: Bundle) -> "list[Certificate] | str":
    """The certificates of a bundle, or why there are none."""
    from cryptography import x509

    if b"PRIVATE KEY-----" in bundle.data:
        return "it holds a private key"
    if b"-----BEGIN CERTIFICATE-----" not in bundle.data:
        return "there is no PEM block of a certificate in it"
    try:
        return x509.load_pem_x509_certificates(bundle.data)
    except ValueError:
        return "a certificate in it cannot be read"


def ends(certificate: "Certificate") -> datetime:
    return certificate.not_valid_after_utc
