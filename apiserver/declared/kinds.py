"""Kinds declared in Python: those of modules and those in the options.

This module is loaded at the first request for one of these groups, or if their objects are already
stored. pydantic, the models and their checks would take half of the time
of a start, and most servers do not need them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from inkube.apiserver.declared import hosts, startmodules
from inkube.apiserver.declared.endpoints import SubresourceHandler, endpoint
from inkube.apiserver.declared.hosts import Host
from inkube.apiserver.declared.records import StoredRecords, ViewConverter, transactor
from inkube.apiserver.declared.secrets import StoredSecrets
from inkube.apiserver.registry import Handler, Resource
from inkube.controllers.environment import Environment, Recheck
from inkube.controllers.events import Recorder
from inkube.controllers.kinds import KindModule
from inkube.controllers.modules import ModuleParts


def install(host: Host, start_modules: Sequence[ModuleParts]) -> Environment:
    """Serve every configured kind, and return the environment of their checks. Call it only one
    time for each server.

    `start_modules` are the parts of the modules that were built at the start. Raises ValueError if
    a module contains kinds of groups that it does not declare.
    """
    services: dict[str, Any] = {}
    for parts in start_modules:
        services |= parts.services
    built = [*start_modules]
    for name in host.options.late_modules:
        parts = hosts.build(name, host, services)
        startmodules.install(host, parts)
        services |= parts.services
        built.append(parts)
    environment = _environment(host, services)
    for kind in (*(kind for made in built for kind in made.kinds), *host.options.kinds):
        _install(host, kind, environment)
    if host.options.controllers:
        for parts in built:
            for controller in parts.controllers(environment):
                host.manager.add(controller)
    return environment


def _environment(host: Host, services: Mapping[str, Any]) -> Environment:
    options, clock = host.options, host.manager.clock
    return Environment(
        client=host.manager.client,
        clock=clock,
        informers=host.manager.informers,
        events=Recorder(host.manager.client, clock, host.manager.event_names),
        outages=host.manager.outages,
        services={**services, **options.services},
        recheck=Recheck(options.recheck_healthy, options.recheck_unhealthy),
        retry_seconds=options.retry_seconds,
        records=_records(host),
    )


def _records(host: Host) -> StoredRecords:
    return StoredRecords(host.base.store, host.resources, host.base.system_fields)


def _install(host: Host, module: KindModule[Any], environment: Environment) -> None:
    module = module.served_with(StoredSecrets(host.base.store, host.base.keys), environment)
    definition = module.definition
    view = module.view
    source = None if view is None else host.resources.get(view.of.group, view.of.resource)
    handlers: dict[str, Handler | None] = {
        each.name: SubresourceHandler(each, environment) for each in module.subresources
    }
    handlers |= {each.name: None for each in module.parts if each.name}
    resource = Resource(
        definition,
        module.strategy,
        transactor=None
        if module.transaction is None
        else transactor(module.transaction, lambda: environment, _records(host), host.base.store),
        converter=None
        if view is None
        else ViewConverter(view, definition.names.kind, lambda: environment),
        stored_as=source,
        since=0 if view is not None else host.base.store.revision,
        is_view=view is not None,
        handlers=handlers,
    )
    host.resources.install(resource)
    for version in definition.versions:
        for each in module.endpoints:
            address = definition.group, version.name, each.name
            host.resources.add_endpoint(address, endpoint(each, environment))
    host.admission.add(module, environment)
    options = host.options
    if options.controllers or (module.works_alone and not options.shows_the_past):
        for controller in module.controllers(environment):
            host.manager.add(controller)
