"""Admission that only refuses: external addresses of services, owners without rights.

Follows plugin/pkg/admission/{network/denyserviceexternalips,gc}.
"""

from collections.abc import Iterator, Sequence

from inkube.apiserver.auth import Attributes, Authorizer, of_object
from inkube.apiserver.registry import Plugin, Resources, Write, refused
from inkube.schemas.meta import split_api_version
from inkube.schemas.objects import Object


class ExternalAddresses(Plugin):
    """Refuses services with new external addresses."""

    name = "DenyServiceExternalIPs"
    kinds = (("", "services"),)
    operations = ("CREATE", "UPDATE")

    async def validate(self, write: Write) -> None:
        if write.request.subresource:
            return
        if _addresses(write.object) - _addresses(write.old):
            raise refused(write, "Use of external IPs is denied by admission control")


def _addresses(service: Object | None) -> set[str]:
    return set(((service or {}).get("spec") or {}).get("externalIPs") or ())


class OwnerRights(Plugin):
    """Refuses changes of owners by users who cannot delete the object, and owners whose deletion it
    blocks by users who cannot set finalizers of the owner."""

    name = "OwnerReferencesPermissionEnforcement"
    operations = ("CREATE", "UPDATE")

    def __init__(self, resources: Resources, authorizer: Authorizer) -> None:
        self._resources = resources
        self._authorizer = authorizer

    async def validate(self, write: Write) -> None:
        request = write.request
        is_status_of_pod = request.resource.plural == "pods" and request.subresource == "status"
        new, old = _owners(write.object), _owners(write.old)
        if is_status_of_pod or new == old:
            return
        await self._require(
            write,
            of_object(request, "delete", write.name),
            "cannot set an ownerRef on a resource you can't delete",
        )
        blocked_before = {each.get("uid") for each in old if each.get("blockOwnerDeletion")}
        for owner in new:
            if owner.get("blockOwnerDeletion") and owner.get("uid") not in blocked_before:
                for wanted in self._finalizers(write, owner):
                    await self._require(
                        write,
                        wanted,
                        "cannot set blockOwnerDeletion if an ownerReference refers to a resource "
                        "you can't set finalizers on",
                    )

    async def _require(self, write: Write, attributes: Attributes, why: str) -> None:
        decision = self._authorizer.decide(attributes)
        if not decision.allowed:
            raise refused(write, f"{why}: {decision.reason}, <nil>")

    def _finalizers(self, write: Write, owner: Object) -> Iterator[Attributes]:
        """Yield the permissions to set finalizers of an owner. Raises StatusError 403 for an
        unknown kind."""
        group, version = split_api_version(owner.get("apiVersion", ""))
        kind = owner.get("kind", "")
        resource = self._resources.by_kind(group, kind)
        if resource is None or resource.served(version) is None:
            raise refused(
                write,
                "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for "
                f"APIVersion {owner.get('apiVersion', '')} Kind {kind}: no matches for kind "
                f'"{kind}" in version "{owner.get("apiVersion", "")}"',
            )
        yield Attributes(
            write.request.user,
            "update",
            group,
            version,
            resource.plural,
            "finalizers",
            write.request.namespace if resource.namespaced else "",
            owner.get("name", ""),
        )


def _owners(obj: Object | None) -> Sequence[Object]:
    return ((obj or {}).get("metadata") or {}).get("ownerReferences") or ()
