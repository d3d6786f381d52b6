"""Kinds declared in Python: provisioning's, the world's, and those of the options.

A part of the composition root that `server` imports when somebody asks for one of these groups, or
when objects of theirs are stored already: pydantic, the models and their checks would be half of
what a start costs, and most servers never need them.
"""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inkube.apiserver.admission.declaredkinds import DeclaredKinds
from inkube.apiserver.auth.keyfiles import Keys
from inkube.apiserver.configuration import Options
from inkube.apiserver.faults.active import Faults
from inkube.apiserver.registry.resources import Handler, Resource, Resources
from inkube.apiserver.registry.stamps import Stamps
from inkube.apiserver.root.declared.endpoints import SubresourceHandler, endpoint
from inkube.apiserver.root.declared.records import Shown, StoredRecords, transactor
from inkube.apiserver.root.declared.secrets import StoredSecrets
from inkube.controllers import faults, porch
from inkube.controllers.client import Client
from inkube.controllers.environment import Environment, Recheck
from inkube.controllers.events import Recorder
from inkube.controllers.kinds import KindModule
from inkube.controllers.manager import Manager
from inkube.controllers.provisioning import options as provisioning_options
from inkube.controllers.provisioning.provisioning import Provisioning
from inkube.storage.store import Store


@dataclass(frozen=True, slots=True)
class Parts:
    """What the server has made before."""

    options: Options
    store: Store
    stamps: Stamps
    client: Client
    manager: Manager
    resources: Resources
    admission: DeclaredKinds
    keys: Keys
    closing: contextlib.AsyncExitStack
    """Takes what must be closed after the controllers have stopped."""
    faults: Faults


def install(parts: Parts) -> Environment:
    """Serve every kind that is wanted; what their checks work with."""
    provisioning = _provisioning(parts)
    parts.closing.push_async_exit(provisioning)
    packages = _porch(parts, provisioning) if "porch" in parts.options.module_names else None
    if packages is not None:
        parts.closing.push_async_exit(packages)
    services = {**provisioning.services, **(packages.services if packages is not None else {})}
    environment = _environment(parts, services)
    groups = parts.options.module_groups
    modules = (*provisioning.modules, faults.module(parts.faults))
    served = [module for module in modules if module.definition.group in groups]
    if packages is not None:
        served += packages.modules
    for module in (*served, *parts.options.kinds):
        _install(parts, module, environment)
    return environment


def _provisioning(parts: Parts) -> Provisioning:
    options = parts.options
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
        client=parts.client,
        store=StoredSecrets(parts.store, parts.keys),
        clock=parts.manager.clock,
    )


def _porch(parts: Parts, provisioning: Provisioning) -> "porch.Porch":
    """Imported by this: most servers have no packages."""
    options = parts.options
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
        client=parts.client,
        data=options.data,
    )


def _environment(parts: Parts, services: Mapping[str, Any]) -> Environment:
    options, clock = parts.options, parts.manager.clock
    return Environment(
        client=parts.client,
        clock=clock,
        informers=parts.manager.informers,
        events=Recorder(parts.client, clock),
        services={**services, **options.services},
        recheck=Recheck(options.recheck_healthy, options.recheck_unhealthy),
        retry_seconds=options.retry_seconds,
        records=_records(parts),
    )


def _records(parts: Parts) -> StoredRecords:
    return StoredRecords(parts.store, parts.resources, parts.stamps)


def _install(parts: Parts, module: KindModule[Any], environment: Environment) -> None:
    definition = module.definition
    view = module.view
    source = None if view is None else parts.resources.get(view.of.group, view.of.resource)
    handlers: dict[str, Handler | None] = {
        each.name: SubresourceHandler(each, environment) for each in module.subresources
    }
    handlers |= {each.name: None for each in module.parts if each.name}
    resource = Resource(
        definition,
        module.strategy,
        transactor=None
        if module.transaction is None
        else transactor(module.transaction, lambda: environment, _records(parts), parts.store),
        converter=None if view is None else Shown(view, definition.names.kind, lambda: environment),
        stored_as=source,
        since=0 if view is not None else parts.store.revision,
        is_view=view is not None,
        handlers=handlers,
    )
    parts.resources.install(resource)
    for version in definition.versions:
        for each in module.endpoints:
            address = definition.group, version.name, each.name
            parts.resources.add_endpoint(address, endpoint(each, environment))
    parts.admission.add(module)
    options = parts.options
    if options.controllers or (module.works_alone and not options.shows_the_past):
        for controller in module.controllers(environment):
            parts.manager.add(controller)
