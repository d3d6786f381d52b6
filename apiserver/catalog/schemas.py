"""`controllers.core.policies.Schemas` for the table of served kinds, for type checking of
policies."""

from typing import Any

from inkube.apiserver.registry import Resource, Resources
from inkube.controllers.core import KnownKind
from inkube.schemas.gotypes import table
from inkube.schemas.meta import GVK


class LiveSchemas:
    """The schemas of served kinds, for the type checking of policies."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    def by_resource(self, group: str, version: str, plural: str) -> KnownKind | None:
        return _known_kind(self._resources.get(group, plural), version)

    def by_kind(self, group: str, version: str, kind: str) -> KnownKind | None:
        return _known_kind(self._resources.by_kind(group, kind), version)


def _known_kind(resource: Resource | None, version: str) -> KnownKind | None:
    served = resource.served(version) if resource is not None else None
    if resource is None or served is None:
        return None
    schema: dict[str, Any] = served.version.schema
    properties = {**schema.get("properties", {}), **_envelope()}
    return KnownKind(served.gvk, {**schema, "properties": properties})


def _envelope() -> dict[str, Any]:
    """Return the schemas of apiVersion, kind and metadata, which schemas of custom kinds omit."""
    properties = table.schema(GVK("", "v1", "ConfigMap"))["properties"]
    return {member: properties[member] for member in ("apiVersion", "kind", "metadata")}
