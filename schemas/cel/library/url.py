"""URLs: url, isURL and the parts of a URL. Upstream: apiserver pkg/cel/library/urls.go."""

from dataclasses import dataclass
from typing import ClassVar, Final

from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.functions import EvalError, Overload
from inkube.schemas.cel.declarations.types import BOOL, LIST_STRING, STRING, Type, map_of
from inkube.schemas.cel.library.overloads import method, reader, reads
from inkube.schemas.golang import gourl


@dataclass(frozen=True, slots=True)
class UrlValue:
    """A URL in an expression. URLs are equal if their texts are equal."""

    cel_type: ClassVar[Type] = types.URL
    url: gourl.URL


def parse(text: str) -> UrlValue:
    """Return an absolute URL or an absolute path. Raises EvalError."""
    try:
        gourl.parse_request_uri(text)
        return UrlValue(gourl.parse(text))
    except ValueError as error:
        raise EvalError(f"URL parse error during conversion from string: {error}") from None


_URL: Final = (types.URL,)
OVERLOADS: Final[tuple[Overload, ...]] = (
    reader("url", "string_to_url", types.URL, parse, keeps_size=True),
    Overload(
        "isURL", "is_url_string", (STRING,), BOOL, reads(gourl.parse_request_uri), fails=False
    ),
    method("getScheme", "url_get_scheme", _URL, STRING, lambda value: value.url.scheme),
    method("getHost", "url_get_host", _URL, STRING, lambda value: value.url.host),
    method("getHostname", "url_get_hostname", _URL, STRING, lambda value: value.url.hostname),
    method("getPort", "url_get_port", _URL, STRING, lambda value: value.url.port),
    method(
        "getEscapedPath", "url_get_escaped_path", _URL, STRING,
        lambda value: value.url.escaped_path,
    ),
    method(
        "getQuery", "url_get_query", _URL, map_of(STRING, LIST_STRING),
        lambda value: value.url.values(),
    ),
)  # fmt: skip
