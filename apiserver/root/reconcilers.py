"""The Kubernetes controllers of a server, which start at once or when they have work.

The controllers of declared kinds and of workloads start with their kinds (`declared`, `workloads`).
"""

from collections.abc import Callable, Mapping

from inkube.apiserver import root
from inkube.apiserver.registry import Installer
from inkube.apiserver.root import definitions, triggers
from inkube.apiserver.root.catalog import LiveCatalog
from inkube.apiserver.root.core import Core
from inkube.apiserver.root.liveschemas import LiveSchemas
from inkube.apiserver.root.triggers import Trigger
from inkube.controllers.core import aggregation as roles
from inkube.controllers.core import crds, expiry, garbage, namespaces, policies, quotas
from inkube.storage import Entry


def add(core: Core) -> None:
    """Add the controllers that the options require to the manager."""
    options, manager = core.options, core.manager
    installer = Installer(core.resources, core.webhooks.converter, options.release.minor)
    served = crds.add(manager, installer)
    following = definitions.serve_stored(core.base.store, served.serve, served.forget)
    core.closing.callback(following.close)
    if not core.read_only:
        expiry.add(manager, options.event_ttl)
    if options.controllers:
        catalog = LiveCatalog(core.base.store, core.resources)
        roles.add(manager, manager.client)
        namespaces.add(manager, catalog)
        garbage.add(manager, catalog)
        quotas.add(manager, catalog)
        policies.add(manager, LiveSchemas(core.resources))
        if options.asks_accounts and not options.workloads:
            root.accounts.add(manager, manager.client)


def at_first_object(core: Core) -> list[Trigger]:
    """Return the triggers that add each controller at the first object that it needs."""
    options, manager = core.options, core.manager
    client = manager.client
    found: list[tuple[str, Callable[[Entry], bool], Callable[[], None]]] = []
    if not core.read_only:
        found += [("flowschemas", triggers.says_nothing, lambda: root.flowcontrol.add(manager))]
    if options.controllers:
        found += [("leases", triggers.is_identity, lambda: root.identity.add(manager))]
    if options.controllers and not options.workloads:  # `workloads` selects its own controllers
        protection: Mapping[str, Callable[[], None]] = {
            "persistentvolumeclaims": lambda: root.protection.add_claims(manager, client),
            "persistentvolumes": lambda: root.protection.add_volumes(manager, client),
            "volumeattributesclasses": lambda: root.protection.add_classes(manager, client),
        }
        found += [(plural, triggers.is_to_go, add) for plural, add in protection.items()]
    return [Trigger(core.base.store, *each) for each in found]
