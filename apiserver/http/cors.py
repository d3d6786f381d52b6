"""Web pages: which origins may ask, and what they are told (CORS).

Off unless origins are named. Besides, an open server lets no page of other machines write: browsers
send some POSTs without asking first, and say in `Origin` where they come from. Follows
apiserver/pkg/server/filters/cors.go; beyond it, a page of an allowed origin may send every header
that it asks for, and read warnings and the id of its request.
"""

import re
from collections.abc import Sequence

from aiohttp import hdrs, web
from multidict import CIMultiDict

from inkube.apiserver.http.guards import is_loopback
from inkube.schemas import status

_METHODS = "POST, GET, OPTIONS, PUT, DELETE, PATCH"
_HEADERS = (
    "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, "
    "X-Requested-With, If-Modified-Since"
)
_EXPOSED = "Date, Warning, Retry-After, Audit-Id"
"""What a page may read beside the few headers that every page may."""
_REQUESTED = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+(?:, ?[A-Za-z0-9!#$%&'*+.^_`|~-]+)*")
"""Names of headers as a browser lists them."""
_ANY = "*"
_SCHEMES = frozenset({"http", "https"})


class Origins:
    """The origins that may ask. `protects`: others may not even send, unless they are local."""

    def __init__(self, allowed: Sequence[str], *, protects: bool) -> None:
        self._allowed = frozenset(allowed)
        self._protects = protects

    def __bool__(self) -> bool:
        return bool(self._allowed)

    def allows(self, origin: str) -> bool:
        """Whether pages of an origin may read answers."""
        return origin in self._allowed or (_ANY in self._allowed and bool(origin))

    def check(self, request: web.BaseRequest) -> None:
        """Refuse what a foreign page sends. Raises StatusError 403."""
        origin = request.headers.get(hdrs.ORIGIN)
        if origin is None or not self._protects or self.allows(origin):
            return
        if not _is_local(origin) and not _is_same(origin, request):
            raise status.forbidden(
                "", "", "", f"pages of {origin!r} may not ask; see --allow-origin"
            )

    def preflight(self, request: web.BaseRequest) -> web.Response | None:
        """The answer to a browser that asks whether it may ask; None for other requests."""
        if request.method != "OPTIONS" or not self.allows(request.headers.get(hdrs.ORIGIN, "")):
            return None
        response = web.Response(status=204)
        requested = request.headers.get("Access-Control-Request-Headers", "")
        if _REQUESTED.fullmatch(requested):
            response.headers["Access-Control-Allow-Headers"] = f"{_HEADERS}, {requested}"
            response.headers.add("Vary", "Access-Control-Request-Headers")
        return response

    def tell(self, origin: str, headers: "CIMultiDict[str]") -> None:
        """Put on an answer what a page of that origin is to know."""
        if not self.allows(origin):
            return
        headers["Access-Control-Allow-Origin"] = origin
        headers["Access-Control-Allow-Methods"] = _METHODS
        headers.setdefault("Access-Control-Allow-Headers", _HEADERS)
        headers["Access-Control-Expose-Headers"] = _EXPOSED
        headers["Access-Control-Allow-Credentials"] = "true"
        headers.add("Vary", "Origin")


def _is_same(origin: str, request: web.BaseRequest) -> bool:
    """Whether a page came from this very server."""
    scheme, _, host = origin.partition("://")
    return scheme.lower() in _SCHEMES and host.lower() == request.host.lower()


def _is_local(origin: str) -> bool:
    """Whether a page came from this machine. An origin is a scheme and a host, nothing else."""
    scheme, mark, host = origin.partition("://")
    return mark != "" and scheme.lower() in _SCHEMES and is_loopback(host)
