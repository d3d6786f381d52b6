"""Admission policies in force: those with a binding, asked about every write.

Until the first binding is made a write costs one look at a flag, and what judges is not loaded.
"""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from inkube.apiserver.auth.authorizer import Authorizer
from inkube.apiserver.registry import conversions
from inkube.apiserver.registry.admission import Attributes, Operation, Plugin
from inkube.apiserver.registry.resources import Resource, Resources
from inkube.controllers.core.policies import Known
from inkube.schemas.meta import GVK
from inkube.storage.store import BaseStore

if TYPE_CHECKING:
    from inkube.apiserver.policies.judging import Judge
    from inkube.apiserver.policies.mutating import Mutator

GROUP = "admissionregistration.k8s.io"
_JUDGING = "validatingadmissionpolicybindings"
_CHANGING = "mutatingadmissionpolicybindings"
_BINDINGS = frozenset({_JUDGING, _CHANGING})
_KINDS = _BINDINGS | {"validatingadmissionpolicies", "mutatingadmissionpolicies"}
"""What no policy is asked about."""


class PolicyAdmission(Plugin):
    """Changes and refuses what bound policies want changed or deny, and warns as bindings say."""

    def __init__(self, store: BaseStore, resources: Resources, authorizer: Authorizer) -> None:
        self._store = store
        self._resources = resources
        self._authorizer = authorizer
        self._judged, self._changed = (
            store.count(f"/registry/{plural}/") > 0 for plural in (_JUDGING, _CHANGING)
        )
        """Whether there ever was a binding: every one that comes passes here."""

    def handles(self, resource: Resource, operation: Operation) -> bool:
        return resource.group != GROUP or resource.plural not in _KINDS or _binds(resource)

    async def mutate(self, attributes: Attributes) -> None:
        if self._changed and not _binds(attributes.call.resource):
            self._mutator.mutate(attributes)

    async def validate(self, attributes: Attributes) -> None:
        if _binds(attributes.call.resource):
            self._judged = self._judged or attributes.call.resource.plural == _JUDGING
            self._changed = self._changed or attributes.call.resource.plural == _CHANGING
        elif self._judged:
            judge, resource = self._judge, attributes.call.resource
            await conversions.settled(resource, lambda: judge.judge(attributes))

    @cached_property
    def _judge(self) -> "Judge":
        from inkube.apiserver.policies.judging import Judge

        return Judge(self._store, self._resources, self._authorizer)

    @cached_property
    def _mutator(self) -> "Mutator":
        from inkube.apiserver.policies.mutating import Mutator

        return Mutator(self._store, self._resources, self._authorizer)


class LiveSchemas:
    """The schemas of what is served, for the type checking of policies."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    def by_resource(self, group: str, version: str, plural: str) -> Known | None:
        """See controllers.policies.Schemas."""
        return _known(self._resources.get(group, plural), version)

    def by_kind(self, group: str, version: str, kind: str) -> Known | None:
        """See controllers.policies.Schemas."""
        return _known(self._resources.by_kind(group, kind), version)


def _binds(resource: Resource) -> bool:
    return resource.plural in _BINDINGS and resource.group == GROUP


def _known(resource: Resource | None, version: str) -> Known | None:
    served = resource.served(version) if resource is not None else None
    if resource is None or served is None:
        return None
    schema: dict[str, Any] = served.version.schema
    if not resource.builtin:
        schema = {**schema, "properties": {**schema.get("properties", {}), **_envelope()}}
    return Known(served.gvk, schema)


def _envelope() -> dict[str, Any]:
    """apiVersion, kind and metadata, which schemas of custom kinds leave open."""
    from inkube.schemas.gotypes import table

    properties = table.schema(GVK("", "v1", "ConfigMap"))["properties"]
    return {member: properties[member] for member in ("apiVersion", "kind", "metadata")}
