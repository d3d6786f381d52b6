"""From parts to responses: the application, and the requests of other workers.

`lifespan` calls `start_serving` when everything that requests need is there.
"""

import contextlib
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Self

from inkube import controllers
from inkube.apiserver import (
    access,
    actions,
    console,
    control,
    discovery,
    http,
    manifests,
    requestwaits,
    subresources,
    watching,
    workers,
)
from inkube.apiserver import app as apps
from inkube.apiserver.app import App
from inkube.apiserver.auth import Flows
from inkube.apiserver.configuration import Options, ServerOptions
from inkube.apiserver.discovery import LOADING, Endpoint, Endpoints, issuer
from inkube.apiserver.handlers import Handlers, Renderer, Routes, Subresources
from inkube.apiserver.http import Guard, Metrics, Origins, selfcheck, webserver
from inkube.apiserver.registry import Samples
from inkube.apiserver.root.core import Core
from inkube.apiserver.root.parts import Parts, Start
from inkube.apiserver.sources import Progress
from inkube.schemas.lazy import Lazy
from inkube.schemas.options import options_of

_NO_ORIGINS = Origins((), protects=False)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StreamingParts:
    """The parts with unlimited requests, which end when the server stops."""

    sessions: "Lazy[subresources.containers.Sessions]"
    request_log: "Lazy[console.RequestLog]"

    def close(self) -> None:
        """End these requests."""
        for each in (self.request_log.value_if_created, self.sessions.value_if_created):
            if each is not None:
                each.close()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Limits:
    """What limits the number of running requests: two numbers, or the flows of requests once there
    are flow schemas."""

    guard: Guard
    flows: Flows

    @classmethod
    def of(cls, core: Core) -> Self:
        """Return the limits that the options require."""
        options = core.options
        reads, writes = options.max_requests_inflight, options.max_mutating_requests_inflight
        seats = reads + writes if options.enable_priority_and_fairness else 0
        flows = Flows(
            core.base.store, core.resources, core.samples, seats, endless=(watching.SHARED,)
        )
        guard = Guard(
            loopback_only=core.security.is_open,
            hosts=options.allow_hosts,
            reads=reads or sys.maxsize,
            writes=writes or sys.maxsize,
            is_limiting=lambda: not flows.are_active,
        )
        return cls(guard, flows)


async def start_serving(
    parts: Parts, progress: Progress, stack: contextlib.AsyncExitStack, start: Start
) -> None:
    """Serve requests until `stack` is left. Raises OSError or ValueError of the audit log."""
    core, listener = parts.core, parts.core.listener
    options, worker = core.options, core.options.worker
    listeners: list[http.audit.Listener] = []
    audited = options.audit_policy_file, options.audit_log, options.audit_webhook_config_file
    audit = access.auditing.audit_log(options, stack) if any(audited) else None
    if audit is not None:
        listeners.append(audit.write)
    streaming_parts = StreamingParts(
        Lazy(lambda: subresources.containers.Sessions()),
        Lazy(lambda: console.RequestLog(listeners)),
    )
    siblings = None if worker is None else workers.Siblings(worker)
    limits = Limits.of(core)
    endpoints = _endpoints(core, progress, siblings, limits)
    if siblings is not None:
        await siblings.start(endpoints.figures)
        stack.push_async_callback(siblings.close)
    others = (
        requestwaits.OtherServers(core.base.store, core.manager) if core.base.is_shared else None
    )
    if others is not None:
        stack.callback(others.close)
    application = _application(
        parts, endpoints, limits, streaming_parts, others, listeners, audit, start
    )
    if worker is not None:
        application = await _join_workers(parts, application, stack)
    if files := core.security.config_files:
        edited = manifests.EditedFiles(lambda: [each.path for each in files])
        name = controllers.core.identity.name_of(socket.gethostname())
        reloading = access.configs.reloading.Reloading(
            files, edited.wait_for_change, core.samples, name
        )
        await stack.enter_async_context(reloading.running())
    app = App(application)
    # a second time, so that requests end while the store is open; a second cleanup has no effect
    stack.push_async_callback(listener.runner.cleanup)
    # before the runner waits for running requests, because watches never end by themselves
    stack.callback(parts.streams.close)
    stack.push_async_callback(_close_forwarded, parts)
    stack.callback(streaming_parts.close)
    listener.serve(app)


async def _close_forwarded(parts: Parts) -> None:
    """Disconnect forwarded requests, because watches of other servers do not end by themselves."""
    aggregator = parts.aggregator.value_if_created
    if aggregator is not None:
        await aggregator.close()


def _application(
    parts: Parts,
    endpoints: Endpoints,
    limits: "Limits",
    streaming: StreamingParts,
    others: requestwaits.OtherServers | None,
    listeners: "list[http.audit.Listener]",
    audit: "http.audit.AuditLog | None",
    start: Start,
) -> apps.Parts:
    core, options = parts.core, parts.core.options
    handlers = Handlers(core.registry, Renderer(core.base.system_fields))
    return apps.Parts(
        registry=core.registry,
        resources=core.resources,
        defaults=parts.defaults,
        routes=Routes(
            core.resources,
            handlers,
            parts.streams.serve,
            Lazy(lambda: _subresources(parts, handlers, streaming)),
            core.registry.engine,
        ),
        access=core.security.access,
        flows=limits.flows,
        origins=core.listener.origins,
        guard=limits.guard,
        metrics=endpoints.requests,
        samples=core.samples,
        endpoints=_paths(parts, endpoints, limits, streaming, start),
        faults=core.faults,
        sleep=core.base.clock.sleep,
        before_request=_before_request(parts, others),
        before_write=requestwaits.of_earlier_writes(core.manager)
        if parts.waits_for_controllers
        else None,
        on_request=options.on_request,
        records_bodies=options.record_bodies,
        pages=Lazy(lambda: console.Pages()),
        listeners=listeners,
        audit=audit,
    )


def _before_request(
    parts: Parts, others: requestwaits.OtherServers | None
) -> Callable[[], Awaitable[None] | None] | None:
    """Return the function whose result each request awaits before it is processed, or None."""
    if parts.core.options.seed is not None:
        return requestwaits.of_controllers(parts.core.manager)
    return None if others is None else others.caught_up


def _endpoints(
    core: Core, progress: Progress, siblings: "workers.Siblings | None", limits: Limits
) -> Endpoints:
    store = core.base.store

    def failures() -> Mapping[str, str]:
        if store.failure:
            return {LOADING: store.failure}
        stage = progress.stage
        return {} if stage is None else {stage.check: str(stage)}

    samples = core.samples

    def observe_work(phase: str, name: str, seconds: float) -> None:
        samples.observe(seconds, f"workqueue_{phase}_duration_seconds", name)

    def gauges() -> Iterator[tuple[str, ...]]:
        core.manager.observe_queues(observe_work)  # from the first time that metrics are read
        yield from limits.guard.figures()
        yield from limits.flows.figures()
        yield from core.manager.figures()

    return Endpoints(
        Metrics(),
        samples,
        gauges,
        core.resources,
        store,
        core.options.data,
        failures,
        core.options.release,
        core.options.allow_metric_labels,
        core.options.disabled_metrics,
        lambda: core.listener.server.connection_loop,
        siblings,
    )


def _paths(
    parts: Parts, handlers: Endpoints, limits: Limits, streaming: StreamingParts, start: Start
) -> dict[str, Endpoint | Lazy[Endpoint]]:
    """Return the endpoints at paths outside resources. A path that ends with a slash includes all
    paths below."""
    core = parts.core
    documents = issuer.Issuer(
        core.security.authenticator.accounts,
        lambda: core.options.service_account_jwks_uri or core.listener.url + issuer.KEYS,
    )
    options, started = core.options, datetime.now(UTC)
    minor = options.release.minor
    pages = Lazy(
        lambda: discovery.Pages(options.release, started, options, options_of(ServerOptions))
    )
    groups = Lazy(lambda: discovery.Discovery(core.resources, minor))
    return {
        "/": handlers.root,
        "/index.html": handlers.root,
        **dict.fromkeys(handlers.page_paths, pages),
        issuer.CONFIGURATION: documents.configuration,
        issuer.KEYS: documents.keys,
        "/healthz/": handlers.health,
        "/livez/": handlers.health,
        "/readyz/": handlers.health,
        "/version": handlers.version,
        "/metrics": handlers.metrics,
        "/metrics/slis": handlers.levels,
        "/debug/": Lazy(lambda: discovery.Debugging(limits.flows)),
        "/inkube/": Lazy(lambda: _control(parts, start)),
        "/debug/requests": streaming.request_log,
        "/debug/activity": Lazy(
            lambda: console.Activity(
                core.base.store, lambda: (each.user_agent for each in parts.streams.open())
            )
        ),
        "/api/": groups,
        "/apis/": groups,
        "/openapi/": Lazy(
            lambda: discovery.OpenAPI(
                core.resources,
                core.registry.engine,
                minor,
                {control.PATH: control.openapi},
            )
        ),
    }


def _control(parts: Parts, start: Start) -> "control.Control":
    """Return the endpoint below `/inkube/`."""
    core = parts.core

    async def start_fork(
        name: str, options: Options
    ) -> tuple[control.Fork, contextlib.AsyncExitStack]:
        forked, stack = await start(options)
        return control.Fork(name, forked.core.listener.url, forked.kubeconfig()), stack

    server = actions.ControlledServer(
        options=core.options,
        store=core.base.store,
        clock=core.base.clock,
        defaults=parts.defaults,
        manager=core.manager,
        start_entries=parts.start_state.entries,
        settled=parts.settled,
        snapshot=parts.snapshot,
        start=start_fork,
    )
    server_actions = actions.ServerActions(server)
    parts.core.exit_stack.push_async_callback(server_actions.close)
    shared = Lazy(lambda: _shared_streams(parts))
    return control.Control(server_actions, {watching.SHARED: shared})


def _shared_streams(parts: Parts) -> "watching.shared.SharedStreams":
    shared = watching.shared.SharedStreams(parts.core.listener.server.request_handler)
    parts.streams.on_close.append(shared.close)
    return shared


def _subresources(parts: Parts, handlers: Handlers, streaming: StreamingParts) -> Subresources:
    core, pods, sessions = parts.core, parts.pods, streaming.sessions()
    guards, registry = core.security, core.registry

    def kubelet() -> "subresources.containers.Kubelet | None":
        return None if pods is None else pods.containers

    recorded = subresources.recordedlogs.source(core.options.data, core.base.store)
    return subresources.table.table(
        registry,
        core.resources,
        handlers,
        system_fields=core.base.system_fields,
        authenticator=guards.authenticator,
        authorizer=guards.authorizer,
        streams=subresources.containers.PodStreams(
            registry, guards.authorizer, kubelet, sessions, recorded
        ),
        proxies=subresources.proxies.Proxies(registry, core.addresses, kubelet, sessions),
        runs_controllers=core.options.controllers,
        runs_scheduler=lambda: pods is not None and pods.runs("kube-scheduler"),
        usage=lambda: None if pods is None else pods.usage,
        shows_dump=lambda: recorded() is not None and kubelet() is None,
        max_token_seconds=core.options.service_account_max_token_expiration,
    )


async def _join_workers(
    parts: Parts, application: apps.Parts, stack: contextlib.AsyncExitStack
) -> apps.Parts:
    """Serve requests that other workers forward. Returns parts that forward requests that only the
    leader can serve."""
    options = parts.core.options
    flows = Flows(parts.core.base.store, parts.core.resources, Samples(), seats=0)
    forwarded_app = App(application.forwarded(workers.ForwardedAccess(), flows, _NO_ORIGINS))
    server = webserver.server(forwarded_app, _NO_ORIGINS, parts.core.listener.budget, options.http)
    runner = await workers.start_runner(options.worker, server)
    stack.push_async_callback(runner.cleanup)
    await selfcheck.check(server, selfcheck.unix(str(options.worker.socket_path(os.getpid()))))
    leader = workers.Leader(
        options.worker,
        lambda: parts.leadership.leading_process if parts.leadership else 0,
        (*options.module_groups, *_groups_of(parts.start_modules)),
        pods=parts.pods is not None,
    )
    stack.push_async_callback(leader.close)
    return replace(application, elsewhere=leader.concerns)


def _groups_of(start_modules: "Sequence[controllers.ModuleParts]") -> Iterator[str]:
    """Return the groups of the kinds with a model of modules that are built at the start."""
    return (kind.definition.group for module in start_modules for kind in module.kinds)
