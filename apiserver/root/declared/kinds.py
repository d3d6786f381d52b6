"""Kinds declared in Python: provisioning's, the world's, and those of the options.

A part of the composition root that is imported when somebody asks for one of these groups, or
when objects of theirs are stored already: pydantic, the models and their checks would be half of
what a start costs, and most servers never need them.
"""

from collections.abc import Mapping
from typing import Any

from inkube.apiserver.registry import Resource
from inkube.apiserver.registry.resources import Handler
from inkube.apiserver.root.core import Core
from inkube.apiserver.root.declared.endpoints import SubresourceHandler, endpoint
from inkube.apiserver.root.declared.records import Shown, StoredRecords, transactor
from inkube.apiserver.root.declared.secrets import StoredSecrets
from inkube.controllers import faults, porch
from inkube.controllers.environment import Environment, Recheck
from inkube.controllers.events import Recorder
from inkube.controllers.kinds import KindModule
from inkube.controllers.provisioning import options as provisioning_options
from inkube.controllers.provisioning.provisioning import Provisioning


def install(core: Core) -> Environment:
    """Serve every kind that is wanted; what their checks work with. Once for each server."""
    provisioning = _provisioning(core)
    core.closing.push_async_exit(provisioning)
    packages = _porch(core, provisioning) if "porch" in core.options.module_names else None
    if packages is not None:
        core.closing.push_async_exit(packages)
    services = {**provisioning.services, **(packages.services if packages is not None else {})}
    environment = _environment(core, services)
    groups = core.options.module_groups
    modules = (*provisioning.modules, faults.module(core.faults))
    served = [module for module in modules if module.definition.group in groups]
    if packages is not None:
        served += packages.modules
    for module in (*served, *core.options.kinds):
        _install(core, module, environment)
    return environment


def _provisioning(core: Core) -> Provisioning:
    options = core.options
    return Provisioning(
        provisioning_options.Options(
            offline=options.offline,
            allow_private_hosts=options.allow_private_hosts,
            local_path_prefixes=tuple(str(path) for path in options.local_path_prefixes),
            github_api_url=options.github_api_url,
            bitbucket_api_url=options.bitbucket_api_url,
            timeout=options.outside_timeout,
            minimum_sync_interval=options.min_sync_interval,
            max_repositories=options.max_repositories,
            max_resources_per_repository=options.max_resources_per_repository,
            job_history=options.job_history,
        ),
        client=core.manager.client,
        store=StoredSecrets(core.base.store, core.base.keys),
        clock=core.manager.clock,
    )


def _porch(core: Core, provisioning: Provisioning) -> "porch.Porch":
    """Imported by this: most servers have no packages."""
    options = core.options
    return porch.Porch(
        porch.Options(
            errors=options.porch_errors,
            functions=options.porch_functions,
            enforce_readiness=options.porch_enforce_readiness,
            sync_interval=options.porch_sync_interval,
            allow_private_hosts=options.allow_private_hosts,
            local_path_prefixes=tuple(str(path) for path in options.local_path_prefixes),
        ),
        remotes=provisioning.remotes,
        client=core.manager.client,
        data=options.data,
    )


def _environment(core: Core, services: Mapping[str, Any]) -> Environment:
    options, clock = core.options, core.manager.clock
    return Environment(
        client=core.manager.client,
        clock=clock,
        informers=core.manager.informers,
        events=Recorder(core.manager.client, clock),
        services={**services, **options.services},
        recheck=Recheck(options.recheck_healthy, options.recheck_unhealthy),
        retry_seconds=options.retry_seconds,
        records=_records(core),
    )


def _records(core: Core) -> StoredRecords:
    return StoredRecords(core.base.store, core.resources, core.base.stamps)


def _install(core: Core, module: KindModule[Any], environment: Environment) -> None:
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
        converter=None if view is None else Shown(view, definition.names.kind, lambda: environment),
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
    core.declared.add(module, environment)
    options = core.options
    if options.controllers or (module.works_alone and not options.shows_the_past):
        for controller in module.controllers(environment):
            core.manager.add(controller)
