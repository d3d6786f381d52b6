"""The common part of subresources that take an object of another kind by POST: binding, eviction
and tokens.

The body is read as that kind. The response of the first two is a Status. Follows
apiserver/pkg/endpoints/handlers/create.go (createHandler for a rest.NamedCreater).
"""

from collections.abc import Sequence

from aiohttp import web

from inkube.apiserver.handlers import Exchange
from inkube.apiserver.http import bodies, responses
from inkube.apiserver.registry import Request, intake
from inkube.schemas import status
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object


def check_verb(request: Request, *allowed: str) -> None:
    """Permit only these verbs, or only create. Raises StatusError 405."""
    if request.verb not in (allowed or ("create",)):
        raise status.method_not_allowed()


async def read(
    exchange: Exchange, kind: GVK, *, others: Sequence[str] = ()
) -> tuple[Request, Object]:
    """Return the request with its options, and the typed object in its body.

    `others` are further permitted apiVersions. Raises StatusError 400 or 415.
    """
    request = exchange.with_options("CreateOptions")
    body = await bodies.read(exchange.http)
    media = bodies.media_type(exchange.http)
    sent = await exchange.engine.run(len(body), bodies.decode_kind, body, media, kind.kind)
    if sent.get("kind") in (None, kind.kind) and sent.get("apiVersion") in others:
        sent["apiVersion"] = kind.api_version
    obj = intake.accept_kind(request, sent, kind)
    intake.check_namespace(request, obj)
    return request, obj


def success(exchange: Exchange) -> web.StreamResponse:
    """Return the response 201 with a Status, as for both kinds."""
    answer = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    form = exchange.form.without_transform()
    warnings = exchange.request.warnings
    return responses.render({**answer, "code": 201}, form, code=201, warnings=warnings)
