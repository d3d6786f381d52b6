"""CustomResourceDefinitions in the registry: their behaviour, and the table they fill.

What a CRD must look like is `schemas.crds`; when its kind is served is `controllers.core.crds`.
"""

from collections.abc import Callable

from inkube.apiserver.registry.behaviours import Behaviour, Converter, Custom, Warn
from inkube.apiserver.registry.resources import Resource, Resources
from inkube.apiserver.registry.served import Served
from inkube.apiserver.registry.stamps import Stamps
from inkube.schemas import crds
from inkube.schemas.definitions import Definition
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import objectmeta
from inkube.schemas.objects import Object

GROUP, PLURAL = "apiextensions.k8s.io", "customresourcedefinitions"


class Definitions(Behaviour):
    """How CRDs differ from other built-in kinds."""

    deletes_itself = True

    def __init__(self, stamps: Stamps) -> None:
        self._stamps = stamps

    def is_costly(self, served: Served) -> bool:
        return True

    def decode(self, served: Served, obj: Object, unknown: list[str] | None) -> Object:
        decoded, found = crds.decode(obj)
        if unknown is not None:
            unknown.extend(found)
        crds.default(decoded)
        return decoded

    def prepare_create(self, served: Served, obj: Object) -> None:
        crds.prepare_create(obj)

    def prepare_update(self, served: Served, obj: Object, old: Object, subresource: str) -> None:
        if subresource == "status":
            crds.prepare_status_update(obj, old)
        else:
            crds.prepare_update(obj, old)

    def validate(self, served: Served, obj: Object, warn: Warn) -> list[FieldError]:
        return crds.validate_create(obj)

    def validate_update(
        self, served: Served, obj: Object, old: Object, *, subresource: str, warn: Warn
    ) -> list[FieldError]:
        errors = objectmeta.validate_update(obj["metadata"], old["metadata"], namespaced=False)
        if subresource == "status":
            return errors + crds.validate_status_update(obj, old)
        return errors + crds.validate_update(obj, old)

    def warnings(self, obj: Object, old: Object | None, subresource: str) -> list[str]:
        return [] if subresource == "status" else crds.warnings(obj)

    def mark_deleted(self, obj: Object) -> bool:
        return crds.prepare_delete(obj, self._stamps.timestamp())


class Installer:
    """What `controllers.core.crds` fills: the live table, with custom resources."""

    def __init__(self, resources: Resources, converter: Callable[[Object], Converter]) -> None:
        self._resources = resources
        self._converter = converter
        self._behaviour = Custom()
        self._installed: set[tuple[str, str]] = set()

    def install(self, definition: Definition, *, since: int = 0) -> None:
        """Serve a definition. `since`: objects stored up to this revision may be of another
        schema and are brought to this one when read."""
        place = definition.group, definition.names.plural
        if place not in self._installed and self._resources.get(*place) is not None:
            return  # of a kind that is compiled in, or declared in Python
        self._installed.add(place)
        webhook = definition.webhook
        converter = None if webhook is None else self._converter(dict(webhook))
        self._resources.install(
            Resource(definition, lambda: self._behaviour, converter=converter, since=since)
        )

    def uninstall(self, group: str, plural: str) -> None:
        """Serve it no longer."""
        self._installed.discard((group, plural))
        self._resources.uninstall(group, plural)
