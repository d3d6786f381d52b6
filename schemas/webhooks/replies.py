"""The HTTP response of a webhook before it is decoded as a review, with client-go's error texts.

Follows client-go/rest/request.go (transformResponse, Into) and NewGenericServerResponse.
"""

from typing import Any

import orjson

from inkube.schemas import bodies
from inkube.schemas.golang import DecodeError, gojson, gotext
from inkube.schemas.objects import Object
from inkube.schemas.webhooks.review import GROUP, KIND

Kind = tuple[str, str]
ADMISSION: Kind = (GROUP, KIND)
_SCHEME = 'in scheme "k8s.io/apiserver/pkg/util/webhook/client.go:71"'
_TEXTS = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: (
        "the server was unable to return a response in the time allotted, but may still be "
        "processing the request"
    ),
}

_LONGEST_TEXT = 2048  # bytes of a response that is no object


class ReplyError(Exception):
    """A response that is not a review."""


def document(
    code: int, body: bytes, *, content_type: str, version: str, kind: Kind = ADMISSION
) -> Object:
    """Return the review in the response to a review of `version`. Raises ReplyError."""
    if not 200 <= code <= 206:
        raise ReplyError(failure(code, body, content_type))
    if not body:
        raise ReplyError(
            f"0-length response with status code: {code} and content type: {content_type}"
        )
    try:
        found: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        if body.lstrip().startswith(b"{"):
            why = gojson.syntax_error(body)
            raise ReplyError(f"couldn't get version/kind; json parse error: {why}") from None
        found = body.decode(errors="replace")  # as YAML, the text is a string
    try:
        bodies.check_type_meta(found)
    except DecodeError as error:
        raise ReplyError(error.text) from error
    review: Object = found or {}
    _check_kind(review, version, kind)
    return review


def _check_kind(actual: Object, version: str, expected: Kind) -> None:
    """Check apiVersion and kind. Missing ones are those of the expected kind."""
    api_version = actual.get("apiVersion") or f"{expected[0]}/{version}"
    kind = actual.get("kind") or expected[1]
    if kind != expected[1] or api_version not in (
        f"{expected[0]}/v1",
        f"{expected[0]}/v1beta1",
    ):
        raise ReplyError(
            f"no kind {gotext.quote(str(kind))} is registered for version "
            f"{gotext.quote(str(api_version))} {_SCHEME}"
        )
    given = api_version.rpartition("/")[2]
    if given != version:
        raise ReplyError(f"converting ({given}.{kind}) to ({version}.{kind}): unknown conversion")


def failure(code: int, body: bytes, content_type: str) -> str:
    """Return the text for a response with the code of an error."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        document = None
    if isinstance(document, dict) and document.get("kind") == "Status" and document.get("message"):
        return str(document["message"])
    if code in _TEXTS:
        return _TEXTS[code]
    is_text = not content_type or content_type.startswith("text/")
    text = body[:_LONGEST_TEXT].decode(errors="replace").strip() if is_text else "unknown"
    if code in (403, 406, 415):
        return text
    if code >= 500:
        shown = gotext.quote(text)
        return f"an error on the server ({shown}) has prevented the request from succeeding"
    return f"the server responded with the status code {code} but did not return more information"
