"""The handler of a request for a resource, and the form of its response.

`app` passes authorized requests to this module. The result for a verb and a shape of path is cached
until the table of served kinds changes. Names, queries and headers are checked each time. A request
without a route is rejected with the text of its kind, after the checks that kube-apiserver makes
before: the name and the form of the response.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from aiohttp import hdrs, web

from inkube.apiserver.faults import Injection
from inkube.apiserver.handlers import tables
from inkube.apiserver.handlers.verbs import Exchange, Handler, Handlers
from inkube.apiserver.http import Form, RequestInfo, httprequest, negotiation, requests
from inkube.apiserver.registry import PlainEngine, Request, Resource, Resources
from inkube.schemas import status
from inkube.schemas.golang import quote, truthy
from inkube.schemas.served import Served

_EXPORT = "the export parameter, deprecated since v1.14, is no longer supported"
MAX_ROUTES = 10_000  # cached routes, by kind, verb and subresource
Subresources = Mapping[tuple[str, str, str], Handler]
"""(group, plural, subresource) → handler. Group and plural can be `*`. The subresource "" is for
kinds that are not stored."""


@dataclass(slots=True)
class Route:
    """The route of requests with one shape."""

    resource: Resource
    served: Served
    is_misplaced: bool
    """Whether the path of a namespaced object has no namespace, or that of a cluster-scoped one has
    a namespace."""
    transforms: tuple[str, ...]
    """The forms in which an object can be returned."""
    revision: int
    """The revision of the table of resources."""
    handler: Handler | None = None
    """The handler, known after the first request that reached it."""


class Routes:
    """Finds the handlers of requests."""

    def __init__(
        self,
        resources: Resources,
        handlers: Handlers,
        watch: Handler,
        subresources: Callable[[], Subresources],
        engine: PlainEngine,
    ) -> None:
        self._resources = resources
        self._handlers = handlers.by_verb
        self._watch = watch
        self._subresources = subresources
        self._engine = engine
        self._routes: dict[str, Route] = {}
        self._revision = 0

    def with_namespace(self, info: RequestInfo) -> RequestInfo:
        """Return a request for one object with its namespace, if its path has none and its kind
        implies one. Return other requests unchanged."""
        is_of_one = info.name or info.verb == "create"
        if info.namespace or not info.group or not is_of_one:
            return info
        resource = self._resources.get(info.group, info.resource)
        if resource is None or not resource.namespaced or not resource.wording.default_namespace:
            return info
        return requests.with_namespace(info, resource.wording.default_namespace)

    def find(self, info: RequestInfo) -> Route | None:
        """Return the route of a request, or None for a kind or version that is not served."""
        if self._revision != self._resources.revision:
            self._routes.clear()
            self._revision = self._resources.revision
        known = self._routes.get(info.shape)
        if known is not None:
            return known
        resource = self._resources.get(info.group, info.resource)
        served = None if resource is None else resource.served(info.version)
        if resource is None or served is None:
            return None
        misplaced = _is_misplaced(info, resource)
        # reviews have no columns (APIInstaller: TableConvertor)
        stored = resource.definition.is_stored
        transforms = negotiation.TRANSFORMS if stored else negotiation.WITHOUT_TABLES
        return Route(resource, served, misplaced, transforms, self._resources.revision)

    def serve(
        self,
        route: Route,
        http: web.BaseRequest,
        info: RequestInfo,
        request: Request,
        injection: Injection | None,
    ) -> Awaitable[web.StreamResponse]:
        """Pass a request to its handler. Raises StatusError."""
        if info.name:
            _check_name(info.name)
        handler = route.handler or self._handler(info, request)
        if (
            info.subresource in requests.STREAMING_SUBRESOURCES
        ):  # their responses have their own media types
            form, injection = negotiation.COMPACT_JSON, None
        else:
            form = self._form(route, http, info)
            if info.query and info.verb == "get" and truthy(info.query.get("export")):
                raise status.bad_request(_EXPORT)
        if route.handler is None:
            self._keep(route, info, handler)
        return handler(Exchange(http, info, request, form, self._engine, injection))

    def _keep(self, route: Route, info: RequestInfo, handler: Handler) -> None:
        """Cache the handler of a route, unless the table of served kinds has changed."""
        if route.revision == self._resources.revision and len(self._routes) < MAX_ROUTES:
            route.handler = handler
            self._routes[info.shape] = route

    def _form(self, route: Route, http: web.BaseRequest, info: RequestInfo) -> Form:
        """Return the form of the response. Raises StatusError 400 or 406."""
        resource, wording = route.resource, route.resource.wording
        if resource.definition.max_body:
            httprequest.allow(http, resource.definition.max_body)
        if info.verb in requests.WATCHES and http.headers.get(hdrs.ACCEPT) == negotiation.EVENTS:
            return negotiation.COMPACT_JSON
        if wording.is_routed:
            lists = info.verb in ("list", "watch")
            negotiation.route(http.headers.get(hdrs.ACCEPT), lists=lists)
        form = negotiation.requested_form(
            http,
            info.query,
            transforms=route.transforms,
            any_application=wording.any_application,
            messages=wording.has_messages,
        )
        if form.kind == "Table":
            include = info.query.get("includeObject", "")
            if info.verb in requests.WATCHES:  # other answers are checked when they become a Table
                tables.check_include(include)
            form = form._replace(include=include)
        return form

    def _handler(self, info: RequestInfo, request: Request) -> Handler:
        """Return the handler of a request. It depends only on the shape of the request. Raises
        StatusError 404 or 405."""
        wording = request.resource.wording
        verbs = request.resource.definition.verbs
        if _is_in_all_namespaces(info, request.resource):
            raise _no_route(request, wording.method_not_allowed(request.served.gvr, request.verb))
        if info.deprecated_prefix and info.subresource:
            raise _no_route(request, wording.no_subresource(request.served.gvr, request.name))
        if info.deprecated_prefix and request.verb not in requests.WATCHES:
            raise _no_route(request, wording.method_not_allowed(request.served.gvr, request.verb))
        if request.subresource and request.subresource != "status":
            return self._subresource(info, request)
        if (
            request.subresource == "status" and not request.served.version.status
        ) or info.further_segments:
            raise wording.no_subresource(request.served.gvr, request.name)
        if request.subresource and request.verb not in ("get", "update", "patch"):
            raise wording.method_not_allowed(request.served.gvr, request.verb)
        if request.verb in requests.WATCHES and wording.watches(info.method, verbs):
            return self._watch
        handler = self._handlers.get(request.verb)
        routed = request.verb in verbs and wording.allows(
            info.method, request.verb, request.name, verbs
        )
        if handler is None or not routed:
            raise _no_route(request, _not_allowed(request))
        if "watch" not in verbs:  # kinds that are not stored have no watch
            kind = request.resource.group, request.resource.plural, ""
            return self._subresources().get(kind) or handler
        return handler

    def _subresource(self, info: RequestInfo, request: Request) -> Handler:
        own = request.resource.handlers
        if request.subresource in own:
            handler = own[request.subresource]
            if handler is not None:
                return handler
            part = request.served.version.subresource(request.subresource)
            if part is None or request.verb not in part.verbs or info.further_segments:
                raise request.resource.wording.method_not_allowed(request.served.gvr, request.verb)
            return self._handlers[request.verb]
        table = self._subresources()
        handler = table.get((request.resource.group, request.resource.plural, request.subresource))
        if handler is not None and request.served.version.subresource(request.subresource) is None:
            raise request.resource.wording.no_subresource(request.served.gvr, request.name)
        if handler is None:
            handler = table.get(("*", "*", request.subresource))
        if handler is None or (
            request.subresource == "scale" and request.served.version.scale is None
        ):
            raise request.resource.wording.no_subresource(request.served.gvr, request.name)
        return handler


def _not_allowed(request: Request) -> status.StatusError:
    """Return the error 405, with the alternative that the kind suggests for a missing write."""
    error = request.resource.wording.method_not_allowed(request.served.gvr, request.verb)
    instead = request.resource.definition.instead
    if instead and request.verb not in ("get", "list", *requests.WATCHES):
        error.message += f"; {instead}"
    return error


def _no_route(request: Request, error: status.StatusError) -> status.StatusError:
    """Return an error without the warnings of a handler, because no handler has run."""
    if not request.resource.wording.warns_without_route:
        request.warnings.clear()
    return error


def _check_name(name: str) -> None:
    """Check that a name can be a segment of a path (registry.NamespaceKeyFunc). Raises StatusError
    400."""
    if name in (".", ".."):
        why = f"may not be '{name}'"
    elif "%" in name:
        why = "may not contain '%'"
    else:
        return
    raise status.bad_request(f"Name parameter invalid: {quote(name)}: {why}")


def _is_misplaced(info: RequestInfo, resource: Resource) -> bool:
    """Return whether the path of a namespaced object has no namespace, or that of a cluster-scoped
    one has a namespace."""
    if info.name and not resource.definition.is_stored and not info.subresource:
        return True  # reviews have no named objects
    inside = bool(info.namespace)
    if inside and resource.is_namespaces:
        inside = False
    if not resource.namespaced:
        return inside
    if inside:
        return False
    if _is_in_all_namespaces(info, resource):
        return resource.wording.unknown_is_plain
    return bool(info.name) or "list" not in resource.definition.verbs


def _is_in_all_namespaces(info: RequestInfo, resource: Resource) -> bool:
    """Return whether a request other than a list or watch is for the objects of a kind in all
    namespaces. kube-apiserver has such a path, but no method except GET."""
    return (
        resource.namespaced
        and not info.namespace
        and not info.name
        and info.verb not in ("list", "watch")
        and "list" in resource.definition.verbs
    )
