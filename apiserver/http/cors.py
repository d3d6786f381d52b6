"""CORS: the origins whose web pages can send requests and read responses.

Off unless origins are configured. In addition, a server without authentication refuses requests
from web pages of other machines, because browsers send some POSTs without a preflight request; the
header `Origin` shows the origin. Follows apiserver/pkg/server/filters/cors.go. Beyond it, a page of
an allowed origin can send every header that it requests, and read warnings and the Audit-Id.
"""

import re
from collections.abc import Sequence

from aiohttp import hdrs, web
from multidict import CIMultiDict

from inkube.apiserver.http.guards import is_loopback
from inkube.schemas import golang, status

_METHODS = "POST, GET, OPTIONS, PUT, DELETE, PATCH"
_HEADERS = (
    "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, "
    "X-Requested-With, If-Modified-Since"
)
_EXPOSED_HEADERS = "Date, Warning, Retry-After, Audit-Id"
"""Headers that a page can read, in addition to those that browsers always allow."""
_HEADER_NAMES = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+(?:, ?[A-Za-z0-9!#$%&'*+.^_`|~-]+)*")
"""A list of header names, as browsers send it."""
_ANY = "*"
_SCHEMES = frozenset({"http", "https"})


def _pattern(text: str) -> "golang.regexp.Pattern":
    """Follows apiserver/pkg/server/options/server_run_options.go, validateCorsAllowedOriginList."""
    begins = text.startswith("^") or "//" in text
    if not begins or not text.endswith(("$", ":", "$)", ":)")):
        raise ValueError(
            f"cors-allowed-origins: {text} must match the whole host: begin with '^' or with '//', "
            "and end with '$' or with ':', as in //example\\.com(:|$)"
        )
    try:
        return golang.regexp.compile(text)
    except golang.regexp.RegexError as error:
        raise ValueError(f"cors-allowed-origins: {text}: {error}") from error


def _matches(pattern: "golang.regexp.Pattern", origin: str) -> bool:
    try:
        return pattern.matches(origin)
    except golang.regexp.RegexError:
        return False  # longer than any origin


class Origins:
    """The allowed origins. With `protects`, requests of other origins are refused unless these are
    local."""

    def __init__(
        self, allowed: Sequence[str], patterns: Sequence[str] = (), *, protects: bool
    ) -> None:
        """`patterns` are regular expressions of Go for further origins. Raises ValueError for one
        that is invalid, or that does not determine the whole host."""
        self._allowed = frozenset(allowed)
        self._patterns = tuple(map(_pattern, patterns))
        self._protects = protects

    def __bool__(self) -> bool:
        return bool(self._allowed or self._patterns)

    def allows(self, origin: str) -> bool:
        """Return whether pages of an origin can read responses."""
        return (
            origin in self._allowed
            or (_ANY in self._allowed and bool(origin))
            or any(_matches(pattern, origin) for pattern in self._patterns)
        )

    def check(self, request: web.BaseRequest) -> None:
        """Refuse requests of foreign pages. Raises StatusError 403."""
        origin = request.headers.get(hdrs.ORIGIN)
        if origin is None or not self._protects or self.allows(origin):
            return
        if not _is_local(origin) and not _is_same_origin(origin, request):
            raise status.forbidden(
                "", "", "", f"pages of {origin!r} may not ask; see --allow-origin"
            )

    def preflight(self, request: web.BaseRequest) -> web.Response | None:
        """Return the response to a preflight request of an allowed origin, else None."""
        if request.method != "OPTIONS" or not self.allows(request.headers.get(hdrs.ORIGIN, "")):
            return None
        response = web.Response(status=204)
        requested = request.headers.get("Access-Control-Request-Headers", "")
        if _HEADER_NAMES.fullmatch(requested):
            response.headers["Access-Control-Allow-Headers"] = f"{_HEADERS}, {requested}"
            response.headers.add("Vary", "Access-Control-Request-Headers")
        return response

    def set_headers(self, origin: str, headers: "CIMultiDict[str]") -> None:
        """Add the headers of CORS to a response for a page of that origin, if it is allowed."""
        if not self.allows(origin):
            return
        headers["Access-Control-Allow-Origin"] = origin
        headers["Access-Control-Allow-Methods"] = _METHODS
        headers.setdefault("Access-Control-Allow-Headers", _HEADERS)
        headers["Access-Control-Expose-Headers"] = _EXPOSED_HEADERS
        headers["Access-Control-Allow-Credentials"] = "true"
        headers.add("Vary", "Origin")


class AddedHeaders:
    """The headers that a server adds to every response: those of CORS, and
    `Strict-Transport-Security` with these directives (apiserver/pkg/server/filters/hsts.go)."""

    def __init__(
        self, origins: Origins, strict_transport: Sequence[str] = (), warning: str = ""
    ) -> None:
        self._origins = origins
        self._strict_transport = "; ".join(strict_transport)
        self._warning = warning

    def with_warning(self, value: str) -> "AddedHeaders":
        """Return the same headers with a `Warning`, for the response to one request."""
        return AddedHeaders(self._origins, [self._strict_transport], value)

    def __bool__(self) -> bool:
        return bool(self._origins or self._strict_transport)

    def add_to(self, headers: "CIMultiDict[str]", origin: str) -> None:
        """Add the headers to those of a response for a page of that origin; "" without one."""
        if self._strict_transport:
            headers.setdefault("Strict-Transport-Security", self._strict_transport)
        if self._warning:
            headers.add("Warning", self._warning)
        self._origins.set_headers(origin, headers)


def _is_same_origin(origin: str, request: web.BaseRequest) -> bool:
    """Return whether a page's origin is this server."""
    scheme, _, host = origin.partition("://")
    return scheme.lower() in _SCHEMES and host.lower() == request.host.lower()


def _is_local(origin: str) -> bool:
    """Return whether a page's origin, a scheme and a host, is this machine."""
    scheme, mark, host = origin.partition("://")
    return mark != "" and scheme.lower() in _SCHEMES and is_loopback(host)
