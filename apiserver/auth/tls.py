"""TLS: the server's certificate, given or made on the spot, and the authority of its clients.

`cryptography` is imported only when a certificate has to be made.
"""

import contextlib
import ipaddress
import ssl
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

_VALID = timedelta(days=365)
_SKEW = timedelta(hours=1)  # clocks differ
_LOCAL = ("localhost", "127.0.0.1", "::1", "kubernetes", "kubernetes.default.svc")


class Certificate(NamedTuple):
    """PEM: a chain, its private key, and the authority that clients have to trust."""

    chain: bytes
    key: bytes
    authority: bytes


def read(certificate: Path, key: Path) -> Certificate:
    """A certificate from files, which is its own authority for a kubeconfig. Raises OSError."""
    chain = certificate.read_bytes()
    return Certificate(chain, key.read_bytes(), chain)


def make(hosts: Iterable[str] = ()) -> Certificate:
    """A certificate for loopback and `hosts`, of an authority made for it and then forgotten."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    pem = serialization.Encoding.PEM
    root_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    root_name = _name("inkube-ca")
    root = (
        _builder(root_name, root_name, root_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(authority=True), critical=True)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(root_key.public_key()), critical=False
        )
        .sign(root_key, hashes.SHA256())
    )
    names = x509.SubjectAlternativeName([_host(host) for host in dict.fromkeys((*_LOCAL, *hosts))])
    own = (
        _builder(_name("inkube"), root_name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(authority=False), critical=True)
        .add_extension(
            x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False
        )
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(root_key.public_key()),
            critical=False,
        )
        .add_extension(names, critical=False)
        .sign(root_key, hashes.SHA256())
    )
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Certificate(own.public_bytes(pem), secret, root.public_bytes(pem))


def _name(common: str) -> "x509.Name":
    from cryptography import x509

    return x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, common)])


def _builder(
    subject: "x509.Name", issuer: "x509.Name", key: "ec.EllipticCurvePublicKey"
) -> "x509.CertificateBuilder":
    from cryptography import x509

    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    return (
        builder.serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + _VALID)
    )


def _usage(*, authority: bool) -> "x509.KeyUsage":
    from cryptography import x509

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


def _host(host: str) -> "x509.GeneralName":
    from cryptography import x509

    with contextlib.suppress(ValueError):
        return x509.IPAddress(ipaddress.ip_address(host))
    return x509.DNSName(host)


def context(certificate: Certificate, client_authority: Path | None = None) -> ssl.SSLContext:
    """A server's context. With an authority, clients may show certificates, which must be its.

    Raises ssl.SSLError or OSError for what cannot be read.
    """
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    with tempfile.TemporaryDirectory() as folder:  # mode 0700; ssl reads keys from files only
        chain, key = Path(folder, "chain.pem"), Path(folder, "key.pem")
        chain.write_bytes(certificate.chain)
        key.write_bytes(certificate.key)
        made.load_cert_chain(chain, key)
    if client_authority is not None:
        made.load_verify_locations(cafile=client_authority)
        made.verify_mode = ssl.CERT_OPTIONAL
    return made
