"""Modules that a server has from its start, such as simulated workloads. Loaded with the first one.

Others are built by `declared` at the first request for one of their groups.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from inkube.apiserver.registry import Resource
from inkube.apiserver.root import modulehosts
from inkube.apiserver.root.core import Core
from inkube.controllers.modules import ModuleParts, ServerAccess
from inkube.schemas import crds


def build(core: Core, access: Callable[[], ServerAccess]) -> list[ModuleParts]:
    """Build the modules that ask for it, and serve their kinds that have no model.

    Raises ValueError, TypeError and other errors of the modules.
    """
    services: dict[str, Any] = {}
    result = []
    for name in core.options.start_modules:
        parts = modulehosts.build(name, core, access(), services)
        install(core, parts)
        services |= parts.services
        result.append(parts)
    return result


def install(core: Core, parts: ModuleParts) -> None:
    """Serve the kinds of a module that have no model."""
    for kind in parts.schema_kinds:
        create_strategy = partial(crds.CustomStrategy, kind.validate)
        core.resources.install(
            Resource(kind.definition, create_strategy, since=core.base.store.revision)
        )
