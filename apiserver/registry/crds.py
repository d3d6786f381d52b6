"""The table that CustomResourceDefinitions fill.

What a CRD must look like is `schemas.crds`; when its kind is served is `controllers.core.crds`.
"""

from collections.abc import Callable

from inkube.apiserver.registry.resources import Converter, Resource, Resources
from inkube.schemas import crds
from inkube.schemas.definitions import Definition
from inkube.schemas.objects import Object

GROUP, PLURAL = "apiextensions.k8s.io", "customresourcedefinitions"


class Installer:
    """What `controllers.core.crds` fills: the live table, with custom resources."""

    def __init__(self, resources: Resources, converter: Callable[[Object], Converter]) -> None:
        self._resources = resources
        self._converter = converter
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
            Resource(definition, crds.CustomStrategy, converter=converter, since=since)
        )

    def uninstall(self, group: str, plural: str) -> None:
        """Serve it no longer."""
        self._installed.discard((group, plural))
        self._resources.uninstall(group, plural)
