"""Continue tokens: the key and the revision at which a list in pages continues.

They are base64url of JSON `{"v":"meta.k8s.io/v1","rv":REVISION,"start":KEY}`, in the format of
apiserver/pkg/storage (continue.go), so that tokens made by hand behave as they do there.
"""

import base64
import posixpath
import re
from typing import Any

import orjson

from inkube.schemas import status
from inkube.schemas.golang import gojson

_VERSION = "meta.k8s.io/v1"
_NOT_VALID = "continue key is not valid"
_FOREIGN = re.compile(r"[^A-Za-z0-9_\-\r\n]")
_GO_KINDS = {str: "string", bool: "bool", list: "array", dict: "object"}


TOO_OLD_TOKEN = (
    "The provided continue parameter is too old to display a consistent list result. You can "
    "start a new list without the continue parameter, or use the continue token in this response "
    "to retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)
TOO_OLD = "The resourceVersion for the provided list is too old."


def encode(start: str, revision: int) -> str:
    """Return a token that continues after the key `start`. Revision -1 means an inconsistent
    continuation."""
    document = {"v": _VERSION, "rv": revision, "start": start + "\0"}
    return base64.urlsafe_b64encode(orjson.dumps(document)).decode().rstrip("=")


def decode(token: str) -> tuple[str, int]:
    """Return the key to continue after, relative to the list's prefix, and the revision.

    Raises StatusError 400.
    """
    document = _document(token)
    version = document.get("v", "")
    if version != _VERSION:
        raise _invalid_token(f"server does not recognize this encoded version {version}")
    revision, start = document.get("rv", 0), document.get("start", "")
    if revision == 0:
        raise _invalid_token(f"incorrect encoded start resourceVersion (version {_VERSION})")
    if not start:
        raise _invalid_token(f"encoded start key empty (version {_VERSION})")
    key = start if start.startswith("/") else f"/{start}"
    # a key that leaves its prefix would read other kinds' objects
    if posixpath.normpath(key) != key or key.startswith("//"):
        raise _invalid_token(start)
    return key[1:].removesuffix("\0"), revision


def expired(token: str, after: str) -> status.StatusError:
    """Return the error 410 for a list whose revision was compacted. For a list that continues, it
    contains a token for an inconsistent continuation after the key `after`."""
    if not token:
        return status.expired(TOO_OLD)
    error = status.expired(TOO_OLD_TOKEN)
    error.metadata = {"continue": encode(after, -1)}
    return error


def _document(token: str) -> dict[str, Any]:
    data = _bytes(token)
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise _invalid_token(gojson.syntax_error(data)) from error
    if not isinstance(document, dict):
        kind = _GO_KINDS.get(type(document), "number")
        if document is None:
            return {}
        raise _invalid_token(
            f"json: cannot unmarshal {kind} into Go value of type storage.continueToken"
        )
    for name, type_, go in (("v", str, "string"), ("rv", int, "int64"), ("start", str, "string")):
        value = document.get(name, type_())
        if not isinstance(value, type_) or isinstance(value, bool):
            kind = _GO_KINDS.get(type(value), "number")
            raise _invalid_token(
                f"json: cannot unmarshal {kind} into Go struct field continueToken.{name} "
                f"of type {go}"
            )
    return document


def _bytes(token: str) -> bytes:
    foreign = _FOREIGN.search(token)
    if foreign is not None:
        raise _invalid_token(f"illegal base64 data at input byte {foreign.start()}")
    plain = token.replace("\r", "").replace("\n", "")
    if len(plain) % 4 == 1:
        raise _invalid_token(f"illegal base64 data at input byte {len(token) - 1}")
    return base64.urlsafe_b64decode(plain + "=" * (-len(plain) % 4))


def _invalid_token(message: str) -> status.StatusError:
    return status.bad_request(f"invalid continue token: {_NOT_VALID}: {message}")
