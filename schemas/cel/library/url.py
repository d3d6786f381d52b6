"""URLs: url, isURL and the parts of a URL. Upstream: apiserver pkg/cel/library/urls.go."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.functions import EvalError, Overload
from inkube.schemas.cel.declarations.types import BOOL, LIST_STRING, STRING, Type, map_of
from inkube.schemas.cel.library import costs
from inkube.schemas.cel.library.overloads import folded
from inkube.schemas.golang import gourl


@dataclass(frozen=True, slots=True)
class UrlValue:
    """A URL in an expression; equal when written alike."""

    cel_type: ClassVar[Type] = types.URL
    url: gourl.URL


def parse(text: str) -> UrlValue:
    """An absolute URL or an absolute path. Raises EvalError."""
    try:
        gourl.parse_request_uri(text)
        return UrlValue(gourl.parse(text))
    except ValueError as error:
        raise EvalError(f"URL parse error during conversion from string: {error}") from None


def is_url(text: str) -> bool:
    """Whether `parse` would read it."""
    try:
        gourl.parse_request_uri(text)
    except ValueError:
        return False
    return True


def _part(function: str, id: str, get: Callable[[gourl.URL], Any], result: Type) -> Overload:
    return Overload(
        function,
        id,
        (types.URL,),
        result,
        lambda value: get(value.url),
        receiver=True,
        fails=False,
    )


OVERLOADS: Final[tuple[Overload, ...]] = (
    Overload(
        "url",
        "string_to_url",
        (STRING,),
        types.URL,
        parse,
        cost=costs.per_size(),
        estimate=costs.sized(keeps_size=True),
        specialise=folded(parse),
    ),
    Overload("isURL", "is_url_string", (STRING,), BOOL, is_url, fails=False),
    _part("getScheme", "url_get_scheme", lambda url: url.scheme, STRING),
    _part("getHost", "url_get_host", lambda url: url.host, STRING),
    _part("getHostname", "url_get_hostname", lambda url: url.hostname, STRING),
    _part("getPort", "url_get_port", lambda url: url.port, STRING),
    _part("getEscapedPath", "url_get_escaped_path", lambda url: url.escaped_path, STRING),
    _part("getQuery", "url_get_query", gourl.URL.values, map_of(STRING, LIST_STRING)),
)
