"""CustomResourceDefinitions in the registry: their strategy, and the table they fill.

What a CRD must look like is `schemas.crds`; when its kind is served is `controllers.core.crds`.
"""

from collections.abc import Callable
from typing import Any

from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.identity import Identity
from inkube.apiserver.registry.resources import Resource, Resources, Served
from inkube.apiserver.registry.strategy import Strategy
from inkube.schemas import crds
from inkube.schemas.definitions import Definition, Origin
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import objectmeta
from inkube.storage.entry import Entry

Object = dict[str, Any]
GROUP, PLURAL = "apiextensions.k8s.io", "customresourcedefinitions"


class CRDStrategy(Strategy):
    """How CRDs differ from other built-in kinds."""

    unconditional_update = False
    returns_deleted = False
    goes_its_own_way = True

    def __init__(self, identity: Identity) -> None:
        self._identity = identity

    def decode(self, served: Served, obj: Object, unknown: list[str] | None) -> Object:
        decoded, found = crds.decode(obj)
        if unknown is not None:
            unknown.extend(found)
        crds.default(decoded)
        return decoded

    def settle_applied(self, served: Served, obj: Object) -> Object:
        return self.decode(served, obj, None)

    def prepare_create(self, call: Call, obj: Object) -> None:
        crds.prepare_create(obj)

    def prepare_update(self, call: Call, obj: Object, old: Object) -> None:
        if call.subresource == "status":
            crds.prepare_status_update(obj, old)
        else:
            crds.prepare_update(obj, old)

    def validate(self, call: Call, obj: Object) -> list[FieldError]:
        return crds.validate_create(obj)

    def validate_update(self, call: Call, obj: Object, old: Object) -> list[FieldError]:
        errors = objectmeta.validate_update(obj["metadata"], old["metadata"], namespaced=False)
        if call.subresource == "status":
            return errors + crds.validate_status_update(obj, old)
        return errors + crds.validate_update(obj, old)

    def warnings(self, call: Call, obj: Object, old: Object | None) -> list[str]:
        return [] if call.subresource == "status" else crds.warnings(obj)

    def mark_deleted(self, obj: Object) -> bool:
        return crds.prepare_delete(obj, self._identity.timestamp())

    def to_storage(self, resource: Resource, obj: Object) -> Object:
        return obj

    def renew(self, resource: Resource, entry: Entry) -> Object:
        return entry.value


class Installer:
    """What `controllers.core.crds` fills: the live table, with the strategy of custom resources."""

    def __init__(self, resources: Resources, by_webhook: Callable[[Object], Strategy]) -> None:
        self._resources = resources
        self._by_webhook = by_webhook
        self._strategy = Strategy()

    def install(self, definition: Definition, *, since: int = 0) -> None:
        """Serve a definition. `since`: objects stored up to this revision may be of another
        schema and are brought to this one when read."""
        known = self._resources.get(definition.group, definition.names.plural)
        if known is not None and known.definition.origin is not Origin.CUSTOM:
            return
        self._resources.install(
            Resource(definition, lambda: self._strategy_for(definition), since=since)
        )

    def _strategy_for(self, definition: Definition) -> Strategy:
        if definition.by_webhook and definition.webhook is not None:
            return self._by_webhook(dict(definition.webhook))
        return self._strategy

    def uninstall(self, group: str, plural: str) -> None:
        """Serve it no longer."""
        self._resources.uninstall(group, plural)
