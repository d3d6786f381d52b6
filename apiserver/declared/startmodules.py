"""Modules that a server has from its start, such as simulated workloads. Loaded with the first one.

Others are built by `kinds` at the first request for one of their groups.
"""

from functools import partial
from typing import Any

from inkube.apiserver.declared import hosts
from inkube.apiserver.declared.hosts import Host
from inkube.apiserver.registry import Resource
from inkube.controllers.modules import ModuleParts
from inkube.schemas import crds


def build(host: Host) -> list[ModuleParts]:
    """Build the modules that ask for it, and serve their kinds that have no model.

    Raises ValueError, TypeError and other errors of the modules.
    """
    services: dict[str, Any] = {}
    result = []
    for name in host.options.start_modules:
        parts = hosts.build(name, host, services)
        install(host, parts)
        services |= parts.services
        result.append(parts)
    return result


def install(host: Host, parts: ModuleParts) -> None:
    """Serve the kinds of a module that have no model."""
    for kind in parts.schema_kinds:
        create_strategy = partial(crds.CustomStrategy, kind.validate)
        host.resources.install(
            Resource(kind.definition, create_strategy, since=host.base.store.revision)
        )
