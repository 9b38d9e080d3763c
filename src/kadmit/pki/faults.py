"""Why Go would refuse a certificate: a text, looked for in the order in which Go checks.

The refusal itself has happened already, in OpenSSL; this only finds its words. Go looks at the dates of the certificate, then at
its names, and only then for somebody who signed it.
"""

import datetime
import ipaddress
from collections.abc import Sequence

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kadmit.api.gojson import quoted
from kadmit.pki import certificates

UNKNOWN_AUTHORITY = "x509: certificate signed by unknown authority"
_MANY = 100  # from here on names are only counted
_CANNOT_SIGN = "x509: invalid signature: parent certificate cannot sign this kind of certificate"


def explain(certificate: bytes, host: str, roots: Sequence[bytes], now: datetime.datetime) -> str:
    """The text about a certificate (DER) that was refused for `host`."""
    try:
        leaf = x509.load_der_x509_certificate(certificate)
        return _expiry(leaf, now) or _wrong_name(leaf, host) or _wrong_signer(leaf, roots, now) or _wrong_usage(leaf)
    except (ValueError, UnsupportedAlgorithm):
        return "x509: malformed certificate"


def _expiry(certificate: x509.Certificate, now: datetime.datetime) -> str:
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if begins <= now <= ends:
        return ""
    relation = f"before {_shown(begins)}" if now < begins else f"after {_shown(ends)}"
    return f"x509: certificate has expired or is not yet valid: current time {_shown(now)} is {relation}"


def _shown(moment: datetime.datetime) -> str:
    return moment.replace(microsecond=0).isoformat().replace("+00:00", "Z")


# ------------------------------------------------------------ names


def _wrong_name(certificate: x509.Certificate, host: str) -> str:
    alternatives = certificates.alternatives(certificate)
    address = _address(host)
    if alternatives is None and _matches(_common_name(certificate.subject), host):
        return "x509: certificate relies on legacy Common Name field, use SANs instead"
    if address is not None:
        return _wrong_address(alternatives, address, host)
    names = alternatives.get_values_for_type(x509.DNSName) if alternatives else []
    if any(_matches(name, host) for name in names):
        return ""
    if len(names) >= _MANY:
        return f"x509: certificate is valid for {len(names)} names, but none matched {host}"
    if not names:
        return f"x509: certificate is not valid for any names, but wanted to match {host}"
    return f"x509: certificate is valid for {', '.join(names)}, not {host}"


def _wrong_address(alternatives: x509.SubjectAlternativeName | None, address: object, host: str) -> str:
    addresses = alternatives.get_values_for_type(x509.IPAddress) if alternatives else []
    if address in addresses:
        return ""
    if not addresses:
        return f"x509: cannot validate certificate for {host} because it doesn't contain any IP SANs"
    if len(addresses) >= _MANY:
        return f"x509: certificate is valid for {len(addresses)} IP SANs, but none matched {host}"
    return f"x509: certificate is valid for {', '.join(map(str, addresses))}, not {host}"


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _matches(pattern: str, host: str) -> bool:
    """A star stands for the whole first label."""
    wanted, given = pattern.lower().split("."), host.lower().removesuffix(".").split(".")
    if len(wanted) != len(given):
        return False
    return wanted[1:] == given[1:] and (wanted[0] == given[0] or (wanted[0] == "*" and len(wanted) > 1))


def _common_name(name: x509.Name) -> str:
    found = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[-1].value) if found else ""


# ------------------------------------------------------------ signers


def _wrong_signer(leaf: x509.Certificate, roots: Sequence[bytes], now: datetime.datetime) -> str:
    """NB: an authority that signed it but has expired is reported as if it were the certificate itself."""
    hint = ""
    for candidate in (x509.load_der_x509_certificate(der) for der in roots):
        if candidate == leaf:
            return ""
        if candidate.subject != leaf.issuer:
            continue
        reason = _bad_signature(leaf, candidate)
        if not reason:
            return _expiry(candidate, now)
        hint = hint or (
            f" (possibly because of {quoted(reason)} while trying to verify candidate authority certificate "
            f"{quoted(_called(candidate))})"
        )
    return UNKNOWN_AUTHORITY + hint


def _bad_signature(leaf: x509.Certificate, candidate: x509.Certificate) -> str:
    if not _may_sign(candidate):
        return _CANNOT_SIGN
    try:
        leaf.verify_directly_issued_by(candidate)
    except InvalidSignature:
        is_rsa = isinstance(candidate.public_key(), rsa.RSAPublicKey)
        return "crypto/rsa: verification error" if is_rsa else "x509: ECDSA verification failure"
    except (TypeError, ValueError):
        return "x509: signature algorithm specifies a different public key algorithm"
    return ""


def _may_sign(candidate: x509.Certificate) -> bool:
    try:
        if not candidate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca:
            return False
        return candidate.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
    except x509.ExtensionNotFound as e:
        return e.oid == x509.KeyUsage.oid  # without usages, any is allowed


def _called(certificate: x509.Certificate) -> str:
    organizations = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    organization = str(organizations[0].value) if organizations else ""
    return _common_name(certificate.subject) or organization or f"serial:{certificate.serial_number}"


def _wrong_usage(leaf: x509.Certificate) -> str:
    try:
        usages = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return UNKNOWN_AUTHORITY
    if {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE} & set(usages):
        return UNKNOWN_AUTHORITY
    return "x509: certificate specifies an incompatible key usage"
