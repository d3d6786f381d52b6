"""Checks on certificate signing requests: who may approve and sign them, and the group that none
may request.

In addition to access to the request, the user needs a permission for its signer. Follows
plugin/pkg/admission/certificates/{approval,signing,subjectrestriction}.
"""

from inkube.apiserver import auth
from inkube.apiserver.auth import Attributes as Action
from inkube.apiserver.auth import Authorizer
from inkube.apiserver.registry import Operation, Plugin, Resource, Write, refused
from inkube.schemas.builtin import pem

_GROUP, _PLURAL = "certificates.k8s.io", "certificatesigningrequests"
_CLIENT = "kubernetes.io/kube-apiserver-client"
_MASTERS = "system:masters"


def _is_request(resource: Resource) -> bool:
    return (resource.group, resource.plural) == (_GROUP, _PLURAL)


class _SignerRight(Plugin):
    """Checks a permission for the signer of a request."""

    verb = ""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def handles(self, resource: Resource, operation: Operation) -> bool:
        return _is_request(resource) and operation == "UPDATE"

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

    def handles(self, resource: Resource, operation: Operation) -> bool:
        return _is_request(resource) and operation == "CREATE"

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
