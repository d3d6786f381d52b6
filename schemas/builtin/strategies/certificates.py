"""Certificate signing requests: the server sets the requester, and the spec is immutable.

Two subresources write the approval and the certificate, which are parts of the status. Follows
pkg/registry/certificates/certificates/strategy.go and pkg/apis/certificates/validation.
"""

import base64
from collections.abc import Callable

from cryptography import exceptions, x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from inkube.schemas import fielderrors
from inkube.schemas.builtin import pem
from inkube.schemas.builtin.strategies.base import BuiltinStrategy, keep
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import gotext
from inkube.schemas.lazyproperty import cached_property
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.schemas.objects import semantically_same as same
from inkube.schemas.strategy import Context, User

LEGACY = "kubernetes.io/legacy-unknown"
_USAGES = (
    "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign",
    "data encipherment", "decipher only", "digital signature", "email protection",
    "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement",
    "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth",
    "signing", "timestamping",
)  # fmt: skip
_REQUESTER = ("username", "uid", "groups", "extra")
_DECISIONS = ("Approved", "Denied")
_LASTING = ("Approved", "Denied", "Failed")
_NAMES_CONDITION = 33
"""The last minor that refuses a decision against another one at its own field."""
_MIN_SECONDS = 600
_MAX_DOMAIN = 253
_MAX_SIGNER = 571  # a domain of 253 characters, two slashes, a name and a namespace
_BLOCK = "PEM block type must be CERTIFICATE REQUEST"
_SHOWN = "<certificate data>"
_FORM = "must be a fully qualified domain and path of the form 'example.com/signer-name'"


class SigningRequests(BuiltinStrategy):
    """A request for a certificate."""

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("request", None)
        for condition in (obj.get("status") or {}).get("conditions") or ():
            if not condition.get("status"):
                condition["status"] = "True"

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        _record(obj["spec"], context.user)

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        keep(obj, old, "spec")
        keep(obj, old, "status")

    def prepare_status(self, context: Context, obj: Object, old: Object) -> None:
        """Keep the spec and the decisions of the old status, which only /approval writes."""
        keep(obj, old, "spec")
        told, before = obj.setdefault("status", {}), old.get("status") or {}
        decided = [one for one in before.get("conditions") or () if one["type"] in _DECISIONS]
        given = [one.get("type") for one in told.get("conditions") or ()]
        missing = [one for one in decided if one["type"] not in given]
        if missing:
            told["conditions"] = [*(told.get("conditions") or ()), *missing]
        _settle_times(obj, old, context.now)

    def prepare_part(self, context: Context, obj: Object, old: Object) -> None:
        """Keep the object except the conditions, the only members that /approval writes."""
        keep(obj, old, "spec")
        status = dict(old.get("status") or {})
        keep(status, obj.get("status") or {}, "conditions")
        obj["status"] = status
        _settle_times(obj, old, context.now)

    def check(self, obj: Object) -> list[FieldError]:
        return _spec(obj.get("spec") or {}) + _conditions(
            obj, old=None, allows=(), names_one=self._names_condition
        )

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        return self._changes(obj, old, allows=())

    def check_status(self, obj: Object, old: Object) -> list[FieldError]:
        return self._changes(obj, old, allows=("certificate",))

    def check_part(self, name: str, obj: Object, old: Object) -> list[FieldError]:
        return self._changes(obj, old, allows=("approval",))

    def _changes(self, obj: Object, old: Object, *, allows: tuple[str, ...]) -> list[FieldError]:
        return _changes(obj, old, allows=allows, names_one=self._names_condition)

    @cached_property
    def _names_condition(self) -> bool:
        """Whether a decision against another one is refused at its type, and not at the list."""
        return self.definition.minor <= _NAMES_CONDITION


def _record(spec: Object, user: User) -> None:
    """Set the requester to the authenticated user, in place of the values in the body."""
    for member in _REQUESTER:
        spec.pop(member, None)
    extra = {name: list(values) for name, values in user.extra}
    told = {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
    spec.update({member: value for member, value in told.items() if value})


def _settle_times(obj: Object, old: Object, now: str) -> None:
    """populateConditionTimestamps: set missing times of conditions, in place."""
    before = {one.get("type"): one for one in (old.get("status") or {}).get("conditions") or ()}
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if not condition.get("lastUpdateTime"):
            condition["lastUpdateTime"] = now
        if condition.get("lastTransitionTime"):
            continue
        known = before.get(condition.get("type"))
        unchanged = known is not None and known.get("status") == condition.get("status")
        since = known.get("lastTransitionTime") if known is not None and unchanged else None
        condition["lastTransitionTime"] = since or now


def _spec(spec: Object) -> list[FieldError]:
    errors = []
    why = request_problem(spec.get("request"))
    if why:
        errors.append(fielderrors.invalid("spec.request", spec.get("request"), why))
    usages = spec.get("usages") or []
    if not usages:
        errors.append(fielderrors.required("spec.usages"))
    seen = set()
    for index, usage in enumerate(usages):
        place = f"spec.usages[{index}]"
        if usage not in _USAGES:
            errors.append(fielderrors.not_supported(place, usage, _USAGES))
        if usage in seen:
            errors.append(fielderrors.duplicate(place, usage))
        seen.add(usage)
    signer = spec.get("signerName", "")
    if signer == LEGACY:
        why = "the legacy signerName is not allowed via this API version"
        errors.append(fielderrors.invalid("spec.signerName", signer, why))
    else:
        errors += signer_name(signer, "spec.signerName")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _MIN_SECONDS:
        why = "may not specify a duration less than 600 seconds (10 minutes)"
        errors.append(fielderrors.invalid("spec.expirationSeconds", seconds, why))
    return errors


def signer_name(name: str, path: str) -> list[FieldError]:
    """ValidateSignerName: a domain with a dot, and a path of one part."""
    if not name:
        return [fielderrors.required(path)]
    parts = name.split("/")
    if len(parts) != 2:
        return [fielderrors.invalid(path, name, _FORM)]
    domain, rest = parts
    errors = [fielderrors.too_long(path, _MAX_DOMAIN)] if len(domain) > _MAX_DOMAIN else []
    errors += _segment(domain, path, names.dns1123_label)
    if "." not in domain:
        why = "should be a domain with at least two segments separated by dots"
        errors.append(fielderrors.invalid(path, domain, why))
    errors += _segment(rest, path, names.dns1123_subdomain)
    if len(name) > _MAX_SIGNER:
        errors.append(fielderrors.too_long(path, _MAX_SIGNER))
    return errors


def _segment(text: str, path: str, check: Callable[[str], list[str]]) -> list[FieldError]:
    """The errors of the first invalid part of a signer's domain or path."""
    for part in text.split("."):
        problems = check(part)
        if problems:
            shown = gotext.quote(part)
            return [
                fielderrors.invalid(path, text, f"validating label {shown}: {why}")
                for why in problems
            ]
    return []


def request_problem(request: str | None) -> str:
    """The reason why a text is not a valid certificate request; "" if it is."""
    block = pem.first_block(request)
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
    """Whether a request has a valid signature by RSA with SHA-1. Go accepts it for requests,
    `cryptography` rejects it."""
    key, algorithm = request.public_key(), request.signature_hash_algorithm
    if not isinstance(key, rsa.RSAPublicKey) or not isinstance(algorithm, hashes.SHA1):
        return False
    try:
        key.verify(request.signature, request.tbs_certrequest_bytes, padding.PKCS1v15(), algorithm)
    except exceptions.InvalidSignature:
        return False
    return True


def _changes(
    obj: Object, old: Object, *, allows: tuple[str, ...], names_one: bool
) -> list[FieldError]:
    """validateCertificateSigningRequestUpdate: the errors of an update. An unchanged spec and an
    unchanged certificate are not checked."""
    spec = obj.get("spec") or {}
    errors = [] if same(spec, old.get("spec")) else _spec(spec)
    errors += _conditions(obj, old, allows=allows, names_one=names_one)
    new, before = ((one.get("status") or {}).get("certificate") for one in (obj, old))
    path = "status.certificate"
    if new != before:
        if before:
            why = "updates may not modify existing certificate content"
            errors.append(fielderrors.forbidden(path, why))
        elif "certificate" not in allows:
            errors.append(fielderrors.forbidden(path, "updates may not set certificate content"))
    if new and new != before:
        why = _certificate_problem(new)
        if why:
            errors.append(fielderrors.invalid(path, _SHOWN, why))
    return errors


def _certificate_problem(encoded: str) -> str:
    """validateCertificate: the reason why a text is not one or more certificates in PEM, or has
    other blocks; "" if it is valid."""
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


def _conditions(
    obj: Object, old: Object | None, *, allows: tuple[str, ...], names_one: bool
) -> list[FieldError]:
    """The errors of conditions: their form, their combination, and additions and removals that
    `allows` does not permit."""
    path = "status.conditions"
    given = (obj.get("status") or {}).get("conditions") or []
    errors = []
    seen: set[str] = set()
    for index, one in enumerate(given):
        kind, value, place = one.get("type", ""), one.get("status", ""), f"{path}[{index}]"
        if not kind:
            errors.append(fielderrors.required(f"{place}.type"))
        elif kind in seen:
            errors.append(fielderrors.duplicate(f"{place}.type", kind))
        if kind in _LASTING and value != "True":
            errors.append(fielderrors.not_supported(f"{place}.status", value, ["True"]))
        elif not value:
            errors.append(fielderrors.required(f"{place}.status"))
        elif value not in ("True", "False", "Unknown"):
            choices = ("False", "True", "Unknown")
            errors.append(fielderrors.not_supported(f"{place}.status", value, choices))
        if kind in _DECISIONS and seen & {*_DECISIONS} - {kind}:
            why = "Approved and Denied conditions are mutually exclusive"
            where = f"{place}.type" if names_one else path
            errors.append(fielderrors.invalid(where, kind, why))
        seen.add(kind)
    if old is None:
        return errors
    before = {one.get("type", "") for one in (old.get("status") or {}).get("conditions") or ()}
    for kind in _LASTING:
        if kind in before and kind not in seen:
            why = f'updates may not remove a condition of type "{kind}"'
            errors.append(fielderrors.forbidden(path, why))
        may_add = "approval" in allows if kind in _DECISIONS else bool(allows)
        if kind in seen and kind not in before and not may_add:
            why = f'updates may not add a condition of type "{kind}"'
            errors.append(fielderrors.forbidden(path, why))
    return errors
