"""Irregular rules of certificate signing requests: PEM, and conditions that exclude others."""

import base64
from collections.abc import Callable

from cryptography import exceptions, x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from inkube.schemas import fielderrors
from inkube.schemas.builtin import pem
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import gotext
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

_DECISIONS = frozenset({"Approved", "Denied"})
_MAX_DOMAIN = 253
_MAX_SIGNER = 571  # a domain of 253 characters, two slashes, a name and a namespace
_BLOCK = "PEM block type must be CERTIFICATE REQUEST"
_SHOWN = "<certificate data>"
_FORM = "must be a fully qualified domain and path of the form 'example.com/signer-name'"


def signer_name(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check that a signer's name is a domain with a dot and a path of one part
    (ValidateSignerName)."""
    parts = value.split("/")
    if len(parts) != 2:
        return [fielderrors.invalid(path, value, _FORM)]
    domain, rest = parts
    errors = [fielderrors.too_long(path, _MAX_DOMAIN)] if len(domain) > _MAX_DOMAIN else []
    errors += _segment(domain, path, names.dns1123_label)
    if "." not in domain:
        why = "should be a domain with at least two segments separated by dots"
        errors.append(fielderrors.invalid(path, domain, why))
    errors += _segment(rest, path, names.dns1123_subdomain)
    if len(value) > _MAX_SIGNER:
        errors.append(fielderrors.too_long(path, _MAX_SIGNER))
    return errors


def _segment(text: str, path: str, check: Callable[[str], list[str]]) -> list[FieldError]:
    """Return the errors of the first invalid part of a signer's domain or path."""
    for part in text.split("."):
        problems = check(part)
        if problems:
            shown = gotext.quote(part)
            return [
                fielderrors.invalid(path, text, f"validating label {shown}: {why}")
                for why in problems
            ]
    return []


def key_pair(secret: Object, _path: str, _frame: Frame) -> list[str]:
    """Return why a Secret's certificate and key are not a pair (crypto/tls, X509KeyPair)."""
    data = secret.get("data") or {}
    certificates, skipped = _blocks_of(data.get("tls.crt"), lambda kind: kind == "CERTIFICATE")
    if not certificates:
        return [_no_certificate(skipped)]
    keys, skipped = _blocks_of(data.get("tls.key"), _is_key)
    if not keys:
        return [_no_key(skipped)]
    try:
        public = x509.load_der_x509_certificate(certificates[0]).public_key()
    except (ValueError, exceptions.UnsupportedAlgorithm):
        return ["x509: malformed certificate"]
    try:
        private = serialization.load_der_private_key(keys[0], None)
    except (ValueError, TypeError, exceptions.UnsupportedAlgorithm):
        return ["tls: failed to parse private key"]
    if private.public_key() == public:
        return []
    what = "" if type(private.public_key()) is type(public) else " type"
    return [f"tls: private key{what} does not match public key{what}"]


def _blocks_of(
    encoded: str | None, is_wanted: Callable[[str], bool]
) -> tuple[list[bytes], list[str]]:
    """Return the bytes of the PEM blocks of wanted types, and the types before the first."""
    found: list[bytes] = []
    skipped: list[str] = []
    for block in pem.blocks(encoded):
        kind = block[1].decode()
        if is_wanted(kind):
            found.append(base64.b64decode(b"".join(block["data"].split())))
        elif not found:
            skipped.append(kind)
    return found, skipped


def _is_key(kind: str) -> bool:
    return kind == "PRIVATE KEY" or kind.endswith(" PRIVATE KEY")


def _no_certificate(skipped: list[str]) -> str:
    if not skipped:
        return "tls: failed to find any PEM data in certificate input"
    if len(skipped) == 1 and skipped[0].endswith("PRIVATE KEY"):
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find a private "
            "key; PEM inputs may have been switched"
        )
    return (
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM '
        f"blocks of the following types: [{' '.join(skipped)}]"
    )


def _no_key(skipped: list[str]) -> str:
    if not skipped:
        return "tls: failed to find any PEM data in key input"
    if skipped == ["CERTIFICATE"]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    return (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after '
        f"skipping PEM blocks of the following types: [{' '.join(skipped)}]"
    )


def request(value: str | None, path: str, _frame: Frame) -> list[FieldError]:
    """Return errors for a text that is not a signed certificate request in PEM."""
    why = _request_problem(value)
    return [fielderrors.invalid(path, value, why)] if why else []


def _request_problem(value: str | None) -> str:
    block = pem.first_block(value)
    if block is None or block[0] != b"CERTIFICATE REQUEST":
        return _BLOCK
    try:
        parsed = x509.load_der_x509_csr(block[1])
        if not parsed.is_signature_valid and not _is_signed_with_sha1(parsed):
            return "x509: ECDSA verification failure"
    except (ValueError, exceptions.UnsupportedAlgorithm) as error:
        return f"asn1: structure error: {error}"
    return ""


def _is_signed_with_sha1(request: x509.CertificateSigningRequest) -> bool:
    """Return whether a request has a valid signature by RSA with SHA-1. Go accepts it for requests,
    `cryptography` rejects it."""
    key, algorithm = request.public_key(), request.signature_hash_algorithm
    if not isinstance(key, rsa.RSAPublicKey) or not isinstance(algorithm, hashes.SHA1):
        return False
    try:
        key.verify(request.signature, request.tbs_certrequest_bytes, padding.PKCS1v15(), algorithm)
    except exceptions.InvalidSignature:
        return False
    return True


def certificate(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Return errors for a text that is not one or more certificates in PEM, or has other blocks
    (validateCertificate)."""
    why = _certificate_problem(value)
    return [fielderrors.invalid(path, _SHOWN, why)] if why else []


def _certificate_problem(encoded: str) -> str:
    blocks = pem.blocks(encoded)
    if not blocks:
        return "must contain at least one CERTIFICATE PEM block"
    for block in blocks:
        if block[1] != b"CERTIFICATE":
            kind = block[1].decode()
            return f'only CERTIFICATE PEM blocks are allowed, found "{kind}"'
        if block["headers"]:
            return "no PEM block headers are permitted"
        try:
            x509.load_der_x509_certificate(base64.b64decode(b"".join(block["data"].split())))
        except ValueError as error:
            return f"unable to parse CERTIFICATE PEM block: {error}"
    return ""


# conditions


def type_once(value: str, path: str, frame: Frame) -> list[FieldError]:
    """Return an error for a repeated type."""
    seen = _types_before(frame)
    repeated = value in seen
    seen.add(value)
    return [fielderrors.duplicate(path, value)] if repeated else []


def contradicts(frame: Frame) -> bool:
    """Return whether a condition before this one is the opposite decision."""
    kind = frame.obj.get("type")
    return kind in _DECISIONS and bool(_types_before(frame) & (_DECISIONS - {kind}))


def _types_before(frame: Frame) -> set[str]:
    """Return the types of the conditions before this one, to which `type_once` adds."""
    found: set[str] = (frame.up or frame).facts.setdefault("types", set())
    return found


def _has(status: Object | None, kind: str) -> bool:
    return any(one.get("type") == kind for one in (status or {}).get("conditions") or ())


def loses(kind: str, frame: Frame) -> bool:
    """Return whether an update removes a condition."""
    return _has(frame.old, kind) and not _has(frame.obj, kind)


def gains(kind: str, frame: Frame) -> bool:
    """Return whether an update adds a condition."""
    return _has(frame.obj, kind) and not _has(frame.old, kind)
