"""OpenID discovery and keys, with which other programs can verify service account tokens.

Follows pkg/routes/openidmetadata.go and pkg/serviceaccount/openidmetadata.go.
"""

from collections.abc import Callable

from aiohttp import hdrs, web

from inkube.apiserver.auth import ServiceAccountTokens
from inkube.apiserver.http import RequestInfo, negotiation, responses
from inkube.apiserver.registry import User
from inkube.schemas import status
from inkube.schemas.status import StatusError

CONFIGURATION = "/.well-known/openid-configuration"
KEYS = "/openid/v1/jwks"
KEY_SET = "application/jwk-set+json"


class Issuer:
    """Serves the two documents. `keys_url` returns the URL of the keys."""

    def __init__(self, tokens: ServiceAccountTokens, keys_url: Callable[[], str]) -> None:
        self._tokens = tokens
        self._keys_url = keys_url

    async def configuration(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """Serve `/.well-known/openid-configuration`."""
        document = {
            "issuer": self._tokens.issuer,
            "jwks_uri": self._keys_url(),
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": self._tokens.algorithms(),
        }
        return _cacheable(document, "application/json")

    async def keys(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """Serve `/openid/v1/jwks`. Raises StatusError 406 if the client does not accept key
        sets."""
        accept = negotiation.clauses(request.headers.get(hdrs.ACCEPT) or "*/*")
        if not any(clause.media in ("*/*", KEY_SET) for clause in accept):
            message = f"406: Not Acceptable\n\nAvailable representations: {KEY_SET}"
            raise StatusError(406, status.Reason.NOT_ACCEPTABLE, message, details={})
        return _cacheable({"keys": self._tokens.public_keys()}, KEY_SET)


def _cacheable(document: object, media: str) -> web.Response:
    headers = {"Content-Type": media, "Cache-Control": "public, max-age=3600"}
    return web.Response(body=responses.encode(document).rstrip(), headers=headers)
