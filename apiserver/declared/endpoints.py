"""Subresources and endpoints of kinds declared in Python: handlers for their HTTP requests.

`declared` gives these handlers to the resources. The kinds produce the responses.
"""

from collections.abc import Collection

from aiohttp import hdrs, web

from inkube.apiserver.discovery import Endpoint as Handler
from inkube.apiserver.handlers import Exchange
from inkube.apiserver.http import RequestInfo, bodies, negotiation, responses
from inkube.apiserver.registry import User
from inkube.controllers.endpoints import Endpoint, Question, Reply, Subresource
from inkube.controllers.environment import Environment
from inkube.schemas import status
from inkube.schemas.meta import GVK


class SubresourceHandler:
    """Serves one subresource of one kind. The kind produces its responses with `environment`."""

    def __init__(self, subresource: Subresource, environment: Environment) -> None:
        self._subresource = subresource
        self._environment = environment

    async def __call__(self, exchange: Exchange) -> web.StreamResponse:
        """Respond to one request. Raises StatusError, 405 for a verb that the subresource lacks."""
        request, info = exchange.request, exchange.info
        if info.verb not in self._subresource.verbs:
            gvr = request.served.gvr
            raise request.resource.wording.method_not_allowed(gvr, info.verb)
        question = await _question(exchange.http, info, request.served.api_version)
        reply = await self._subresource.answer(question, self._environment)
        if self._subresource.deprecated:
            address = f"{request.resource.plural}/{self._subresource.name}"
            request.warn(f"{request.served.api_version} {address} is deprecated")
        return _render(reply, exchange.form, request.warnings)


def endpoint(declared: Endpoint, environment: Environment) -> Handler:
    """Return the handler of one endpoint, which every namespace has."""

    async def serve(request: web.BaseRequest, info: RequestInfo, user: User) -> web.StreamResponse:
        if request.method != "GET":
            raise status.method_not_allowed()
        api_version = GVK(info.group, info.version, "").api_version
        question = await _question(request, info, api_version)
        form = negotiation.negotiate(request.headers.get(hdrs.ACCEPT), transforms=())
        return _render(await declared.answer(question, environment), form)

    return serve


async def _question(request: web.BaseRequest, info: RequestInfo, api_version: str) -> Question:
    return Question(
        verb="get" if info.verb in ("get", "list") else info.verb,
        api_version=api_version,
        namespace=info.namespace,
        name=info.name,
        rest=info.further_segments,
        is_directory=info.path.endswith("/"),
        query=info.query,
        headers=request.headers,
        body=await bodies.read(request),
    )


def _render(
    reply: Reply, form: negotiation.Form, warnings: Collection[str] = ()
) -> web.StreamResponse:
    if not isinstance(reply.body, bytes):
        return responses.render(reply.body, form, code=reply.code, warnings=warnings)
    response = responses.data(reply.body, code=reply.code, warnings=warnings)
    response.headers["Content-Type"] = reply.media
    return response
