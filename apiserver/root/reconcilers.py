"""The Kubernetes controllers of a server, which start at once or when they have work.

Modules have their own controllers, and can replace some of these.
"""

from collections.abc import Awaitable, Callable, Collection
from functools import cache, partial

from inkube.apiserver import catalog as catalogs
from inkube.apiserver import triggers
from inkube.apiserver.catalog import LiveCatalog
from inkube.apiserver.registry import Installer, UnresolvedError
from inkube.apiserver.root.core import Core
from inkube.apiserver.triggers import Trigger
from inkube.controllers import core as builtin
from inkube.controllers.core import crds, garbage
from inkube.schemas.builtin import by_name, ranges_of


def add(core: Core, catalog: LiveCatalog, replaced_controllers: Collection[str]) -> None:
    """Add the controllers that the options require to the manager from the start. Modules run those
    in `replaced_controllers`."""
    options, manager = core.options, core.manager
    installer = Installer(core.resources, core.webhooks.converter, options.release.minor)
    definitions_served = crds.add(manager, installer, core.client_as("kube-apiserver"))
    subscription = catalogs.serve_stored(
        core.base.store, definitions_served.serve, definitions_served.forget
    )
    core.exit_stack.callback(subscription.close)
    if options.controllers:
        garbage.add(manager, catalog)
        if options.requires_accounts and "serviceaccount-controller" not in replaced_controllers:
            builtin.accounts.add(manager, manager.client)


def at_first_object(
    core: Core,
    catalog: LiveCatalog,
    replaced_controllers: Collection[str],
    restore_network: Callable[[], Awaitable[None]],
) -> list[Trigger]:
    """Return the triggers that add each controller at the first object that it needs. Modules run
    those in `replaced_controllers`. `restore_network` creates deleted default objects again."""
    options, manager = core.options, core.manager
    client, upstreams = manager.client, partial(core.client_as, "kube-controller-manager")
    triggers_: list[Trigger] = []
    if not core.read_only:
        add_flow_schemas = cache(lambda: builtin.flowcontrol.add(manager))  # by either trigger
        triggers_ += [
            Trigger("flowschemas", triggers.is_unchecked_flow_schema, add_flow_schemas),
            Trigger("prioritylevelconfigurations", triggers.is_changed, add_flow_schemas),
            Trigger(
                "ipaddresses", triggers.exists, lambda: builtin.serviceips.add_addresses(manager)
            ),
            *_of_services(core, restore_network),
            Trigger("leases", triggers.is_identity, lambda: builtin.identity.add(manager)),
            Trigger(
                "events", triggers.exists, lambda: builtin.expiry.add(manager, options.event_ttl)
            ),
        ]
    if options.controllers and options.hints:
        triggers_ += _of_hints(core)
    if options.controllers:
        triggers_ += [
            Trigger(
                "servicecidrs",
                triggers.is_service_cidr_of_client,
                lambda: builtin.serviceips.add_ranges(manager),
            ),
            Trigger(
                "namespaces",
                triggers.is_terminating,
                lambda: builtin.namespaces.add(manager, catalog, upstreams()),
            ),
            Trigger(
                "resourcequotas",
                triggers.exists,
                lambda: builtin.quotas.add(manager, catalog, upstreams()),
            ),
            Trigger(
                "clusterroles", triggers.exists, lambda: builtin.clusterroles.add(manager, client)
            ),
            Trigger(
                "validatingadmissionpolicies",
                triggers.exists,
                lambda: builtin.policies.add(manager, catalogs.LiveSchemas(core.resources)),
            ),
        ]
        protection = {
            "persistentvolumeclaim-protection-controller": (
                "persistentvolumeclaims", lambda: builtin.protection.add_claims(manager, client)
            ),
            "persistentvolume-protection-controller": (
                "persistentvolumes", lambda: builtin.protection.add_volumes(manager, client)
            ),
            "volumeattributesclass-protection-controller": (
                "volumeattributesclasses", lambda: builtin.protection.add_classes(manager, client)
            ),
        }  # fmt: skip
        triggers_ += [
            Trigger(plural, triggers.is_terminating, add_one)
            for name, (plural, add_one) in protection.items()
            if name not in replaced_controllers
        ]
    return triggers_


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
        Trigger("servicecidrs", is_touched, add_default_range),
        Trigger("services", triggers.is_touched_own_service, add_default_range),
        Trigger("servicecidrs", triggers.is_terminating, add_repairs),
        Trigger("services", lambda entry: entry.revision <= since, add_repairs),
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
        Trigger(each.resource.resource, triggers.exists, partial(hints.add, manager, each, since))
        for each in wanted
    ]
