"""Creates certificates. The key of their authority is not stored.

Loaded with the first certificate to create, because it imports `cryptography`.
"""

import contextlib
import ipaddress
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from inkube.apiserver.auth.tls import Certificate
from inkube.schemas.metadata import names as namerules

_VALID = timedelta(days=365)
_SKEW = timedelta(hours=1)  # the clocks of client and server can differ
_LOCAL = ("localhost", "127.0.0.1", "::1", "kubernetes", "kubernetes.default.svc")


def make_server(hosts: Iterable[str] = ()) -> Certificate:
    """Return a certificate for loopback addresses and `hosts`, signed by a new authority whose key
    is not kept."""
    names = x509.SubjectAlternativeName([_host(host) for host in dict.fromkeys((*_LOCAL, *hosts))])
    return _issue("inkube", "inkube-ca", x509.oid.ExtendedKeyUsageOID.SERVER_AUTH, _VALID, names)


def make_client(name: str, authority: str, valid: timedelta) -> Certificate:
    """Return a client certificate with a common name, signed by its own new authority."""
    return _issue(name, authority, x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH, valid)


def names(chain: bytes) -> list[str]:
    """Return the host names in the first certificate of a chain, without addresses
    (getCertificateNames in server/dynamiccertificates/named_certificates.go)."""
    certificate = x509.load_pem_x509_certificate(chain)
    common = certificate.subject.get_attributes_for_oid(x509.oid.NameOID.COMMON_NAME)
    found = [str(each.value) for each in common[:1]]
    found = [each for each in found if each == "*" or _is_host(each.removeprefix("*."))]
    with contextlib.suppress(x509.ExtensionNotFound):
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        found += extension.value.get_values_for_type(x509.DNSName)
    return found


def _is_host(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return not namerules.dns1123_subdomain(name)
    return False


def _issue(
    name: str,
    authority: str,
    purpose: x509.ObjectIdentifier,
    valid: timedelta,
    names: x509.SubjectAlternativeName | None = None,
) -> Certificate:
    pem = serialization.Encoding.PEM
    root_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    builder = (
        _builder(_name(name), _name(authority), key.public_key(), valid)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(root_key.public_key()),
            critical=False,
        )
    )
    if names is not None:
        builder = builder.add_extension(names, critical=False)
    certificate = builder.sign(root_key, hashes.SHA256())
    return Certificate(certificate.public_bytes(pem), secret(key), root(authority, root_key, valid))


def root(name: str, key: ec.EllipticCurvePrivateKey, valid: timedelta) -> bytes:
    """Return the certificate of an authority, as PEM."""
    certificate = (
        _builder(_name(name), _name(name), key.public_key(), valid)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(authority=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM)


def secret(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return a private key as PEM."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, common)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, valid: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    return (
        builder.serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + valid)
    )


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _host(host: str) -> x509.GeneralName:
    with contextlib.suppress(ValueError):
        return x509.IPAddress(ipaddress.ip_address(host))
    return x509.DNSName(host)
