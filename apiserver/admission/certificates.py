"""Checks on certificate signing requests: who may approve and sign them, and the group that none
may request. Counts issued certificates.

In addition to access to the request, the user needs a permission for its signer. Follows
plugin/pkg/admission/certificates/{approval,signing,subjectrestriction} and
pkg/registry/certificates/certificates/storage/metrics.go.
"""

import contextlib
from datetime import timedelta

from inkube.apiserver import auth
from inkube.apiserver.auth import Attributes as Action
from inkube.apiserver.auth import Authorizer
from inkube.apiserver.registry import Effect, Plugin, SideEffects, Write, refused
from inkube.apiserver.samples import Samples
from inkube.schemas.builtin import pem
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Reservation

_GROUP = "certificates.k8s.io"
_REQUESTS = (_GROUP, "certificatesigningrequests")
_CLIENT = "kubernetes.io/kube-apiserver-client"
_MASTERS = "system:masters"
_COUNTS = "apiserver_certificates_registry_csr"
_BACKDATED = timedelta(minutes=5)  # by signers, against clocks that differ


class _SignerRight(Plugin):
    """Checks a permission for the signer of a request."""

    verb = ""
    kinds = (_REQUESTS,)
    operations = ("UPDATE",)

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def _check(self, write: Write, verb: str) -> None:
        """Check the permission. Raises StatusError 403."""
        request, old = write.request, write.old or {}
        signer = (old.get("spec") or {}).get("signerName", "")
        domain = signer.partition("/")[0]
        for name in (signer, f"{domain}/*"):
            action = Action(request.user, self.verb, _GROUP, "*", "signers", name=name)
            if (await auth.decided(self._authorizer, action)).allowed:
                return
        why = f'user not permitted to {verb} requests with signerName "{signer}"'
        raise refused(write, why)


class CertificateApproval(_SignerRight):
    """Checks the permission `approve` for writes to /approval."""

    name = "CertificateApproval"
    verb = "approve"

    async def validate(self, write: Write) -> None:
        if write.request.subresource == "approval":
            await self._check(write, "approve")


class CertificateSigning(_SignerRight):
    """Checks the permission `sign` for writes to /status that change the certificate or
    conditions."""

    name = "CertificateSigning"
    verb = "sign"

    async def validate(self, write: Write) -> None:
        if write.request.subresource != "status":
            return
        new, old = (((one or {}).get("status") or {}) for one in (write.object, write.old))
        if any(new.get(part) != old.get(part) for part in ("certificate", "conditions")):
            await self._check(write, "sign")


class CertificateSubjectRestriction(Plugin):
    """Refuses client certificates for the group system:masters, which has all permissions."""

    name = "CertificateSubjectRestriction"
    kinds = (_REQUESTS,)
    operations = ("CREATE",)

    async def validate(self, write: Write) -> None:
        spec = (write.object or {}).get("spec") or {}
        if write.request.subresource or spec.get("signerName") != _CLIENT:
            return
        block = pem.first_block(spec.get("request"))
        if block is None:
            return
        try:
            groups = auth.signers.organizations(block[1])
        except ValueError as error:
            why = f"failed to parse CSR: {error}"
            raise refused(write, why) from error
        if _MASTERS in groups:
            why = f"use of {_CLIENT} signer with {_MASTERS} group is not allowed"
            raise refused(write, why)


class CertificateDurations(SideEffects):
    """Counts certificates for requests that ask for a duration, and those that have it. It has no
    name, because it is no plugin of kube-apiserver."""

    kinds = (_REQUESTS,)
    operations = ("UPDATE",)

    def __init__(self, samples: Samples) -> None:
        self._samples = samples

    def effect(self, write: Write) -> Effect | None:
        old = write.old or {}
        spec, certificate = old.get("spec") or {}, _certificate(write.object)
        seconds, is_issued = spec.get("expirationSeconds"), certificate and not _certificate(old)
        if write.request.subresource != "status" or seconds is None or not is_issued:
            return None
        name = spec.get("signerName", "")
        signer = name if name.startswith("kubernetes.io/") else "other"
        is_stored = True

        async def count(reservation: Reservation) -> None:
            reservation.written(forget)
            reservation.hold(add)

        async def forget(_: Object | None) -> None:
            nonlocal is_stored
            is_stored = False

        def add() -> None:
            if is_stored:
                self._samples.add(f"{_COUNTS}_requested_duration_total", signer)
            if is_stored and _has_duration(certificate, timedelta(seconds=seconds)):
                self._samples.add(f"{_COUNTS}_honored_duration_total", signer)

        return count


def _certificate(request: Object | None) -> str:
    found: str = ((request or {}).get("status") or {}).get("certificate") or ""
    return found


def _has_duration(certificate: str, requested: timedelta) -> bool:
    """Return whether a certificate is about as long valid as was asked."""
    block = pem.first_block(certificate)
    with contextlib.suppress(ValueError):
        if block is not None:
            return abs(requested - auth.signers.validity(block[1])) < _BACKDATED + requested / 20
    return False
