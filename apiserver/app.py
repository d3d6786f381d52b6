"""The HTTP application: one entry for every request.

    path → guards (Host, load) → for writes: origin, time limit → authentication, authorization →
      faults → kind, media type and handler (`handlers.routes`) → metrics, listeners, log

Errors become a Status.

It uses aiohttp's low-level server without its router, because kinds can be added and removed at run
time. Unhandled errors return 500 without a traceback, and are logged with the request id.
"""

import asyncio
import contextlib
import itertools
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Protocol, Self

from aiohttp import hdrs, web
from aiohttp.http import HttpVersion11

from inkube.apiserver import console, faults, http, registry, watching
from inkube.apiserver.auth import (
    ANONYMOUS,
    AUTHENTICATED,
    Access,
    Flow,
    Flows,
    Pending,
    Work,
    answered,
)
from inkube.apiserver.discovery import Endpoint
from inkube.apiserver.faults import Faults, Injection
from inkube.apiserver.handlers import Routes
from inkube.apiserver.http import (
    STREAMING_SUBRESOURCES,
    WATCHES,
    BodyResponse,
    Guard,
    Metrics,
    Origins,
    Request,
    RequestInfo,
    RequestRecord,
    bodies,
    deciding,
    httprequest,
    logs,
    manager_name,
    negotiation,
    read_timeout,
    requests,
    responses,
    sampling,
)
from inkube.apiserver.registry import Delegate, Lifetime, Registry, Resources, User
from inkube.apiserver.samples import Samples
from inkube.schemas import status
from inkube.schemas.lazy import Lazy
from inkube.schemas.objects import Object
from inkube.storage import StorageError

logger = logging.getLogger(__name__)
request_logger = logging.getLogger(logs.ACCESS)
_READS = frozenset({"GET", "HEAD"})
_ASSUMED_NAMESPACE = (
    'the path names no namespace: "{0}" is meant; write namespaces/{0}/ before the resource'
)
WRITE_SECONDS = 60.0  # --request-timeout
_ERRORS = 400  # the lowest code of an error
_UNAUTHORIZED = 401
_WHOLE = (BodyResponse, web.Response)
"""The responses that are not streams."""


class Defaults(Protocol):
    """Default objects, created at the first request for their kind (`defaults`)."""

    def is_missing(self, group: str, plural: str, name: str) -> bool:
        """Return whether `create` must run before the request. `name` "" means all objects."""
        ...

    async def create(self, group: str, plural: str, name: str) -> None:
        """Create the default objects of a kind if they are missing."""
        ...


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of the application, from `root.serving`."""

    registry: Registry
    resources: Resources
    defaults: Defaults
    routes: Routes
    access: Access
    flows: Flows
    guard: Guard
    origins: Origins
    metrics: Metrics
    samples: Samples
    endpoints: Mapping[str, Endpoint | Lazy[Endpoint]]
    """Exact paths outside resources, such as `/healthz`. A key that ends with `/` is a prefix."""
    pages: Lazy[Endpoint]
    """The handler for paths below `console.ROOT`: files that are served without authentication."""
    faults: Faults | None
    """None if faults were applied before requests arrive here."""
    sleep: Callable[[float], Awaitable[None]]
    """Waits a number of seconds on the server's clock."""
    before_request: Callable[[], Awaitable[None] | None] | None = None
    """Returns what is awaited before a request is processed; None if it need not wait."""
    before_write: Callable[[], Awaitable[None]] | None = None
    """Awaited before each request that can write."""
    elsewhere: Callable[[RequestInfo], Endpoint | None] | None = None
    """A function that returns the handler if another process must serve the request."""
    logs_requests: bool = True
    on_request: Callable[[RequestRecord], None] | None = None
    records_bodies: bool = False
    """Whether `on_request` also receives both bodies."""
    listeners: "list[http.audit.Listener]" = field(default_factory=list)
    """Functions that are called with each finished request and its bodies; they can be added and
    removed."""
    audit: "http.audit.AuditLog | None" = None
    """Writes audit events of requests that begin; `listeners` contains its function for those that
    are finished."""

    def forwarded(self, access: Access, flows: Flows, origins: Origins) -> Self:
        """Return the parts for requests that another process of the server forwards: it has given
        them seats, counted, logged and audited them, and applied faults."""
        return replace(
            self,
            access=access,
            flows=flows,
            guard=Guard(loopback_only=False),
            origins=origins,
            metrics=Metrics(),
            samples=Samples(),
            faults=None,
            logs_requests=False,
            on_request=None,
            listeners=[],
            audit=None,
        )


class App:
    """Serves requests; see the module's docstring."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._numbers = itertools.count(1)
        self._run = f"{time.time_ns() & 0xFFFFFFFF:08x}"

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Respond to one request. Errors become responses."""
        assert isinstance(request, Request), "as webserver makes them"
        started = time.perf_counter()
        request_id = requests.given_id(request) or f"{self._run}-{next(self._numbers)}"
        info = requests.read(request)
        parts = self._parts
        if parts.before_request is not None:
            wait = parts.before_request()
            if wait is not None:
                await wait
        context = None
        if parts.listeners:
            context = request.audit = http.audit.RequestContext(request_id, datetime.now(UTC))
            if parts.audit is not None and _is_long(info):
                notify = partial(self._notify_beginning, request, info, context)
                setattr(request.writer, "on_begin", notify)  # noqa: B010 # of http.Writer
        cancelled: asyncio.CancelledError | None = None
        try:
            response = await self._respond(request, info, request_id)
        except asyncio.CancelledError as error:
            if not request.begun_code:
                raise
            # the client of a stream has disconnected: nothing is missing
            response, cancelled = web.StreamResponse(status=request.begun_code), error
        elapsed = time.perf_counter() - started
        if context is not None:
            await self._notify_listeners(request, response, info, context)
        media = request.headers.get(hdrs.CONTENT_TYPE, "") if info.verb == "patch" else ""
        lifetime = request.lifetime
        waited = 0.0 if lifetime is None else lifetime.waited
        parts.metrics.count(info, response.status, elapsed, media, waited)
        if parts.samples.is_observed:
            sampling.of_request(parts.samples, info, request, response)
        if parts.on_request is not None:
            record = _record(request, info, response, elapsed)
            if parts.records_bodies:
                record = _with_bodies(record, request, response)
            parts.on_request(record)
        if parts.logs_requests and request_logger.isEnabledFor(logging.INFO):
            request_logger.info(
                "request",
                extra={
                    "request_id": request_id,
                    "method": request.method,
                    "verb": info.verb,
                    "path": request.rel_url.raw_path,
                    "query": requests.without_secrets(request.rel_url.raw_query_string),
                    "resource": info.resource,
                    "code": response.status,
                    "milliseconds": round(elapsed * 1000, 3),
                    "user_agent": request.headers.get(hdrs.USER_AGENT, ""),
                    "source": request.remote or "",
                },
            )
        if cancelled is not None:
            raise cancelled
        return response

    async def _notify_received(
        self, request: Request, info: RequestInfo, context: "http.audit.RequestContext"
    ) -> None:
        """Write the first audit event of a request if its user is known. Raises StatusError 500 if
        it must be written and cannot."""
        if self._parts.audit is None:
            return
        try:
            context.user = await answered(partial(self._parts.access.identify, request))
        except status.StatusError:
            return  # the same error will end the request, unless it needs no user
        try:
            await self._parts.audit.receive(_event_data(request, info, 0), context)
        except OSError as error:
            failure = "failed to store audit event"
            raise status.internal_in_plain(requests.raw_target(request), failure) from error

    def _notify_beginning(
        self, request: Request, info: RequestInfo, context: "http.audit.RequestContext", code: int
    ) -> None:
        """Write the audit event of a stream whose response begins."""
        if self._parts.audit is not None:
            _note_access(context, request)
            self._parts.audit.begin(_event_data(request, info, code), context)

    async def _notify_listeners(
        self,
        request: Request,
        response: web.StreamResponse,
        info: RequestInfo,
        context: "http.audit.RequestContext",
    ) -> None:
        """Pass a finished request to the listeners, with its body. For a rejected request, this is
        the part of the body that was read."""
        sent = request.received_body
        if (
            context.api_request is not None
            and request.method not in _READS
            and response.status < 400
        ):
            sent = await request.read()
        _note_access(context, request)
        if context.user is None:
            with contextlib.suppress(status.StatusError):  # 401: the user is unknown
                context.user = await answered(partial(self._parts.access.identify, request))
        body = getattr(response, "body", None)
        finished = _event_data(request, info, response.status)._replace(
            request=sent,
            response=body if isinstance(body, bytes) else b"",
            response_media=response.headers.get(hdrs.CONTENT_TYPE, ""),
        )
        if context.user is None and response.status == _UNAUTHORIZED:
            finished = finished._replace(attempted=_attempted(request))
        for listener in tuple(self._parts.listeners):
            listener(finished, context)
        if self._parts.audit is not None:
            await self._parts.audit.flush()

    async def _respond(
        self, request: Request, info: RequestInfo, request_id: str
    ) -> web.StreamResponse:
        refused = httprequest.refusal(request)
        if refused is not None:
            return refused
        try:
            streamed = info.subresource in STREAMING_SUBRESOURCES
            if self._parts.resources.delegates and not streamed:
                streamed = self._delegate(info) is not None and hdrs.UPGRADE in request.headers
            watches = info.verb in WATCHES or info.path == watching.SHARED
            with self._parts.guard.admit(request, is_long_running=streamed or watches):
                if streamed or (watches and hdrs.UPGRADE in request.headers):
                    self._parts.origins.check(request)  # browsers send no preflight for them
                if streamed or watches:
                    with (
                        sampling.LongRunning(self._parts.samples, info) as running,
                        self._parts.flows.estimator.watching(info),
                    ):
                        response = await self._serve(request, info)
                        running.is_refused = response.status >= _ERRORS
                elif request.method not in _READS:
                    response = await self._serve_write(request, info)
                elif "timeout" in info.query:
                    response = await self._serve_limited(request, info)
                else:
                    response = await self._serve(request, info)
        except status.StatusError as error:
            if error.code in sampling.TERMINATIONS:
                sampling.terminated(self._parts.samples, info, error.code)
            form = negotiation.error_form(request, info.query)
            response = responses.error(error, form)
        except ConnectionError:
            if request.has_response:
                request.abort()
            raise
        except asyncio.CancelledError:
            raise
        except StorageError as error:
            failure = registry.failures.as_status(error)
            if failure.code == 503:
                logger.error("the store failed: %s", error, extra={"request_id": request_id})
            response = responses.error(failure, negotiation.COMPACT_JSON)
        except Exception:
            logger.exception("unhandled error", extra={"request_id": request_id})
            if request.audit is not None:
                request.audit.has_panicked = True
            failure = status.internal(f"unexpected error; see the log at request {request_id}")
            response = responses.error(failure, negotiation.COMPACT_JSON)
        if response.prepared or not isinstance(response, _WHOLE):
            return response  # a stream, which is over
        # an error can end a stream: no second response may follow it
        if response.status >= _ERRORS and request.has_response:
            request.abort()
            raise ConnectionResetError("an error ended a response that had begun")
        flow = request.flow
        if isinstance(response, BodyResponse):
            response.audit_id = request_id
            if flow is not None:
                response.added = flow.head
            encoding = request.headers.get(hdrs.ACCEPT_ENCODING)
            if encoding is not None and request.version >= HttpVersion11:
                responses.compress(response, encoding)
        else:
            response.headers["Audit-Id"] = request_id
            if flow is not None:
                response.headers.update(flow.head.headers)
        return response

    async def _serve_write(self, request: Request, info: RequestInfo) -> web.StreamResponse:
        """Serve a request with a body. Raises StatusError 504."""
        self._parts.origins.check(request)
        preflight = self._parts.origins.preflight(request)
        if preflight is not None:
            return preflight
        if self._parts.before_write is not None:
            await self._parts.before_write()
        return await self._serve_limited(request, info)

    async def _serve_limited(self, request: Request, info: RequestInfo) -> web.StreamResponse:
        """Serve a request within its time limit, and while its client is connected. Raises
        StatusError 504."""
        try:
            async with asyncio.timeout(WRITE_SECONDS) as limit:
                lifetime = request.lifetime = Lifetime(limit)
                with deciding(request, lifetime.abandon):
                    return await self._serve(request, info)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise status.request_timeout() from error

    async def _serve(self, request: Request, info: RequestInfo) -> web.StreamResponse:
        parts = self._parts
        if not info.is_resource and f"{info.path}/".startswith(console.ROOT):
            return await parts.pages()(request, info, ANONYMOUS)
        if info.is_resource and not info.namespace:
            info = parts.routes.with_namespace(info)
        context = request.audit
        if context is not None:
            await self._notify_received(request, info, context)
        try:
            user = self._user(request, info)
        except Pending:
            user = await answered(partial(self._user, request, info))
        flow = request.flow = parts.flows.of(info, user)
        if context is not None:
            context.user = user
        request.user = user.name
        work = None
        if flow is not None:
            work = flow.enter(info)
            if work is None:
                work = await self._wait_for_seats(flow, info, request)
        try:
            try:
                user = self._authorized(request, info, user)
            except Pending:
                user = await answered(partial(self._authorized, request, info, user))
            if context is not None:
                context.decision = "allow"
            if flow is not None and work is not None and flow.is_watch:
                flow.leave(work)  # a watch has seats only until it begins
                work = None
            injected = parts.faults
            if injected is not None and injected.rules is not None:
                agent = request.headers.get(hdrs.USER_AGENT, "")
                metadata = partial(self._metadata, request, info)
                injection = await injected.injection_for(info, user, agent, metadata)
                if injection is not None:
                    return await self._serve_with_faults(request, info, user, injection)
            return await self._serve_admitted(request, info, user, None)
        finally:
            if work is not None and flow is not None:
                flow.leave(work)

    async def _wait_for_seats(self, flow: Flow, info: RequestInfo, request: Request) -> Work:
        """Wait in a queue of a flow. Raises StatusError 429."""
        work, waited = await flow.wait(info)
        if request.lifetime is not None:
            request.lifetime.wait("apf-queue-wait", waited)
        return work

    async def _serve_with_faults(
        self, request: Request, info: RequestInfo, user: User, injection: Injection
    ) -> web.StreamResponse:
        """Apply the Faults for a request. Raises StatusError."""
        request.faults = injection.names
        serve = partial(self._serve_admitted, request, info, user, injection)
        long = info.verb in WATCHES or info.subresource in STREAMING_SUBRESOURCES
        return await faults.effects.apply(injection, serve, self._parts.sleep, is_long_running=long)

    async def _metadata(self, request: Request, info: RequestInfo) -> Object | None:
        """Return the metadata of a request's object: the stored one, or the new one in the
        body."""
        resource = self._parts.resources.get(info.group, info.resource)
        if resource is None:
            return None
        if info.name:
            namespace = info.namespace if resource.namespaced else ""
            entry = self._parts.registry.store.get(resource.key(namespace, info.name))
            return None if entry is None else entry.value["metadata"]
        return await bodies.metadata(request) if info.verb == "create" else None

    async def _serve_admitted(
        self,
        request: Request,
        info: RequestInfo,
        user: User,
        injection: Injection | None,
    ) -> web.StreamResponse:
        parts = self._parts
        if info.verb not in WATCHES and "timeout" in info.query:
            seconds = read_timeout(info.query)  # an invalid timeout is refused for every verb
            if request.lifetime is not None:
                request.lifetime.shorten(seconds)
        if parts.elsewhere is not None:
            leader = parts.elsewhere(info)
            if leader is not None:
                return await leader(request, info, user)
        if parts.resources.delegates:
            delegate = self._delegate(info)
            if delegate is not None:
                passed: web.StreamResponse = await delegate(request, info, user)
                return passed
        if not info.is_resource:
            return await self._endpoint(request, info, user)
        route = parts.routes.find(info)
        if route is None:
            return await self._serve_unknown(request, info, user)
        if parts.defaults.is_missing(info.group, info.resource, info.name or info.selected_name):
            await parts.defaults.create(info.group, info.resource, info.name or info.selected_name)
        manager = ""
        if request.method not in _READS:
            manager = manager_name(request.headers.get(hdrs.USER_AGENT, ""))
        api_request = registry.intake.request(
            info.verb,
            route.resource,
            route.served,
            user,
            namespace=info.namespace,
            name=info.name,
            subresource=info.subresource,
            manager=manager,
            lifetime=request.lifetime,
        )
        if request.audit is not None:
            request.audit.api_request = api_request
        if info.assumes_namespace:
            api_request.warn(_ASSUMED_NAMESPACE.format(info.namespace))
        if route.served.version.deprecated:
            api_request.warn(route.served.version.deprecation_warning)
            api_request.notes.annotate("k8s.io/deprecated", "true")
        if route.is_misplaced:
            return responses.unknown_path(plain=route.resource.wording.unknown_is_plain)
        try:
            return await parts.routes.serve(route, request, info, api_request, injection)
        except status.StatusError as error:
            form = negotiation.error_form(request, info.query)
            # no variable refers to the error: it refers to this frame, which would be a cycle
            return responses.error(
                route.resource.wording.refusal(error), form, api_request.warnings
            )

    async def _serve_unknown(
        self, request: Request, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """Respond to a request for an unknown kind."""
        resources = self._parts.resources
        endpoint = resources.endpoint(info.group, info.version, info.resource)
        if endpoint is not None and info.namespace and not info.name:
            answer: web.StreamResponse = await endpoint(request, info, user)
            return answer
        return responses.unknown_path(plain=resources.wording(info.group).unknown_is_plain)

    def _user(self, request: Request, info: RequestInfo) -> User:
        """Return the user of a request. Raises StatusError, unless the path is open to all."""
        try:
            return self._parts.access.user(request, info)
        except status.StatusError:
            if self._is_open(info):
                return ANONYMOUS
            raise

    def _authorized(self, request: Request, info: RequestInfo, user: User) -> User:
        """Return the user who may send a request. Raises StatusError, unless the path is open to
        all."""
        try:
            self._parts.access.authorize(request, info, user)
        except status.StatusError:
            if self._is_open(info):
                return ANONYMOUS
            # each watch on a shared stream is authorized separately
            if not (info.path.startswith(watching.SHARED) and AUTHENTICATED in user.groups):
                raise
        return user

    def _is_open(self, info: RequestInfo) -> bool:
        """Return whether the request is for a subresource that is served without authentication."""
        if self._delegate(info) is not None:
            return False
        resource = info.subresource and self._parts.resources.get(info.group, info.resource)
        served = resource.served(info.version) if resource else None
        found = served.version.subresource(info.subresource) if served is not None else None
        return found is not None and found.is_open

    def _delegate(self, info: RequestInfo) -> Delegate | None:
        """Return the aggregated API server for a path at or below `/apis/GROUP/VERSION`, or
        None."""
        group, version = info.group, info.version
        if not info.is_resource:
            parts = info.path.split("/", 4)
            if len(parts) < 4 or parts[1] != "apis":
                return None
            group, version = parts[2], parts[3]
        found = self._parts.resources.delegates.get((group, version))
        return found if found is not None and found.forwards else None

    async def _endpoint(
        self, request: Request, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        endpoints = self._parts.endpoints
        if "//" in info.path:
            return responses.unknown_path(plain=not self._is_below_version(info.path))
        handler = endpoints.get(info.path.rstrip("/") or "/")
        if handler is None:
            root = info.path.split("/", 2)[1] if info.path.startswith("/") else ""
            handler = endpoints.get(f"/{root}/")
        if handler is None:
            return responses.plain_not_found()
        serve = handler() if isinstance(handler, Lazy) else handler
        return await serve(request, info, user)

    def _is_below_version(self, path: str) -> bool:
        """Return whether a path begins with a version of a group that the generic server routes."""
        parts = path.split("/")
        group, version = ("", parts[2:3]) if parts[1] == "api" else (parts[2], parts[3:4])
        if parts[1] not in ("api", "apis") or not version or not version[0]:
            return False
        resources = self._parts.resources
        return resources.wording(group).is_routed and any(
            version[0] in found.versions for found in resources.group(group)
        )


def _is_long(info: RequestInfo) -> bool:
    """Return whether the response to a request is a stream."""
    return info.verb in WATCHES or info.subresource in STREAMING_SUBRESOURCES


def _event_data(request: Request, info: RequestInfo, code: int) -> "http.audit.FinishedRequest":
    """Return what audit events tell about a request, without bodies."""
    return http.audit.FinishedRequest(
        info=info,
        uri=requests.loggable_target(request),
        addresses=requests.source_addresses(request),
        agent=request.headers.get(hdrs.USER_AGENT, ""),
        code=code,
        media=request.headers.get(hdrs.CONTENT_TYPE, ""),
        is_long=_is_long(info),
    )


def _note_access(context: "http.audit.RequestContext", request: Request) -> None:
    """Note what is known about the access of a request since its user was identified."""
    context.impersonation, context.reason = request.impersonation, request.reason
    context.lifetime, context.stale_token = request.lifetime, request.stale_token
    if request.is_forbidden and not context.decision:  # everybody may use some paths
        context.decision = "forbid"
    if request.impersonation is not None:
        context.user = request.impersonation.user


def _attempted(request: Request) -> str:
    """Return which credentials were refused (getAuthMethods)."""
    scheme, _, rest = request.headers.get(hdrs.AUTHORIZATION, "").strip().partition(" ")
    methods = [scheme.lower()] if rest and scheme.lower() in ("basic", "bearer") else []
    if request.get_extra_info("peercert"):
        methods.append("x509")
    if methods:
        return f"Authentication failed, attempted: {', '.join(methods)}"
    return "Authentication failed, no credentials provided"


def _record(
    request: web.BaseRequest, info: RequestInfo, response: web.StreamResponse, elapsed: float
) -> RequestRecord:
    return RequestRecord(
        method=request.method,
        path=requests.loggable_target(request),
        verb=info.verb,
        resource=info.resource,
        namespace=info.namespace,
        name=info.name,
        code=response.status,
        milliseconds=elapsed * 1000,
        user_agent=request.headers.get(hdrs.USER_AGENT, ""),
        warnings=tuple(response.headers.getall("Warning", ())),
        group=info.group,
        version=info.version,
        subresource=info.subresource,
        user=getattr(request, "user", ""),
        faults=getattr(request, "faults", ()),
    )


def _with_bodies(
    record: RequestRecord, request: web.BaseRequest, response: web.StreamResponse
) -> RequestRecord:
    body = getattr(response, "body", b"")
    answered = body if isinstance(body, bytes) else b""
    return record._replace(sent=getattr(request, "received_body", b""), answered=answered)
