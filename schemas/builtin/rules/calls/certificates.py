"""Irregular rules of certificate signing requests: PEM, and conditions that exclude others."""

import base64
from collections.abc import Callable

from cryptography import exceptions, x509
from cryptography.hazmat.primitives import hashes
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
    """Return an error for a repeated type. Stores the types before this one for `contradicts`."""
    seen: set[str] = (frame.up or frame).facts.setdefault("types", set())
    frame.facts["types before"] = frozenset(seen)
    repeated = value in seen
    seen.add(value)
    return [fielderrors.duplicate(path, value)] if repeated else []


def contradicts(frame: Frame) -> bool:
    """Return whether a condition before this one is the opposite decision."""
    kind = frame.obj.get("type")
    return kind in _DECISIONS and bool(frame.facts["types before"] & (_DECISIONS - {kind}))


def _has(status: Object | None, kind: str) -> bool:
    return any(one.get("type") == kind for one in (status or {}).get("conditions") or ())


def loses(kind: str, frame: Frame) -> bool:
    """Return whether an update removes a condition."""
    return _has(frame.old, kind) and not _has(frame.obj, kind)


def gains(kind: str, frame: Frame) -> bool:
    """Return whether an update adds a condition."""
    return _has(frame.obj, kind) and not _has(frame.old, kind)


def had_certificate(frame: Frame) -> bool:
    """Return whether the request had a certificate before the update."""
    return bool((frame.old or {}).get("certificate"))
