"""Installs the kinds of CustomResourceDefinitions in the table of served resources.

`schemas.crds` checks CRDs. `controllers.core.crds` decides when their kinds are served.
"""

from collections.abc import Callable
from dataclasses import replace

from inkube.apiserver.registry.resource import Converter, Resource
from inkube.apiserver.registry.resources import Resources
from inkube.schemas import crds, releases
from inkube.schemas.definitions import Definition
from inkube.schemas.meta import GVR
from inkube.schemas.objects import Object

GROUP, PLURAL = "apiextensions.k8s.io", "customresourcedefinitions"


class Installer:
    """The table for `controllers.core.crds`: adds custom resources to the live table."""

    def __init__(
        self,
        resources: Resources,
        converter: Callable[[Object], Converter],
        minor: int = releases.NEWEST.minor,
    ) -> None:
        self._resources = resources
        self._minor = minor
        self._converter = converter
        self._installed: set[tuple[str, str]] = set()

    def install(self, definition: Definition, *, since: int = 0, is_removed: bool = False) -> None:
        """Serve the kind of a CRD, or replace its definition. Implements
        `controllers.core.crds.Table`."""
        place = definition.group, definition.names.plural
        if place not in self._installed and self._resources.get(*place) is not None:
            return  # the kind is built in, or declared in Python
        self._installed.add(place)
        definition = replace(definition, minor=self._minor)
        if not is_removed:
            definition = self._without_built_in(definition)
        webhook = definition.webhook
        converter = None if webhook is None else self._converter(dict(webhook))
        self._resources.install(
            Resource(definition, crds.CustomStrategy, converter=converter, since=since)
        )

    def serves(self, resource: GVR) -> bool:
        """Return whether a version of a kind is served. Implements
        `controllers.core.crds.Table`."""
        found = self._resources.get(resource.group, resource.resource)
        return found is not None and found.served(resource.version) is not None

    def _without_built_in(self, definition: Definition) -> Definition:
        """Return the definition with versions that built-in kinds of the group have marked as not
        served: the router of built-in kinds serves their whole path
        (apiserver/pkg/server/handler.go, director)."""
        kinds = self._resources.group(definition.group)
        taken = {
            v.name for kind in kinds if kind.wording.is_routed for v in kind.definition.versions
        }
        if not taken:
            return definition
        versions = (
            replace(version, served=version.served and version.name not in taken)
            for version in definition.versions
        )
        return replace(definition, versions=tuple(versions))

    def uninstall(self, group: str, plural: str) -> None:
        """Stop serving the resource."""
        self._installed.discard((group, plural))
        self._resources.uninstall(group, plural)
