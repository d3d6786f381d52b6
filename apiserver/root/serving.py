"""From parts to responses: the application, and the requests of other workers.

`lifespan` calls `start_serving` when everything that requests need is there.
"""

import contextlib
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

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
from inkube.apiserver.discovery import Endpoint, Endpoints, issuer
from inkube.apiserver.handlers import Handlers, Renderer, Routes, Subresources
from inkube.apiserver.http import Guard, Metrics, Origins, selfcheck, webserver
from inkube.apiserver.root.core import Core
from inkube.apiserver.root.parts import Parts, Start
from inkube.apiserver.samples import Samples
from inkube.apiserver.sources import Progress
from inkube.schemas.lazy import Lazy
from inkube.schemas.options import options_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class _Serving:
    """What serves the requests of one server, besides its parts."""

    parts: Parts
    start: Start
    flows: Flows
    """The flows of requests, which limit running requests once there are flow schemas."""
    guard: Guard
    endpoints: Endpoints
    listeners: "list[http.audit.Listener]"
    audit: "http.audit.AuditLog | None"
    sessions: "Lazy[subresources.containers.Sessions]"
    request_log: "Lazy[console.RequestLog]"
    others: requestwaits.OtherServers | None
    """The servers that share the store."""

    async def end_requests(self) -> None:
        """End the requests that do not end by themselves, and wait for the others. Has no effect
        the second time."""
        for each in (self.request_log.value_if_created, self.sessions.value_if_created):
            if each is not None:
                each.close()
        self.parts.streams.close()
        listener = self.parts.core.listener
        if listener.intake is not None:
            listener.intake.close()
        await listener.runner.cleanup()


async def start_serving(
    parts: Parts, progress: Progress, stack: contextlib.AsyncExitStack, start: Start
) -> Callable[[], Awaitable[None]]:
    """Serve requests until `stack` is left, or the returned function is called. Raises OSError or
    ValueError of the audit log."""
    core, options, listener = parts.core, parts.core.options, parts.core.listener
    audited = options.audit_policy_file, options.audit_log, options.audit_webhook_config_file
    audit = access.auditing.audit_log(options, stack) if any(audited) else None
    listeners: list[http.audit.Listener] = [] if audit is None else [audit.write]
    siblings = None if options.worker is None else workers.Siblings(options.worker)
    flows = _flows(core)
    guard = _guard(core, flows)
    serving = _Serving(
        parts=parts,
        start=start,
        flows=flows,
        guard=guard,
        endpoints=_endpoints(core, progress, siblings, guard, flows),
        listeners=listeners,
        audit=audit,
        sessions=Lazy(lambda: subresources.containers.Sessions()),
        request_log=Lazy(lambda: console.RequestLog(listeners)),
        others=requestwaits.OtherServers(core.base.store, core.manager)
        if core.base.is_shared
        else None,
    )
    if siblings is not None:
        await siblings.start(serving.endpoints.figures)
        stack.callback(siblings.close)
    if serving.others is not None:
        stack.callback(serving.others.close)
    application = _application(serving)
    if options.worker is not None:
        application = await _join_workers(parts, application, stack)
    if files := core.security.config_files:
        edited = manifests.EditedFiles(lambda: [each.path for each in files])
        reloading = access.configs.reloading.Reloading(files, edited.wait_for_change, core.samples)
        await stack.enter_async_context(reloading.running())
    stack.push_async_callback(serving.end_requests)  # while the store is open
    listener.serve(App(application))
    return serving.end_requests


def _flows(core: Core) -> Flows:
    options = core.options
    seats = options.max_requests_inflight + options.max_mutating_requests_inflight
    return Flows(
        core.base.store,
        core.resources,
        core.samples,
        seats if options.enable_priority_and_fairness else 0,
        endless=(watching.SHARED,),
    )


def _guard(core: Core, flows: Flows) -> Guard:
    """Return what limits the number of running requests while there are no flow schemas."""
    options = core.options
    return Guard(
        loopback_only=core.security.is_open,
        hosts=options.allow_hosts,
        reads=options.max_requests_inflight or sys.maxsize,
        writes=options.max_mutating_requests_inflight or sys.maxsize,
        is_limiting=lambda: not flows.are_active,
    )


def _application(serving: _Serving) -> apps.Parts:
    parts, core, options = serving.parts, serving.parts.core, serving.parts.core.options
    handlers = Handlers(core.registry, Renderer(core.base.system_fields))
    return apps.Parts(
        registry=core.registry,
        resources=core.resources,
        defaults=parts.defaults,
        routes=Routes(
            core.resources,
            handlers,
            parts.streams.serve,
            Lazy(lambda: _subresources(serving, handlers)),
            core.registry.engine,
        ),
        access=core.security.access,
        flows=serving.flows,
        origins=core.listener.origins,
        guard=serving.guard,
        metrics=serving.endpoints.requests,
        samples=core.samples,
        endpoints=_paths(serving),
        faults=core.faults,
        sleep=core.base.clock.sleep,
        before_request=_before_request(serving),
        before_write=requestwaits.of_earlier_writes(core.manager)
        if parts.waits_for_controllers
        else None,
        on_request=options.on_request,
        records_bodies=options.record_bodies,
        pages=Lazy(lambda: console.Pages()),
        listeners=serving.listeners,
        audit=serving.audit,
    )


def _before_request(serving: _Serving) -> Callable[[], Awaitable[None] | None] | None:
    """Return the function whose result each request awaits before it is processed, or None."""
    core = serving.parts.core
    if core.options.seed is not None:
        return requestwaits.of_controllers(core.manager)
    return None if serving.others is None else serving.others.caught_up


def _endpoints(
    core: Core,
    progress: Progress,
    siblings: "workers.Siblings | None",
    guard: Guard,
    flows: Flows,
) -> Endpoints:
    store, samples = core.base.store, core.samples

    def gauges() -> Iterator[tuple[str, ...]]:
        core.manager.observe_queues(samples.observe)  # from the first time that metrics are read
        yield from guard.figures()
        yield from flows.figures()
        yield from core.manager.figures()

    return Endpoints(
        Metrics(),
        samples,
        gauges,
        core.resources,
        store,
        core.options.data,
        lambda: progress.failures(store),
        core.options.release,
        core.options.allow_metric_labels,
        core.options.disabled_metrics,
        lambda: core.listener.server.connection_loop,
        siblings,
    )


def _paths(serving: _Serving) -> dict[str, Endpoint | Lazy[Endpoint]]:
    """Return the endpoints at paths outside resources. A path that ends with a slash includes all
    paths below."""
    parts, core = serving.parts, serving.parts.core
    options, minor, started = core.options, core.options.release.minor, datetime.now(UTC)
    documents = issuer.Issuer(
        core.security.authenticator.accounts,
        lambda: options.service_account_jwks_uri or core.listener.url + issuer.KEYS,
    )
    pages = Lazy(
        lambda: discovery.Pages(options.release, started, options, options_of(ServerOptions))
    )
    groups = Lazy(lambda: discovery.Discovery(core.resources, minor))
    schemas = Lazy(
        lambda: discovery.OpenAPI(
            core.resources, core.registry.engine, minor, {control.PATH: control.openapi}
        )
    )
    activity = Lazy(
        lambda: console.Activity(
            core.base.store, lambda: (each.user_agent for each in parts.streams.open())
        )
    )
    return {
        **serving.endpoints.paths,
        **dict.fromkeys(serving.endpoints.page_paths, pages),
        issuer.CONFIGURATION: documents.configuration,
        issuer.KEYS: documents.keys,
        "/debug/": Lazy(lambda: discovery.Debugging(serving.flows)),
        "/inkube/": Lazy(lambda: _control(parts, serving.start)),
        "/debug/requests": serving.request_log,
        "/debug/activity": activity,
        "/api/": groups,
        "/apis/": groups,
        "/openapi/": schemas,
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
    core.exit_stack.push_async_callback(server_actions.close)

    def shared_streams() -> "watching.shared.SharedStreams":
        shared = watching.shared.SharedStreams(core.listener.server.request_handler)
        parts.streams.on_close.append(shared.close)
        return shared

    return control.Control(server_actions, {watching.SHARED: Lazy(shared_streams)})


def _subresources(serving: _Serving, handlers: Handlers) -> Subresources:
    core, pods, sessions = serving.parts.core, serving.parts.pods, serving.sessions()
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
            registry,
            guards.authorizer,
            kubelet,
            sessions,
            recorded,
            minor=core.options.release.minor,
        ),
        proxies=subresources.proxies.Proxies(registry, core.addresses, kubelet, sessions),
        runs_controllers=core.options.controllers,
        runs_scheduler=lambda: pods is not None and pods.runs("kube-scheduler"),
        usage=lambda: None if pods is None else pods.usage,
        shows_dump=lambda: recorded() is not None and kubelet() is None,
        max_token_seconds=core.options.service_account_max_token_expiration,
        extends_tokens=core.options.service_account_extend_token_expiration,
    )


async def _join_workers(
    parts: Parts, application: apps.Parts, stack: contextlib.AsyncExitStack
) -> apps.Parts:
    """Serve requests that other workers forward. Returns parts that forward requests that only the
    leader can serve."""
    options = parts.core.options
    flows = Flows(parts.core.base.store, parts.core.resources, Samples(), seats=0)
    origins = Origins((), protects=False)
    forwarded_app = App(application.forwarded(workers.ForwardedAccess(), flows, origins))
    server = webserver.server(forwarded_app, origins, parts.core.listener.budget, options.http)
    server.grace = parts.core.listener.server.grace
    runner = await workers.start_runner(options.worker, server)
    stack.push_async_callback(runner.cleanup)
    await selfcheck.check(server, selfcheck.unix(str(options.worker.socket_path(os.getpid()))))
    model_groups = (
        kind.definition.group for module in parts.start_modules for kind in module.kinds
    )
    recorded = subresources.recordedlogs.source(options.data, parts.core.base.store)
    leader = workers.Leader(
        options.worker,
        lambda: parts.leadership.leading_process if parts.leadership else 0,
        {*options.module_groups, *model_groups},
        pods=parts.pods is not None,
        has_logs=lambda: recorded() is not None,
    )
    stack.push_async_callback(leader.close)
    return replace(application, elsewhere=leader.concerns)
