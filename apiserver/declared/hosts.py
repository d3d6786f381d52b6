"""Builds modules: the one way from the name of a module to its parts on a server.

`startmodules` builds those that a server has from its start, `kinds` the others. What a module gets
of the server is a `ModuleHost`.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from inkube.apiserver import modules as served
from inkube.apiserver.admission import DeclaredKinds
from inkube.apiserver.configuration import Options
from inkube.apiserver.declared.secrets import StoredSecrets
from inkube.apiserver.faults import Faults
from inkube.apiserver.registry import Resources
from inkube.apiserver.sources import Foundation
from inkube.controllers.manager import Manager
from inkube.controllers.modules import Module, ModuleHost, ModuleParts, ServerAccess
from inkube.schemas import lazy
from inkube.schemas.definitions import Definition


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Host:
    """The parts of a server that modules and kinds declared in Python use."""

    options: Options
    base: Foundation
    resources: Resources
    manager: Manager
    faults: Faults
    admission: DeclaredKinds
    access: Callable[[], ServerAccess]
    exit_stack: contextlib.AsyncExitStack
    """Closes the modules, after the controllers."""


def build(name: str, host: Host, services: Mapping[str, Any]) -> ModuleParts:
    """Return the parts of a module on a server. Raises ValueError for a module that has kinds of
    groups that it does not declare, and the errors of the module."""
    module = module_named(name)
    parts = module.build(
        ModuleHost(
            settings=host.options.settings(module),
            services=dict(services),
            client=host.manager.client,
            clock=host.manager.clock,
            secrets=StoredSecrets(host.base.store, host.base.keys),
            data=host.options.data,
            faults=host.faults,
            manager=host.manager,
            server=host.access(),
        )
    )
    for definition in _definitions(parts):
        if definition.group not in module.groups:
            raise ValueError(
                f"the module {name!r} creates {definition.names.kind} of "
                f"{definition.group}, a group that it does not declare: add it to its groups"
            )
    host.exit_stack.push_async_callback(parts.close)
    return parts


def module_named(name: str) -> Module:
    """Return the module with a name. Raises ValueError for a package's that cannot be loaded."""
    found = served.declaration(name)
    if isinstance(found, served.BuiltIn):
        found = lazy.named(*found.entry.split(":"))()
    return cast("Module", found)


def _definitions(parts: ModuleParts) -> Iterator[Definition]:
    yield from (kind.definition for kind in parts.schema_kinds)
    yield from (kind.definition for kind in parts.kinds)
