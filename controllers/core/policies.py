"""Type checking of ValidatingAdmissionPolicies: warnings about expressions, in their status.

Follows pkg/controller/validatingadmissionpolicystatus.
"""

from typing import NamedTuple, Protocol

from inkube.controllers.client import Client, Object, apply_status
from inkube.controllers.informer import Informer, Key
from inkube.controllers.manager import Controller, Manager, Result, Watch
from inkube.schemas import policies
from inkube.schemas.meta import GVK, GVR, split_api_version

RESOURCE = GVR("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies")
_MANAGER = "validatingadmissionpolicy-status"
_MAX_KINDS = 10


class KnownKind(NamedTuple):
    """A kind with its schema, metadata included."""

    gvk: GVK
    schema: Object


class Schemas(Protocol):
    """The schemas of the served kinds."""

    def by_resource(self, group: str, version: str, plural: str) -> KnownKind | None:
        """Return the kind of a resource; None if it is not served."""
        ...

    def by_kind(self, group: str, version: str, kind: str) -> KnownKind | None:
        """Return the kind with a name; None if it is not served."""
        ...


class TypeChecking:
    """Writes `status.typeChecking` for every generation of every policy."""

    def __init__(self, client: Client, schemas: Schemas, informer: Informer) -> None:
        self._client = client
        self._schemas = schemas
        self._informer = informer

    async def reconcile(self, key: Key) -> Result | None:
        """Check one policy, unless this generation was already checked."""
        policy = self._informer.get(key)
        if policy is None:
            return None
        generation = policy["metadata"].get("generation", 0)
        if (policy.get("status") or {}).get("observedGeneration") == generation:
            return None
        found = self._doubts(policy["spec"])
        checking = {"expressionWarnings": found} if found else {}
        status = {"observedGeneration": generation, "typeChecking": checking}
        await apply_status(self._client, RESOURCE, policy, status, manager=_MANAGER)
        return None

    def _doubts(self, spec: Object) -> list[Object]:
        kinds = [(str_of(known.gvk), known.schema) for known in self._kinds(spec)]
        wanted, params = spec.get("paramKind"), None
        if wanted is not None:
            group, version = split_api_version(wanted["apiVersion"])
            known = self._schemas.by_kind(group, version, wanted["kind"])
            params = known.schema if known is not None else {}
        return policies.typecheck.doubts(spec, kinds, params)

    def _kinds(self, spec: Object) -> list[KnownKind]:
        """Return the kinds that the rules name explicitly, without patterns and subresources."""
        found: dict[GVK, KnownKind] = {}
        for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
            groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
            if "*" in groups or "*" in versions:
                continue
            for group in groups:
                for version in versions:
                    for plural in rule.get("resources") or ():
                        if "*" in plural or "/" in plural:
                            continue
                        known = self._schemas.by_resource(group, version, plural)
                        if known is not None:
                            found[known.gvk] = known
        ordered = sorted(found, key=lambda gvk: (gvk.group, gvk.version, gvk.kind))
        return [found[gvk] for gvk in ordered[:_MAX_KINDS]]


def str_of(gvk: GVK) -> str:
    """`apps/v1, Kind=Deployment`, as the reference writes a kind."""
    return f"{gvk.group}/{gvk.version}, Kind={gvk.kind}"


def add(manager: Manager, schemas: Schemas) -> None:
    """Add the controller to the manager."""
    informer = manager.informers.of(RESOURCE)
    checking = TypeChecking(manager.client, schemas, informer)
    manager.add(
        Controller("policy-type-checking", checking.reconcile, (Watch(RESOURCE),), concurrency=1)
    )
