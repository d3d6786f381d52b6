"""Kinds declared in Python: those of modules and those in the options.

This part of the composition root is imported at the first request for one of these groups, or if
their objects are already stored. pydantic, the models and their checks would take half of the time
of a start, and most servers do not need them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from inkube.apiserver.registry import Handler, Resource
from inkube.apiserver.root import modulehosts, startmodules
from inkube.apiserver.root.core import Core
from inkube.apiserver.root.declared.endpoints import SubresourceHandler, endpoint
from inkube.apiserver.root.declared.records import StoredRecords, ViewConverter, transactor
from inkube.apiserver.root.declared.secrets import StoredSecrets
from inkube.controllers.environment import Environment, Recheck
from inkube.controllers.events import Recorder
from inkube.controllers.kinds import KindModule
from inkube.controllers.modules import ModuleParts, ServerAccess


def install(core: Core, start_modules: Sequence[ModuleParts], access: ServerAccess) -> Environment:
    """Serve every configured kind, and return the environment of their checks. Call it only one
    time for each server.

    `start_modules` are the parts of the modules that were built at the start. Raises ValueError if
    a module contains kinds of groups that it does not declare.
    """
    services: dict[str, Any] = {}
    for parts in start_modules:
        services |= parts.services
    built = [*start_modules]
    for name in core.options.late_modules:
        parts = modulehosts.build(name, core, access, services)
        startmodules.install(core, parts)
        services |= parts.services
        built.append(parts)
    environment = _environment(core, services)
    for kind in (*(kind for made in built for kind in made.kinds), *core.options.kinds):
        _install(core, kind, environment)
    if core.options.controllers:
        for parts in built:
            for controller in parts.controllers(environment):
                core.manager.add(controller)
    return environment


def _environment(core: Core, services: Mapping[str, Any]) -> Environment:
    options, clock = core.options, core.manager.clock
    return Environment(
        client=core.manager.client,
        clock=clock,
        informers=core.manager.informers,
        events=Recorder(core.manager.client, clock, core.manager.event_names),
        outages=core.manager.outages,
        services={**services, **options.services},
        recheck=Recheck(options.recheck_healthy, options.recheck_unhealthy),
        retry_seconds=options.retry_seconds,
        records=_records(core),
    )


def _records(core: Core) -> StoredRecords:
    return StoredRecords(core.base.store, core.resources, core.base.system_fields)


def _install(core: Core, module: KindModule[Any], environment: Environment) -> None:
    module = module.served_with(StoredSecrets(core.base.store, core.base.keys), environment)
    definition = module.definition
    view = module.view
    source = None if view is None else core.resources.get(view.of.group, view.of.resource)
    handlers: dict[str, Handler | None] = {
        each.name: SubresourceHandler(each, environment) for each in module.subresources
    }
    handlers |= {each.name: None for each in module.parts if each.name}
    resource = Resource(
        definition,
        module.strategy,
        transactor=None
        if module.transaction is None
        else transactor(module.transaction, lambda: environment, _records(core), core.base.store),
        converter=None
        if view is None
        else ViewConverter(view, definition.names.kind, lambda: environment),
        stored_as=source,
        since=0 if view is not None else core.base.store.revision,
        is_view=view is not None,
        handlers=handlers,
    )
    core.resources.install(resource)
    for version in definition.versions:
        for each in module.endpoints:
            address = definition.group, version.name, each.name
            core.resources.add_endpoint(address, endpoint(each, environment))
    core.declared_kinds.add(module, environment)
    options = core.options
    if options.controllers or (module.works_alone and not options.shows_the_past):
        for controller in module.controllers(environment):
            core.manager.add(controller)
