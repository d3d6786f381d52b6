"""The common part of subresources that take an object of another kind by POST: binding and
eviction.

The body is read as that kind, and the response is a Status. Follows
apiserver/pkg/endpoints/handlers/create.go (createHandler for a rest.NamedCreater).
"""

from collections.abc import Sequence

from aiohttp import web

from inkube.apiserver.handlers import Exchange
from inkube.apiserver.http import bodies, responses
from inkube.apiserver.registry import Call
from inkube.schemas import bodies as decoding
from inkube.schemas import status
from inkube.schemas.builtin import decoding as builtin_decoding
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object


def check_verb(call: Call, *allowed: str) -> None:
    """Permit only these verbs, or only create. Raises StatusError 405."""
    if call.verb not in (allowed or ("create",)):
        raise status.method_not_allowed()


async def read(exchange: Exchange, kind: GVK, *, others: Sequence[str] = ()) -> Object:
    """Return the typed object in a body, and set the options of the call.

    `others` are further permitted apiVersions. Raises StatusError 400 or 415.
    """
    call = exchange.call
    exchange.read_options("CreateOptions")
    body = await bodies.read(exchange.request)
    sent = bodies.decode_kind(body, bodies.media_type(exchange.request), kind.kind)
    if sent.get("kind") in (None, kind.kind) and sent.get("apiVersion") in others:
        sent["apiVersion"] = kind.api_version
    builtin_decoding.check_type(sent, kind)
    try:
        decoded = builtin_decoding.decode(sent, kind)
    except builtin_decoding.DecodeError as error:
        raise builtin_decoding.refusal(kind, error) from error
    if decoded.unknown and call.options.validation == "Strict":
        raise builtin_decoding.refusal(kind, decoding.strict_text(decoded.unknown))
    if call.options.validation != "Ignore":
        for text in decoded.unknown:
            call.warn(text)
    return decoded.object


def success(exchange: Exchange) -> web.StreamResponse:
    """Return the response 201 with a Status, as for both kinds."""
    answer = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    form = exchange.form.without_transform()
    warnings = exchange.call.warnings
    return responses.render({**answer, "code": 201}, form, code=201, warnings=warnings)
