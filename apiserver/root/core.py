"""The parts that every request and every controller needs, built over an open store.

`parts` builds the rest on it. Nothing is started here.
"""

import contextlib
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from inkube import controllers
from inkube.apiserver import builtinkinds, defaults, webhooks
from inkube.apiserver.access import Security, security
from inkube.apiserver.admission import DeclaredKinds
from inkube.apiserver.client import FaultInjection, InProcessClient
from inkube.apiserver.configuration import Options
from inkube.apiserver.faults import Faults
from inkube.apiserver.listening import Listener
from inkube.apiserver.registry import Chain, Converter, Registry, Resources
from inkube.apiserver.root import plugins
from inkube.apiserver.samples import Samples
from inkube.apiserver.serviceaddresses import ServiceAddresses
from inkube.apiserver.sources import Foundation
from inkube.controllers.manager import Manager
from inkube.schemas.lazy import Lazy
from inkube.storage import errors as storage_errors


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Webhooks:
    """The code that calls webhooks, loaded with the first webhook."""

    dispatcher: "Lazy[webhooks.Dispatcher]"
    """Calls admission webhooks."""
    converter: Callable[[dict[str, Any]], Converter]
    """Returns the converter for the conversion webhook of a definition."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Core:
    """The core of a server."""

    options: Options
    listener: Listener
    base: Foundation
    security: Security
    resources: Resources
    addresses: ServiceAddresses
    webhooks: Webhooks
    declared_kinds: DeclaredKinds
    """Admission of kinds declared in Python."""
    registry: Registry
    samples: Samples
    """What parts of the server record for `/metrics`."""
    client: InProcessClient
    """The client for programs that embed the server. Faults do not apply to its requests."""
    faults: Faults
    manager: Manager
    exit_stack: contextlib.AsyncExitStack
    """The parts that must be closed after the last request and after the controllers."""

    def client_as(self, manager: str) -> InProcessClient:
        """Return the client of a controller whose writes have upstream's field manager."""
        injection = FaultInjection(self.faults, self.base.clock)
        return InProcessClient(self.registry, self.resources, manager=manager, faults=injection)

    @property
    def read_only(self) -> bool:
        """Whether the server shows a past state, which cannot be written."""
        return self.options.at is not None


def _server_name() -> str:
    return controllers.core.identity.name_of(socket.gethostname())


def build(options: Options, listener: Listener, base: Foundation) -> Core:
    """Build the core of a server. Raises ValueError or OSError for invalid options."""
    store, system_fields, clock = base.store, base.system_fields, base.clock
    exit_stack, samples = contextlib.AsyncExitStack(), Samples(_server_name)
    guards = security.build(
        options, store, clock, base.keys, listener.certificate, exit_stack,
        lambda: defaults.roles.rules("system:node", options.release.minor), samples,
    )  # fmt: skip
    addresses = ServiceAddresses(store, options.given_services, listener.loopback)
    resources = builtinkinds.resources(
        store,
        options.release.minor,
        cidrs=options.service_cluster_ip_range,
        node_ports=options.node_ports,
        runtime_config=options.runtime_config,
    )
    hooks = _webhooks(options, listener, base, guards, addresses, samples, exit_stack)
    declared_kinds = DeclaredKinds()
    chain = plugins.in_order(
        options,
        store,
        resources,
        guards,
        declared_kinds=declared_kinds,
        dispatcher=hooks.dispatcher,
        system_fields=system_fields,
        clock=clock,
        samples=samples,
    )
    registry = Registry(
        store,
        Chain(chain, samples),
        system_fields,
        engine=options.engine,
        pipelined=options.pipelined_writes,
        patch_cache=options.patch_cache,
    )
    client, faults = InProcessClient(registry, resources), Faults(store, resources)
    return Core(
        options=options,
        listener=listener,
        base=base,
        security=guards,
        resources=resources,
        addresses=addresses,
        webhooks=hooks,
        declared_kinds=declared_kinds,
        registry=registry,
        samples=samples,
        client=client,
        faults=faults,
        manager=Manager(
            InProcessClient(registry, resources, faults=FaultInjection(faults, clock)),
            clock,
            is_leader=not base.is_shared,
            outages=(storage_errors.LogError,),
        ),
        exit_stack=exit_stack,
    )


def _webhooks(
    options: Options,
    listener: Listener,
    base: Foundation,
    guards: Security,
    addresses: ServiceAddresses,
    samples: Samples,
    exit_stack: contextlib.AsyncExitStack,
) -> Webhooks:
    def create_caller() -> "webhooks.WebhookCaller":
        scheme = "https" if listener.tls else "http"
        loopback = webhooks.Loopback(f"{scheme}://{listener.loopback}", guards.loopback_token)
        webhook_caller = webhooks.WebhookCaller(addresses, loopback, options.release)
        exit_stack.push_async_callback(webhook_caller.close)
        return webhook_caller

    caller, system_fields = Lazy(create_caller), base.system_fields
    dispatcher = Lazy(
        lambda: webhooks.Dispatcher(
            base.store,
            caller(),
            authorizer=guards.authorizer,
            uid=system_fields.review_uid,
            samples=samples,
        )
    )
    return Webhooks(
        dispatcher, lambda webhook: webhooks.WebhookConverter(webhook, caller(), system_fields)
    )
