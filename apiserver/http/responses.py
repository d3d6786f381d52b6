"""Responses: bytes, media types and warnings. Only this module encodes a StatusError for HTTP."""

from collections.abc import Collection
from typing import Any

import orjson
from aiohttp import web
from multidict import CIMultiDict

from inkube.apiserver.http import encodings
from inkube.apiserver.http.httpresponse import Body, BodyResponse, Head
from inkube.apiserver.http.negotiation import EVENTS, JSON, PROTOBUF, YAML, Form
from inkube.schemas import status, warningtexts
from inkube.schemas.builtin import protobuf
from inkube.schemas.status import StatusError

GZIP_FROM = (
    128 * 1024
)  # apiserver/pkg/endpoints/handlers/responsewriters: defaultGzipThresholdBytes
WATCH = f"{PROTOBUF};stream=watch"
_HEADS = {
    media: Head({"Content-Type": media, "Cache-Control": "no-cache, private"})
    for media in (JSON, YAML, PROTOBUF, WATCH)
}

PLAIN_TEXT = {
    "Content-Type": "text/plain; charset=utf-8",
    "Cache-Control": "no-cache, private",
    "X-Content-Type-Options": "nosniff",
}
"""The headers of texts that are no objects."""


def data(
    body: Body, *, code: int = 200, warnings: Collection[str] = (), media: str = JSON
) -> BodyResponse:
    """Return a response with encoded JSON, YAML or protobuf: bytes, or an iterator of pieces."""
    response = BodyResponse(body, _HEADS[media], code)
    if warnings:
        _warn(response.headers, warnings)
    return response


def stream(warnings: Collection[str] = (), media: str = JSON) -> web.StreamResponse:
    """Return the start of a stream of JSON documents, or of protobuf frames (`WATCH`)."""
    headers = _HEADS[media].headers.copy()
    _warn(headers, warnings)
    return web.StreamResponse(headers=headers)


def events(warnings: Collection[str] = ()) -> web.StreamResponse:
    """Return the start of a stream of Server-Sent Events, which proxies should not buffer."""
    headers = {"Content-Type": EVENTS, "Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    response = web.StreamResponse(headers=headers)
    _warn(response.headers, warnings)
    return response


def _warn(headers: "CIMultiDict[str]", warnings: Collection[str]) -> None:
    for warning in warningtexts.limited(warnings):
        headers.add("Warning", f"299 - {_quote(warning)}")


def render(
    value: Any, form: Form, *, code: int = 200, warnings: Collection[str] = ()
) -> BodyResponse:
    """Return a response with a JSON value in the requested form."""
    return data(body(value, form), code=code, warnings=warnings, media=form.media)


def body(value: Any, form: Form) -> bytes:
    """Return the bytes of a JSON value in the requested form."""
    if form.media == JSON:
        encoded = encode(value, pretty=form.pretty)
        # The encoder's buffer can be eight times as large as its content, and a long body stays
        # in memory until the client has read it.
        return encoded if len(encoded) < GZIP_FROM else bytes(memoryview(encoded))
    return (
        protobuf.envelopes.encode_envelope(value) if form.protobuf else encodings.yamls.write(value)
    )


def encode(value: Any, *, pretty: bool = False) -> bytes:
    """Return compact JSON with a line feed at its end, as Go's encoder does, or indented JSON
    without one."""
    option = orjson.OPT_INDENT_2 if pretty else orjson.OPT_APPEND_NEWLINE
    try:
        return orjson.dumps(value, option=option)
    except TypeError:  # bytes of a header that are not UTF-8 are lone surrogates in its text
        return orjson.dumps(_readable(value), option=option)


def _readable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_readable(key): _readable(member) for key, member in value.items()}
    return [_readable(item) for item in value] if isinstance(value, list) else value


def error(failure: StatusError, form: Form, warnings: Collection[str] = ()) -> BodyResponse:
    """Return a response with the Status of an error, or with its plain text."""
    if failure.plain:
        content = {name: PLAIN_TEXT[name] for name in ("Content-Type", "Cache-Control")}
        response = BodyResponse(failure.plain.encode(), CIMultiDict(content), failure.code)
    else:
        response = render(failure.body(), form, code=failure.code, warnings=warnings)
    if failure.headers:
        response.headers.update(failure.headers)
    return response


def plain_not_found() -> web.Response:
    """Return the response of the reference's outer mux to an unknown path."""
    return web.Response(text="404 page not found\n", status=404, headers=PLAIN_TEXT)


def unknown_path(*, plain: bool) -> web.Response:
    """Return the response to an unknown path in plain text. Raises StatusError 404 unless
    `plain`."""
    if not plain:
        raise status.resource_not_found()
    return plain_not_found()


def compress(response: BodyResponse, accept_encoding: str, *, smallest: int = GZIP_FROM) -> None:
    """Send a body of at least `smallest` bytes as gzip if the client accepts that."""
    body = response.body
    if not _accepts_gzip(accept_encoding) or (isinstance(body, bytes) and len(body) < smallest):
        return
    response.compressed = True
    response.headers["Content-Encoding"] = "gzip"
    response.headers["Vary"] = "Accept-Encoding"


def _accepts_gzip(accept_encoding: str) -> bool:
    """Return whether a client asks for gzip without a weight, as `negotiateContentEncoding` of
    apiserver/pkg/endpoints/handlers/responsewriters reads the header."""
    if accept_encoding == "gzip":
        return True
    return "gzip" in (token.strip(" \t") for token in accept_encoding.split(","))


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
