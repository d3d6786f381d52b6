"""The composition root: `APIServer` puts every part together, starts and stops them.

    async with APIServer() as server:
        server.url, server.kubeconfig()
        await server.client.create(obj)
        await server.settled()

What a server is put together from lies in `root`; these two and `testing` alone know controllers.
"""

import asyncio
import contextlib
import ssl
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cache, cached_property, partial
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from inkube.apiserver import (
    aggregation,
    auth,
    console,
    discovery,
    http,
    root,
    subresources,
    watching,
    webhooks,
    workers,
)
from inkube.apiserver.admission.declaredkinds import DeclaredKinds
from inkube.apiserver.app import App, Parts
from inkube.apiserver.auth.flows import Flows
from inkube.apiserver.auth.keyfiles import KeyFiles, Keys
from inkube.apiserver.configuration import Options
from inkube.apiserver.discovery import issuer
from inkube.apiserver.discovery.endpoints import Endpoint, Endpoints, later
from inkube.apiserver.discovery.stages import IMPORTING, LOADING, Stage
from inkube.apiserver.discovery.starting import Starting
from inkube.apiserver.faults.active import Faults
from inkube.apiserver.handlers.rendering import Renderer
from inkube.apiserver.handlers.routes import Routes
from inkube.apiserver.handlers.verbs import Handler, Handlers
from inkube.apiserver.http import webserver
from inkube.apiserver.http.budget import Budget
from inkube.apiserver.http.cors import Origins
from inkube.apiserver.http.guards import Guard
from inkube.apiserver.http.metrics import Metrics
from inkube.apiserver.registry import keys
from inkube.apiserver.registry.admission import Chain
from inkube.apiserver.registry.codec import JSONCodec
from inkube.apiserver.registry.crds import Installer
from inkube.apiserver.registry.registry import Registry
from inkube.apiserver.registry.resources import Converter, Resources
from inkube.apiserver.registry.serviceaddresses import ServiceAddresses
from inkube.apiserver.registry.stamps import Stamps
from inkube.apiserver.registry.worker import HEAVY
from inkube.apiserver.root import bootstrap, calm, listening, notices, plugins, security
from inkube.apiserver.root.catalog import LiveCatalog
from inkube.apiserver.root.client import InProcessClient
from inkube.apiserver.root.defaults import sets
from inkube.apiserver.root.liveschemas import LiveSchemas
from inkube.apiserver.root.sources import foundation
from inkube.apiserver.root.troubled import TroubledClient
from inkube.apiserver.watching.streams import Streams
from inkube.controllers.clock import Clock, RevisionClock, SystemClock
from inkube.controllers.core import aggregation as roles
from inkube.controllers.core import crds, expiry, garbage, namespaces, policies, quotas
from inkube.controllers.manager import Manager
from inkube.schemas import golang
from inkube.storage.entry import Entry
from inkube.storage.log import Log
from inkube.storage.store import Store

__all__ = ["APIServer", "Options"]

NO_ORIGINS = Origins((), protects=False)
STOP_SECONDS = 1.5  # how long requests under way may still take when the server stops


class APIServer:
    """A whole server. Make it, enter it, use it; it may be entered once."""

    def __init__(self, options: Options | None = None, **changes: Any) -> None:
        self._started = False
        self._closed = False
        self._tls: ssl.SSLContext | None = None
        self.options = foundation.checked(options or Options(**changes))
        self._stack = contextlib.AsyncExitStack()
        self.clock = self.options.clock or self._own_clock()
        self.stamps = Stamps(now=self.clock.now, seed=self.options.seed)
        self.resources = Resources()
        self._listeners: list[http.audit.Listener] = []
        self.budget = Budget()
        self._stage: Stage | None = Stage(LOADING, "starting")
        self.before_ready: Callable[[], object] = lambda: None
        """Called when all else of the start is done, before `/readyz` answers 200: what it raises
        ends the start."""
        self._loading: Store | None = None
        self.leadership: root.leading.Leadership | None = None
        """The part taken in the election of who runs controllers; None where nobody else may."""
        self.intake: workers.Intake | None = None
        """Where connections come from, in one of several workers."""

    def _own_clock(self) -> Clock:
        if self.options.seed is None:
            return SystemClock()
        return RevisionClock(lambda: self.store.revision)

    async def __aenter__(self) -> Self:
        """Start; when this returns the server answers `/readyz`."""
        self._started = True
        try:
            await self._start()
        except BaseException:
            await self._stack.aclose()
            self._closed = True
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    def __del__(self) -> None:
        if self._started and not self._closed:
            warnings.warn(f"{self!r} was not stopped", ResourceWarning, stacklevel=1)

    async def stop(self) -> None:
        """End what runs: no new requests, watches closed, controllers, store."""
        self._closed = True
        await self._stack.aclose()

    @property
    def stage(self) -> Stage | None:
        """The current phase of the start and its progress; None after the start."""
        read = self._loading.progress if self._loading else None
        if read is None:
            return self._stage
        return Stage(LOADING, "loading", read.revision, read.newest, f"{read.objects:,} objects")

    async def _start(self) -> None:
        security.check(self.options)
        worker = self.options.worker
        certificate = worker.certificate if worker else security.certificate(self.options)
        self._tls = security.context(self.options, certificate)
        await self._listen(self._tls)
        self._begun = await foundation.snapshot(self.options)
        player = foundation.player(self.options)
        await self._open_store(player)
        self.keys = await self._keys()
        self.security = security.build(
            self.options, self.store, self.stamps, self.keys, certificate
        )
        self._make_registry()
        self._defer_kinds()
        await self._make_first_objects()
        crds.add(
            self.manager, Installer(self.resources, self._converter, self.options.release.minor)
        )
        if not self._read_only:
            await self._aggregate()
            self._notice("flowschemas", notices.says_nothing, self._add_flow_control)
            expiry.add(self.manager, self.options.event_ttl)
        if self.options.controllers:
            self._add_controllers()
        if self.options.workloads:
            self._install_workloads()
        await self._serve()
        await self._run_controllers()
        await self._install_what_is_wanted()
        if player is not None:
            player.play(self.store)
        self.before_ready()
        self._stage = None
        if self.intake is not None:
            self.intake.ready()

    def _log(self) -> Log:
        return foundation.log(self.options, self._begun)

    async def _open_store(self, player: "root.replay.Player | None") -> None:
        if player is not None:
            log: Log = await player.begin()
        elif self._read_only:
            log = await root.past.at(self._log(), self.options)
        else:
            log = self._log()
        self.store = self._loading = Store(
            log,
            JSONCodec(),
            foundation.store_options(self.options),
            now=lambda: self.stamps.now().timestamp(),
        )
        await self._stack.enter_async_context(self.store)
        self._loading = None
        if player is not None:
            self._stack.push_async_exit(player)

    def _make_registry(self) -> None:
        """The pipeline of writes, built-in kinds, and who writes in this process."""
        cidr = self.options.service_cluster_ip_range
        self._declared = DeclaredKinds(lambda: self.environment)
        chain = plugins.in_order(
            self.store,
            self.resources,
            self.security,
            declared=self._declared,
            dispatcher=lambda: self._dispatcher,
            generate_name=self.stamps.generate_name,
            enabled=self.options.enable_admission_plugins,
            disabled=self.options.disable_admission_plugins,
        )
        self.registry = Registry(self.store, Chain(chain), self.stamps)
        self._stack.callback(self.registry.selections.close)
        self._stack.callback(self.registry.worker.close)
        self.client = InProcessClient(self.registry, self.resources)
        minor = self.options.release.minor
        services = partial(bootstrap.services_of, self.store, cidr, minor)
        claims = bootstrap.claims_of(self.store, minor)
        own: dict[tuple[str, str], bootstrap.MakeStrategy] = {("", "services"): services, **claims}
        bootstrap.install_builtin(self.resources, own, minor)
        self.faults = Faults(self.store)
        self._stack.callback(self.faults.close)
        self.manager = Manager(
            TroubledClient(self.client, self.faults, self.clock),
            self.clock,
            leads=not self._shares,
        )
        self._outside = contextlib.AsyncExitStack()
        self._stack.push_async_exit(self._outside)

    async def _make_first_objects(self) -> None:
        if not self._read_only:
            await bootstrap.first_objects(self.client)
        self._defaults = self._make_defaults()
        if self.options.authorization_mode == "RBAC":
            await self._defaults.make_set(sets.ROLES)
            if "provisioning" in self.options.module_names:
                await self._defaults.make_set(sets.PROVISIONING_ROLES)

    def _add_controllers(self) -> None:
        """Those that kube-controller-manager has elsewhere."""
        catalog = LiveCatalog(self.store, self.resources)
        roles.add(self.manager, self.manager.client)
        namespaces.add(self.manager, catalog)
        garbage.add(self.manager, catalog)
        quotas.add(self.manager, catalog)
        policies.add(self.manager, LiveSchemas(self.resources))
        self._notice("leases", notices.is_identity, self._keep_identity)
        if not self.options.workloads:  # which say themselves which controllers run
            self._notice("persistentvolumeclaims", notices.is_to_go, self._protect_claims)
            self._notice("persistentvolumes", notices.is_to_go, self._protect_volumes)
            self._notice("volumeattributesclasses", notices.is_to_go, self._protect_classes)
            if self.options.asks_accounts:
                root.accounts.add(self.manager, self.manager.client)

    async def _run_controllers(self) -> None:
        await self._stack.enter_async_context(self.manager)
        if self._shares:
            leadership = self.leadership = root.leading.Leadership(
                self.manager,
                self.options.lease_duration,
                on_one_machine=not self.options.database,
            )
            await self._stack.enter_async_context(leadership.taken())

    async def _install_what_is_wanted(self) -> None:
        """Kinds stored before and those of the options: served once controllers have seen them."""
        stored = self._begun is not None and self.store.count(calm.DEFINITIONS)
        if self.options.workloads or stored:
            await self.settled()
        if self.options.aggregated:
            await root.aggregation.register(self.client, self.options.aggregated)
            await self.settled()
        if self.options.definitions:
            found = root.manifests.read(self.options.definitions)
            await root.manifests.install(self.client, found, self.settled, tell=self._importing)
        if self.options.scenario:
            await root.scenarios.load(self.client, self.options.scenario)

    def _importing(self, done: int, total: int) -> None:
        self._stage = Stage(IMPORTING, "importing definitions", done, total, f"{done} of {total}")

    def _failures(self) -> dict[str, str]:
        """What keeps the server from being ready, by the check that tells it."""
        if self.store.failure:
            return {LOADING: self.store.failure}
        stage = self.stage
        return {} if stage is None else {stage.check: str(stage)}

    async def _aggregate(self) -> None:
        """Pass requests on where an APIService says so, once there is one that does."""
        if self.options.aggregated:
            root.aggregation.check(self.options.aggregated)
            await self._aggregator.serve(self.options.aggregated)
            self._aggregator.start()
            return

        def load() -> None:
            self._aggregator.start()

        self._notice("apiservices", notices.leads_elsewhere, load)

    def _notice(
        self, plural: str, wanted: Callable[[Entry], bool], load: Callable[[], None]
    ) -> None:
        noticed = notices.Notice(self.store, plural, wanted, load)
        self._stack.callback(noticed.close)

    def _protect_claims(self) -> None:
        root.protection.add_claims(self.manager, self.manager.client)

    def _protect_volumes(self) -> None:
        root.protection.add_volumes(self.manager, self.manager.client)

    def _keep_identity(self) -> None:
        root.identity.add(self.manager)

    def _protect_classes(self) -> None:
        root.protection.add_classes(self.manager, self.manager.client)

    def _add_flow_control(self) -> None:
        root.flowcontrol.add(self.manager)

    @cached_property
    def _aggregator(self) -> "aggregation.Aggregator":
        """Made when the first APIService is known that leads to another server."""
        made = root.aggregation.make(
            self.store,
            self._service_addresses,
            self.resources,
            self.manager,
            identity=lambda: self._front_proxy,
            publish=self._defaults.trust_proxies,
        )
        self._outside.push_async_callback(made.close)
        return made

    @cached_property
    def _front_proxy(self) -> "auth.frontproxy.Identity":
        """Made when the first who has to trust it is told."""
        return auth.frontproxy.load(self.keys)

    async def _hang_up(self) -> None:
        """Cut what is passed on: no watch of another server ends by itself."""
        if "_aggregator" in vars(self):
            await self._aggregator.close()

    def _install_workloads(self) -> None:
        config = root.workloads.wanted(self.options.workloads)
        if config is not None:
            self.cluster = root.workloads.install(
                config,
                self.manager,
                registry=self.registry,
                resources=self.resources,
                guards=self.security,
                client_authority=lambda: self.client_authority,
            )

    @cached_property
    def _dispatcher(self) -> "webhooks.Dispatcher":
        """Made when the first admission webhook is to be asked."""
        authorizer = self.security.authorizer
        return webhooks.Dispatcher(
            self.store, self._caller, authorizer=authorizer, uid=self.stamps.review_uid
        )

    @cached_property
    def _service_addresses(self) -> ServiceAddresses:
        return ServiceAddresses(self.store, self.options.given_services)

    @cached_property
    def _caller(self) -> "webhooks.WebhookCaller":
        """Made when the first webhook of any kind is known; closed after the last request."""
        caller = webhooks.WebhookCaller(self._service_addresses, self.options.release)
        self._outside.push_async_callback(caller.close)
        return caller

    def _converter(self, webhook: dict[str, Any]) -> Converter:
        return webhooks.WebhookConverter(webhook, self._caller, self.stamps)

    @cached_property
    def environment(self) -> "root.declared.Environment":
        """The environment of kinds declared in Python; the first access starts to serve them."""
        parts = root.declared.Parts(
            self.options,
            self.store,
            self.stamps,
            self.manager.client,
            self.manager,
            self.resources,
            self._declared,
            self.keys,
            self._outside,
            self.faults,
        )
        return root.declared.install(parts)

    def _make_defaults(self) -> sets.Defaults:
        certificate = self.security.certificate
        authority = certificate.authority.decode() if certificate else ""
        return sets.Defaults(
            self.store,
            self.stamps,
            address=lambda: (self.options.advertise_address or self._host, self.port),
            cidr=self.options.service_cluster_ip_range,
            authority=authority,
            may_make=not self._read_only,
            may_identify=self.options.modules != "none",
            proxies=lambda: auth.frontproxy.trust(self._front_proxy),
        )

    def _defer_kinds(self) -> None:
        """Leave kinds declared in Python out until they are asked for, unless there is work."""
        groups = self.options.module_groups
        if groups or self.options.kinds:
            self.resources.defer(groups, lambda: self.environment, self._import_kinds)
        if self.options.kinds or any(self.store.count(keys.of_group(name)) for name in groups):
            self.resources.load()

    async def _import_kinds(self) -> None:
        """Import what kinds declared in Python are made of: most of what loading them takes."""
        await self.registry.worker.run(HEAVY, getattr, root.declared, "install")

    async def snapshot(self) -> "root.snapshots.Snapshot":
        """The state as it is now, for other servers to begin with. Raises LogError."""
        log = await self.store.snapshot()
        return root.snapshots.Snapshot(log, self.keys.kept(), self.clock.now())

    async def _keys(self) -> Keys:
        if not self.options.database:
            begun = self._begun
            token = self.options.worker.admin_token if self.options.worker else ""
            return KeyFiles(self.options.data, None if begun is None else begun.keys, token)
        return await root.SharedKeys.read(self.store)

    @property
    def _read_only(self) -> bool:
        return self.options.at is not None

    @property
    def _shares(self) -> bool:
        """Whether other servers may run controllers on the same log."""
        return self.store.shared and not self._read_only

    async def _listen(self, context: ssl.SSLContext | None) -> None:
        """Take the port; requests are told that the server starts, until `_serve`."""
        self._starting = Starting(lambda: self.stage)
        self._http = webserver.make(self._starting, self.origins, self.budget)
        self._runner = web.ServerRunner(self._http, shutdown_timeout=STOP_SECONDS)
        await self._runner.setup()
        self._stack.push_async_callback(self._runner.cleanup)
        worker = self.options.worker
        if worker is None:
            options = self.options
            site = listening.site(self._runner, options.host, options.port, context)
            await site.start()
            host, port = self._runner.addresses[0][:2]
        else:
            self.intake = workers.Intake(worker, self._http, context)
            self.intake.start()
            self._stack.callback(self.intake.close)
            host, port = worker.address
        self._host: str = host
        self.port: int = port
        name = f"[{host}]" if ":" in host else host
        self.url = f"{'https' if context else 'http'}://{name}:{port}"

    async def _serve(self) -> None:
        self.streams = Streams(self.registry, self.stamps)
        self._start_audit()
        parts = await self._parts()
        if self.options.worker is not None:
            parts = await self._serve_workers(parts)
        app = App(parts)
        self._stack.callback(app.close)
        # once more, so that requests end while there is a store; what is cleaned up stays so
        self._stack.push_async_callback(self._runner.cleanup)
        # before the runner waits for what is under way: watches would never end by themselves
        self._stack.callback(self.streams.close)
        self._stack.push_async_callback(self._hang_up)
        self._streaming = self._stack.enter_context(contextlib.ExitStack())
        self._http.request_handler = app
        self._starting.hand_over(app)

    async def _serve_workers(self, parts: Parts) -> Parts:
        """Answer what other workers pass on; what passes on what only the one that leads can
        answer."""
        own = App(
            replace(
                parts,
                access=workers.Believed(),
                origins=NO_ORIGINS,
                guard=Guard(loopback_only=False),
                # what a request is counted and told as, and meets, it did where it came from
                metrics=Metrics(),
                faults=None,
                listeners=[],
                logs_requests=False,
                on_request=None,
            )
        )
        self._stack.callback(own.close)
        runner = await workers.listening(
            self.options.worker, webserver.make(own, NO_ORIGINS, self.budget)
        )
        self._stack.push_async_callback(runner.cleanup)
        leader = workers.Leader(
            self.options.worker,
            lambda: self.leadership.leading_process if self.leadership else 0,
            self.options.module_groups,
            pods=bool(self.options.workloads),
        )
        self._stack.push_async_callback(leader.close)
        return replace(parts, elsewhere=leader.concerns)

    @property
    def origins(self) -> Origins:
        """Which web pages may ask; others may not send where browsers come in without a token."""
        options = self.options
        trusts = not security.has_credentials(options) or options.client_ca_file is not None
        return Origins(options.allow_origins, protects=trusts)

    async def _parts(self) -> Parts:
        metrics = Metrics()
        handlers = Handlers(self.registry, Renderer(self.stamps))
        endpoints = Endpoints(
            metrics,
            self.resources,
            self.store.count,
            self._stored_bytes,
            self._failures,
            self.options.release,
        )
        if self.options.worker is not None:
            siblings = workers.Siblings(self.options.worker, endpoints.figures)
            await siblings.start()
            self._stack.push_async_callback(siblings.close)
            endpoints.siblings = siblings
        return Parts(
            registry=self.registry,
            resources=self.resources,
            defaults=self._defaults,
            routes=Routes(
                self.resources,
                handlers,
                self.streams.serve,
                cache(lambda: self._subresources(handlers)),
                self.registry.worker,
            ),
            access=self.security.access,
            flows=Flows(self.store),
            origins=self.origins,
            guard=Guard(loopback_only=self.security.is_open),
            metrics=metrics,
            endpoints=self._endpoints(endpoints),
            faults=self.faults,
            sleep=self.clock.sleep,
            calm=self._calm(),
            before_write=calm.of_workloads(self.manager) if self.options.workloads else None,
            on_request=self.options.on_request,
            records_bodies=self.options.record_bodies,
            pages=later(self._pages),
            listeners=self._listeners,
        )

    def _endpoints(self, plain: Endpoints) -> dict[str, Endpoint]:
        """What answers at paths that are no resources; one that ends in a slash at those below."""
        discovery = later(self._discovery)
        documents = issuer.Issuer(self.security.authenticator.accounts, lambda: self.url)
        return {
            "/": plain.root,
            "/index.html": plain.root,
            "/flagz": plain.pages,
            "/statusz": plain.pages,
            issuer.CONFIGURATION: documents.configuration,
            issuer.KEYS: documents.keys,
            "/healthz/": plain.health,
            "/livez/": plain.health,
            "/readyz/": plain.health,
            "/version": plain.version,
            "/metrics": plain.metrics,
            "/metrics/slis": plain.levels,
            "/debug/": later(self._debugging),
            "/inkube/": later(self._shared_streams),
            "/debug/requests": later(self._request_log),
            "/api/": discovery,
            "/apis/": discovery,
            "/openapi/": later(self._openapi),
        }

    def _start_audit(self) -> None:
        """Keep the audit log, where one is asked for. Raises OSError, ValueError."""
        if self.options.audit_log is None:
            return
        path = self.options.audit_policy_file
        policy = None if path is None else golang.goyaml.loads(path.read_bytes()).value
        if policy is not None and not isinstance(policy, dict):
            raise ValueError(f"{path} holds no audit policy")
        log = http.audit.AuditLog(self.options.audit_log, policy)
        self._stack.callback(log.close)
        self._listeners.append(log.write)

    def _stored_bytes(self) -> int | None:
        """The size of the file that keeps everything; None where there is none."""
        return None if self.options.data is None else self.options.data.stat().st_size

    def _pages(self) -> Endpoint:
        return console.Pages()

    def _request_log(self) -> Endpoint:
        log = console.RequestLog(self._tell_requests)
        self._streaming.callback(log.close)
        return log

    def _shared_streams(self) -> Endpoint:
        shared = watching.shared.SharedStreams(self._http.request_handler)
        self.streams.closing.append(shared.close)
        return shared

    def _tell_requests(self, listener: "http.audit.Listener") -> Callable[[], None]:
        """Tell somebody of finished requests, until what is returned is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _discovery(self) -> Endpoint:
        return discovery.Discovery(self.resources)

    def _debugging(self) -> Endpoint:
        return discovery.Debugging(self.store)

    def _openapi(self) -> Endpoint:
        return discovery.OpenAPI(self.resources, self.registry.worker, self.options.release.minor)

    def _subresources(self, handlers: Handlers) -> dict[tuple[str, str, str], Handler]:
        guards = self.security
        sessions = subresources.containers.Sessions()
        self._streaming.callback(sessions.close)
        streams = subresources.containers.PodStreams(
            self.registry, guards.authorizer, lambda: self._kubelet, sessions
        )
        return subresources.table.table(
            self.registry,
            self.resources,
            handlers,
            stamps=self.stamps,
            authenticator=guards.authenticator,
            authorizer=guards.authorizer,
            streams=streams,
            proxies=subresources.proxies.Proxies(self.registry, lambda: self._kubelet, sessions),
            running=self._running,
            usage=lambda: self.cluster.usage if self.options.workloads else None,
        )

    def _running(self) -> dict[str, bool]:
        """Which components of a cluster this server is beside an API server, by name."""
        schedules = bool(self.options.workloads) and self.cluster.config.runs("kube-scheduler")
        return {
            "controller-manager": self.options.controllers,
            "scheduler": schedules,
            "etcd-0": not self.store.failure,
        }

    @property
    def _kubelet(self) -> "subresources.containers.Kubelet | None":
        """Who answers for containers, where workloads live."""
        return self.cluster.containers if self.options.workloads else None

    def _calm(self) -> Callable[[], Awaitable[bool]] | None:
        """What each request waits for before it is looked at."""
        if self.options.seed is not None:
            return calm.of_controllers(self.manager)
        if not self._shares:
            return None
        others = calm.OtherServers(self.store, self.manager)
        self._stack.callback(others.close)
        return others.caught_up

    def kubeconfig(self, namespace: str = "default") -> str:
        """A kubeconfig for this server, as YAML text; `namespace` is that of its context."""
        guards = self.security
        authority = guards.certificate.authority if guards.certificate else b""
        certificate = key = b""
        if guards.certificate and self.options.client_ca_file:
            certificate, key = security.administrator(self.client_authority)
        access = root.kubeconfig.Access(
            self.url, guards.token, authority, namespace, certificate, key
        )
        return root.kubeconfig.render(access)

    @cached_property
    def client_authority(self) -> "auth.tls.Authority":
        """The authority of client certificates; from now on trusted, if clients can present one."""
        shown = self.security.certificate
        if shown is not None and shown.clients is not None:
            return shown.clients
        made = security.new_authority()
        if self._tls is not None and self.options.client_ca_file is not None:
            self._tls.load_verify_locations(cadata=made.certificate.decode())
        return made

    async def settled(self, within: float = 60.0) -> None:
        """Wait until every controller that runs here has seen the newest revision and has nothing
        to do."""
        async with asyncio.timeout(within):
            await self.manager.settled()
