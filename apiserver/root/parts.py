"""The parts of a server, built from its options over an open store; `lifespan` runs them.

Pure functions decide which parts exist. They start nothing, and build frozen values. Parts that few
servers need are `Lazy`.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from inkube import controllers
from inkube.apiserver import access, aggregation, auth, declared, leadership, requestwaits, sources
from inkube.apiserver.access import security
from inkube.apiserver.client import FaultInjection
from inkube.apiserver.configuration import Options
from inkube.apiserver.defaults import Defaults
from inkube.apiserver.listening import Listener
from inkube.apiserver.root import core as cores
from inkube.apiserver.root.core import Core
from inkube.apiserver.sources import Foundation
from inkube.apiserver.watching import Streams
from inkube.controllers import core as builtin
from inkube.schemas.lazy import Lazy
from inkube.storage import Entry


@dataclass(slots=True)
class StartState:
    """The stored objects at the end of the start; None if the data outlives the process."""

    entries: Sequence[Entry] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Parts:
    """The parts of one server."""

    core: Core
    streams: Streams
    defaults: Defaults
    aggregator: "Lazy[aggregation.Aggregator]"
    """Created with the first APIService for another server."""
    environment: "Lazy[controllers.Environment]"
    """The environment of kinds declared in Python. Its creation starts to serve them."""
    client_authority: "Lazy[auth.tls.Authority]"
    """The authority that signs client certificates. After its creation it is trusted, if clients
    use TLS."""
    leadership: "leadership.leading.Leadership | None"
    """This server's part in the election of the leader; None if it is alone on its log."""
    start_modules: "Sequence[controllers.ModuleParts]"
    """The parts of the modules that are built at the start."""
    start_state: StartState

    @property
    def pods(self) -> "controllers.PodRunner | None":
        """The module's part that runs pods; None if no module runs them."""
        return next((module.pods for module in self.start_modules if module.pods is not None), None)

    @property
    def waits_for_controllers(self) -> bool:
        """Whether requests wait for controllers of modules."""
        return any(module.keeps_up for module in self.start_modules)

    async def settled(self, within: float = 60.0) -> None:
        """Wait until every controller in this process has seen the newest revision and is idle.
        Raises TimeoutError after `within` seconds."""
        async with asyncio.timeout(within):
            await self.core.manager.settled()

    async def snapshot(self) -> "sources.snapshots.Snapshot":
        """Return the current state, from which other servers can start. Raises LogError."""
        base = self.core.base
        log = await base.store.snapshot()
        return sources.snapshots.Snapshot(log, base.keys.existing(), base.clock.now())

    def kubeconfig(self, namespace: str = "default") -> str:
        """Return a kubeconfig for this server as YAML. `namespace` is that of its context."""
        guards, url = self.core.security, self.core.listener.url
        uses_certificates = guards.certificate and self.core.options.client_ca_file
        signer = self.client_authority() if uses_certificates else None
        return access.kubeconfig.of(guards, url, namespace, signer)


Start = Callable[[Options], Awaitable[tuple[Parts, contextlib.AsyncExitStack]]]
"""Starts another server. Returns its parts, and the stack that stops it."""


def build(options: Options, listener: Listener, base: Foundation) -> Parts:
    """Return every part of a server. Raises ValueError, TypeError or OSError for invalid
    options."""
    core = cores.build(options, listener, base)
    front_proxy = Lazy(lambda: auth.frontproxy.load(base.keys))
    defaults = _defaults(core, front_proxy)
    if listener.tls is not None:
        listener.tls.on_authorities.append(defaults.publish_authorities)
        core.exit_stack.callback(defaults.stop_publishing)
    authority = Lazy(lambda: security.client_authority(listener.certificate, listener.tls))
    host = Lazy(lambda: _host(core, authority))
    start_modules = declared.startmodules.build(host()) if options.start_modules else []
    return Parts(
        core=core,
        streams=Streams(
            core.registry, base.system_fields, core.samples, options.min_request_timeout
        ),
        defaults=defaults,
        aggregator=Lazy(lambda: _aggregator(core, front_proxy, defaults)),
        environment=Lazy(lambda: declared.install(host(), start_modules)),
        client_authority=authority,
        leadership=leadership.leading.Leadership(
            core.manager, options.lease_duration, on_one_machine=not options.database
        )
        if base.is_shared
        else None,
        start_modules=start_modules,
        start_state=StartState(),
    )


def _host(core: Core, client_authority: "Lazy[auth.tls.Authority]") -> "declared.Host":
    """Return the parts of the server that its modules use."""
    base = core.base
    access_functions = Lazy(
        lambda: declared.serveraccess.of(
            core.registry,
            core.resources,
            base.system_fields,
            tokens=core.security.authenticator.accounts,
            certificate=core.listener.certificate,
            client_authority=client_authority,
            faults=FaultInjection(core.faults, base.clock),
            minor=core.options.release.minor,
        )
    )
    return declared.Host(
        options=core.options,
        base=base,
        resources=core.resources,
        manager=core.manager,
        faults=core.faults,
        admission=core.declared_kinds,
        access=access_functions,
        exit_stack=core.exit_stack,
    )


def _defaults(core: Core, front_proxy: "Lazy[auth.frontproxy.Identity]") -> Defaults:
    options, listener = core.options, core.listener
    return Defaults(
        core.base.store,
        core.base.system_fields,
        address=(options.advertise_address or listener.host, listener.port),
        cidrs=options.service_cluster_ip_range,
        addresses_follow=requestwaits.of_addresses(core.manager),
        creates=not core.read_only,
        proxies=lambda published: security.trusted_proxies(
            options, listener.tls, front_proxy(), published
        ),
        minor=core.options.release.minor,
        module_roles=options.module_roles,
    )


def _aggregator(
    core: Core, front_proxy: "Lazy[auth.frontproxy.Identity]", defaults: Defaults
) -> "aggregation.Aggregator":
    """Create the aggregator, which watches the availability of its servers. It is not started."""
    aggregator = aggregation.Aggregator(
        core.base.store, core.addresses, core.resources, front_proxy, defaults.trust_proxies
    )
    builtin.apiservices.add(core.manager, aggregator, core.client_as("kube-apiserver"))
    core.exit_stack.push_async_callback(aggregator.close)
    return aggregator
