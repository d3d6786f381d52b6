"""Builds modules: the one way from the name of a module to its parts on a server.

`startmodules` builds those that a server has from its start, `declared` the others. What a module
gets of the server is a `ModuleHost`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from inkube.apiserver import modules as served
from inkube.apiserver.root.core import Core
from inkube.apiserver.root.declared.secrets import StoredSecrets
from inkube.controllers.modules import Module, ModuleHost, ModuleParts, ServerAccess
from inkube.schemas import lazy
from inkube.schemas.definitions import Definition


def build(name: str, core: Core, access: ServerAccess, services: Mapping[str, Any]) -> ModuleParts:
    """The parts of a module on a server. Raises ValueError for a module that has kinds of groups
    that it does not declare, and the errors of the module."""
    module = module_named(name)
    host = ModuleHost(
        settings=core.options.settings(module),
        services=dict(services),
        client=core.manager.client,
        clock=core.manager.clock,
        secrets=StoredSecrets(core.base.store, core.base.keys),
        data=core.options.data,
        faults=core.faults,
        manager=core.manager,
        server=access,
    )
    parts = module.build(host)
    for definition in _definitions(parts):
        if definition.group not in module.groups:
            raise ValueError(
                f"the module {name!r} creates {definition.names.kind} of "
                f"{definition.group}, a group that it does not declare: add it to its groups"
            )
    core.exit_stack.push_async_callback(parts.close)
    return parts


def module_named(name: str) -> Module:
    """The module with a name. Raises ValueError for a package's that cannot be loaded."""
    known = served.built_in().get(name)
    if known is None:
        return cast("Module", served.installed.load(name))
    module: Module = lazy.named(*known.entry.split(":"))()
    return module


def _definitions(parts: ModuleParts) -> Iterator[Definition]:
    yield from (kind.definition for kind in parts.schema_kinds)
    yield from (kind.definition for kind in parts.kinds)
