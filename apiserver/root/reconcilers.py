"""The Kubernetes controllers of a server, which start at once or when they have work.

Modules have their own controllers, and can replace some of these.
"""

from collections.abc import Awaitable, Callable
from functools import cache, partial

from inkube.apiserver import catalog as catalogs
from inkube.apiserver import triggers
from inkube.apiserver.catalog import LiveCatalog
from inkube.apiserver.registry import Installer
from inkube.apiserver.root.core import Core
from inkube.apiserver.root.parts import Parts
from inkube.apiserver.serviceaddresses import UnresolvedError
from inkube.apiserver.triggers import Trigger
from inkube.controllers import core as builtin
from inkube.controllers.core import crds, garbage
from inkube.schemas.builtin import by_name, gates, ranges_of


def add(parts: Parts) -> list[Trigger]:
    """Add the controllers that the options require from the start to the manager, except those that
    modules replace. Return the triggers that add each other controller at the first object that it
    needs."""
    core, options, manager = parts.core, parts.core.options, parts.core.manager
    installer = Installer(core.resources, core.webhooks.converter, options.release.minor)
    definitions_served = crds.add(manager, installer, core.client_as("kube-apiserver"))
    subscription = catalogs.serve_stored(
        core.base.store, definitions_served.serve, definitions_served.forget
    )
    core.exit_stack.callback(subscription.close)
    triggers_ = [] if core.read_only else _of_apiserver(core, parts.defaults.restore_network)
    if not options.controllers:
        return triggers_
    catalog = LiveCatalog(core.base.store, core.resources)
    replaced = {name for each in parts.start_modules for name in each.replaces}
    garbage.add(manager, catalog)
    if options.requires_accounts and "serviceaccount-controller" not in replaced:
        builtin.accounts.add(manager, manager.client)
    if options.hints:
        triggers_ += _of_hints(core)
    protection = {
        "persistentvolumeclaim-protection-controller": Trigger(
            "persistentvolumeclaims",
            lambda: builtin.protection.add_claims(manager, manager.client),
            triggers.is_terminating,
        ),
        "persistentvolume-protection-controller": Trigger(
            "persistentvolumes",
            lambda: builtin.protection.add_volumes(manager, manager.client),
            triggers.is_terminating,
        ),
        "volumeattributesclass-protection-controller": Trigger(
            "volumeattributesclasses",
            lambda: builtin.protection.add_classes(manager, manager.client),
            triggers.is_terminating,
        ),
    }
    upstreams = partial(core.client_as, "kube-controller-manager")
    return [
        *triggers_,
        Trigger(
            "servicecidrs",
            lambda: builtin.serviceips.add_ranges(manager),
            triggers.is_service_cidr_of_client,
        ),
        Trigger(
            "namespaces",
            lambda: builtin.namespaces.add(manager, catalog, upstreams()),
            triggers.is_terminating,
        ),
        Trigger(
            "resourcequotas",
            lambda: builtin.quotas.add(
                manager,
                catalog,
                upstreams(),
                extends=gates.is_on("DRAExtendedResource", core.options.release.minor),
            ),
        ),
        Trigger("clusterroles", lambda: builtin.clusterroles.add(manager, manager.client)),
        Trigger(
            "validatingadmissionpolicies",
            lambda: builtin.policies.add(manager, catalogs.LiveSchemas(core.resources)),
        ),
        *(trigger for name, trigger in protection.items() if name not in replaced),
    ]


def _of_apiserver(core: Core, restore_network: Callable[[], Awaitable[None]]) -> list[Trigger]:
    """Return the triggers for the controllers of kube-apiserver, which run without those of
    kube-controller-manager. `restore_network` creates deleted default objects again."""
    manager = core.manager
    add_flow_schemas = cache(lambda: builtin.flowcontrol.add(manager))  # by either trigger
    return [
        Trigger("flowschemas", add_flow_schemas, triggers.is_unchecked_flow_schema),
        Trigger("prioritylevelconfigurations", add_flow_schemas, triggers.is_changed),
        Trigger("ipaddresses", lambda: builtin.serviceips.add_addresses(manager)),
        *_of_services(core, restore_network),
        Trigger("leases", lambda: builtin.identity.add(manager), triggers.is_identity),
        Trigger("events", lambda: builtin.expiry.add(manager, core.options.event_ttl)),
    ]


def _of_services(core: Core, restore: Callable[[], Awaitable[None]]) -> list[Trigger]:
    """Return the triggers for the ranges of services and for services outside of them, which only
    exist in earlier data or after the end of a range. Servers before 1.33 have no ranges."""
    served = by_name(core.options.release.minor)
    if ("networking.k8s.io", "servicecidrs") not in served:
        return []
    manager, since = core.manager, core.base.store.revision
    cidrs = [str(each.network) for each in ranges_of(core.options.service_cluster_ip_range)]
    add_default_range = cache(lambda: builtin.serviceips.add_default_range(manager, cidrs, restore))
    add_repairs = cache(lambda: builtin.servicerepairs.add(manager, cidrs, core.options.node_ports))
    is_touched = partial(triggers.is_touched_default_range, cidrs=cidrs)
    return [
        Trigger("servicecidrs", add_default_range, is_touched),
        Trigger("services", add_default_range, triggers.is_touched_own_service),
        Trigger("servicecidrs", add_repairs, triggers.is_terminating),
        Trigger("services", add_repairs, lambda entry: entry.revision <= since),
    ]


def _of_hints(core: Core) -> list[Trigger]:
    hints, manager, since = builtin.hints, core.manager, core.base.store.revision

    def unresolved(namespace: str, name: str, port: int) -> str:
        try:
            core.addresses.find(namespace, name, port)
        except UnresolvedError as error:
            return str(error)
        return ""

    wanted = [*hints.ALWAYS, *hints.of_webhooks(unresolved)]
    if not core.options.workloads:
        wanted += hints.OF_WORKLOADS
    return [
        Trigger(each.resource.resource, partial(hints.add, manager, each, since)) for each in wanted
    ]
