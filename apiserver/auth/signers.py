"""Signs certificate requests of clients and kubelets, as the signers of kube-controller-manager do.

Loaded with the first authority of clients, because it imports `cryptography`. Follows
pkg/controller/certificates/signer and pkg/apis/certificates/helpers.go.
"""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID as Purpose
from cryptography.x509.oid import NameOID

from inkube.apiserver.auth import certificates
from inkube.apiserver.auth.tls import Authority

KUBELET_SERVING = "kubernetes.io/kubelet-serving"
KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
CLIENT = "kubernetes.io/kube-apiserver-client"
SHORTEST, LONGEST = timedelta(minutes=10), timedelta(days=365)
_BACKDATE = timedelta(minutes=5)
_NODES, _NODE = "system:nodes", "system:node:"
_KEY_USAGES = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
_PURPOSES = {
    "any": Purpose.ANY_EXTENDED_KEY_USAGE,
    "server auth": Purpose.SERVER_AUTH,
    "client auth": Purpose.CLIENT_AUTH,
    "code signing": Purpose.CODE_SIGNING,
    "email protection": Purpose.EMAIL_PROTECTION,
    "s/mime": Purpose.EMAIL_PROTECTION,
    "timestamping": Purpose.TIME_STAMPING,
    "ocsp signing": Purpose.OCSP_SIGNING,
}
_OPTIONAL = {"digital signature", "key encipherment"}


class Request(NamedTuple):
    """The members of a CertificateSigningRequest that a signer reads."""

    signer: str
    request: bytes
    """PKCS #10 as PEM."""
    usages: Collection[str]
    seconds: int | None
    """The requested validity in seconds; None means a year."""


def new_authority(name: str) -> Authority:
    """Return a new certificate authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    return Authority(certificates.root(name, key, LONGEST), certificates.secret(key))


def client(authority: Authority, name: str, groups: Collection[str]) -> tuple[bytes, bytes]:
    """Return a client certificate and its key, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([
        *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups),
        x509.NameAttribute(NameOID.COMMON_NAME, name),
    ])  # fmt: skip
    usages = ["digital signature", "client auth"]
    certificate = _issue(
        authority, subject, key.public_key(), usages=usages, valid=LONGEST, names=None
    )
    return certificate, certificates.secret(key)


def organizations(request: bytes) -> list[str]:
    """Return the organizations (groups) in the subject of a request for a certificate, as DER.
    Raises ValueError."""
    subject = x509.load_der_x509_csr(request).subject
    names = subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return [str(each.value) for each in names]


def validity(certificate: bytes) -> timedelta:
    """Return how long a certificate is valid, as DER. Raises ValueError."""
    parsed = x509.load_der_x509_certificate(certificate)
    return parsed.not_valid_after_utc - parsed.not_valid_before_utc


def common_name(request: bytes) -> str:
    """Return the common name in the subject of a request for a certificate, as DER; "" without one.
    Raises ValueError."""
    subject = x509.load_der_x509_csr(request).subject
    names = subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[-1].value) if names else ""


def sign(authority: Authority, request: Request) -> bytes:
    """Return the certificate for a request, as PEM. Raises ValueError with the reason if its signer
    refuses it."""
    csr = x509.load_pem_x509_csr(request.request)
    reason = _refusal(csr, request)
    if reason:
        raise ValueError(reason)
    valid = LONGEST
    if request.seconds is not None:
        valid = min(max(timedelta(seconds=request.seconds), SHORTEST), LONGEST)
    names = _names(csr)
    return _issue(
        authority, csr.subject, csr.public_key(),
        usages=request.usages, valid=valid, names=names,
    )  # fmt: skip


def _issue(
    authority: Authority,
    subject: x509.Name,
    key: CertificatePublicKeyTypes,
    *,
    usages: Collection[str],
    valid: timedelta,
    names: x509.SubjectAlternativeName | None,
) -> bytes:
    root = x509.load_pem_x509_certificate(authority.certificate)
    authority_key = serialization.load_pem_private_key(authority.key, None)
    assert isinstance(authority_key, ec.EllipticCurvePrivateKey), "the authority was made here"
    now = datetime.now(UTC)
    flags = {_KEY_USAGES[usage] for usage in usages if usage in _KEY_USAGES}
    purposes = [_PURPOSES[usage] for usage in usages if usage in _PURPOSES]
    builder = (
        x509.CertificateBuilder(subject_name=subject, issuer_name=root.subject, public_key=key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATE)
        .not_valid_after(now + valid)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()),
            critical=False,
        )
    )
    if flags:  # an empty extension allows nothing, so Go omits it
        builder = builder.add_extension(_usage(flags), critical=True)
    if purposes:
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
    if names is not None:
        builder = builder.add_extension(names, critical=False)
    return builder.sign(authority_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _usage(flags: Collection[str]) -> x509.KeyUsage:
    return x509.KeyUsage(**{flag: flag in flags for flag in set(_KEY_USAGES.values())})


def _names(request: x509.CertificateSigningRequest) -> x509.SubjectAlternativeName | None:
    try:
        return request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return None


def _refusal(csr: x509.CertificateSigningRequest, request: Request) -> str:
    """Return why a signer refuses the request, or "" if it does not."""
    usages = set(request.usages)
    if request.signer == KUBELET_SERVING:
        return _node_refusal(csr) or _serving_refusal(csr, usages)
    if request.signer == KUBELET_CLIENT:
        return _node_refusal(csr) or _kubelet_refusal(csr, usages)
    if request.signer == CLIENT:
        for usage in request.usages:
            if usage not in {*_OPTIONAL, "client auth"}:
                return f"invalid usage for client certificate: {usage}"
        if "client auth" not in usages:
            return "missing required usage for client certificate: client auth"
    return ""


def _node_refusal(csr: x509.CertificateSigningRequest) -> str:
    groups = [str(a.value) for a in csr.subject.get_attributes_for_oid(
        NameOID.ORGANIZATION_NAME)]  # fmt: skip
    if groups != [_NODES]:
        return "subject organization is not system:nodes"
    names = csr.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    if not names or not str(names[0].value).startswith(_NODE):
        return "subject common name does not begin with system:node:"
    return ""


def _serving_refusal(csr: x509.CertificateSigningRequest, usages: set[str]) -> str:
    names = _names(csr)
    if names is None or not (_of(names, x509.DNSName) or _of(names, x509.IPAddress)):
        return "DNS or IP subjectAltName is required"
    if _of(names, x509.RFC822Name):
        return "Email subjectAltNames are not allowed"
    if _of(names, x509.UniformResourceIdentifier):
        return "URI subjectAltNames are not allowed"
    return _usages_refusal(usages, "server auth")


def _kubelet_refusal(csr: x509.CertificateSigningRequest, usages: set[str]) -> str:
    names = _names(csr)
    kinds = (
        (x509.DNSName, "DNS"), (x509.RFC822Name, "Email"), (x509.IPAddress, "IP"),
        (x509.UniformResourceIdentifier, "URI"),
    )  # fmt: skip
    for kind, word in kinds:
        if names is not None and _of(names, kind):
            return f"{word} subjectAltNames are not allowed"
    return _usages_refusal(usages, "client auth")


def _of(names: x509.SubjectAlternativeName, kind: type[x509.GeneralName]) -> bool:
    return any(isinstance(name, kind) for name in names)


def _usages_refusal(usages: set[str], purpose: str) -> str:
    """Return the error of the usages, or "". Key encipherment is optional, because elliptic curve
    keys do not support it."""
    required = {"digital signature", purpose}
    if required <= usages <= {*required, "key encipherment"}:
        return ""
    expected = " ".join(sorted({*required, "key encipherment"}))
    return f"usages did not match [{expected}]"
