"""OpenAPI over HTTP: the index of version 3, a document per group-version, version 2 merged.

Nothing is built before it is asked for. The index names each document by a hash of what it is
made from, so that it needs none of them; a document is kept until its kinds change. Follows
kube-openapi/pkg/handler3 and handler.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import orjson
from aiohttp import web

from inkube.apiserver.http import negotiation
from inkube.apiserver.http.requests import RequestInfo
from inkube.apiserver.registry.calls import User
from inkube.apiserver.registry.resources import Resources
from inkube.schemas import status
from inkube.schemas.definitions import Definition, Origin
from inkube.schemas.openapi import proto, v3
from inkube.schemas.versions import preference

Object = dict[str, Any]
Key = tuple[str, str]
_YEAR = 365 * 24 * 3600
_ROOT_V3 = ["openapi", "v3"]


class _Document:
    """One group-version: its kinds, the hash of what they say, its bytes once asked for."""

    def __init__(self, definitions: Sequence[Definition], version: str) -> None:
        self.definitions = definitions
        self._version = version
        self.hash = _hash(definitions, version)
        self._body: bytes | None = None

    def value(self) -> Object:
        """The document itself."""
        return v3.document(self.definitions, self._version)

    @property
    def body(self) -> bytes:
        """The document as JSON."""
        if self._body is None:
            self._body = orjson.dumps(self.value())
        return self._body


class OpenAPI:
    """Serves `/openapi/v2` and `/openapi/v3…`."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._revision = -1
        self._documents: dict[Key, _Document] = {}
        self._index = b""
        self._merged: dict[str, tuple[bytes, str]] = {}

    async def __call__(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """Answer what lies below `/openapi`."""
        parts = [part for part in info.path.split("/") if part]
        self._refresh()
        if parts == _ROOT_V3:
            return _answer(request, self._index, _digest(self._index))
        if parts == ["openapi", "v2"]:
            return self._version_2(request)
        document = self._documents.get(_key(parts[2:])) if parts[:2] == _ROOT_V3 else None
        if document is None:
            return web.Response(status=404)
        return _version_3(request, info, document)

    def _refresh(self) -> None:
        """Follow the table of resources; documents whose kinds are the same stay."""
        if self._revision == self._resources.revision:
            return
        kinds: dict[Key, list[Definition]] = {}
        for resource in sorted(self._resources, key=lambda r: (r.group, r.plural)):
            for version in resource.definition.served():
                kinds.setdefault((resource.group, version.name), []).append(resource.definition)
        known, self._documents = self._documents, {}
        for key in sorted(kinds, key=lambda key: (key[0], preference(key[1]))):
            old = known.get(key)
            if old is None or list(old.definitions) != kinds[key]:
                old = _Document(kinds[key], key[1])
            self._documents[key] = old
        self._index = orjson.dumps({"paths": self._paths()})
        self._merged.clear()
        self._revision = self._resources.revision

    def _paths(self) -> Object:
        paths = {}
        for key, document in self._documents.items():
            path = _path(key)
            url = f"/openapi/v3/{path}?hash={document.hash}"
            paths[path] = {"serverRelativeURL": url}
        return paths

    def _version_2(self, request: web.BaseRequest) -> web.StreamResponse:
        media = _media_v2(request.headers.get("Accept") or "")
        if media not in self._merged:
            merged = v3.merged(each.value() for each in self._documents.values())
            body = orjson.dumps(merged) if media == negotiation.JSON else proto.encode(merged)
            self._merged[media] = body, _digest(body)
        body, digest = self._merged[media]
        return _answer(request, body, digest, media=media)


def _version_3(
    request: web.BaseRequest, info: RequestInfo, document: _Document
) -> web.StreamResponse:
    """A document; asked for by its hash it may be cached for ever."""
    asked = request.rel_url.query.get("hash", "")
    if asked and asked != document.hash:
        return web.Response(status=301, headers={"Location": f"{info.path}?hash={document.hash}"})
    return _answer(request, document.body, document.hash, forever=bool(asked))


def _answer(
    request: web.BaseRequest,
    body: bytes,
    digest: str,
    *,
    forever: bool = False,
    media: str = negotiation.JSON,
) -> web.StreamResponse:
    control = f"public, immutable, max-age={_YEAR}" if forever else "no-cache, private"
    etag = f'"{digest}"'
    headers = {"ETag": etag, "Vary": "Accept", "Cache-Control": control}
    if request.headers.get("If-None-Match") == etag:
        return web.Response(status=304, headers=headers)
    return web.Response(body=body, headers={**headers, "Content-Type": media})


def _key(parts: Sequence[str]) -> Key:
    """`api/v1` or `apis/GROUP/VERSION` as group and version."""
    if len(parts) == 2 and parts[0] == "api":
        return "", parts[1]
    return (parts[1], parts[2]) if len(parts) == 3 and parts[0] == "apis" else ("", "")


def _path(key: Key) -> str:
    group, version = key
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _media_v2(accept: str) -> str:
    """JSON, or the protocol buffer that kubectl asks for. Raises StatusError 406."""
    for clause in negotiation.clauses(accept or "*/*"):
        if clause.media in ("*/*", "application/*", negotiation.JSON):
            return negotiation.JSON
        if clause.media in proto.MEDIA_TYPES:
            return proto.MEDIA_TYPES[-1]
    raise status.not_acceptable(
        "only the following media types are accepted: "
        f"{', '.join((negotiation.JSON, *proto.MEDIA_TYPES))}"
    )


def _hash(definitions: Sequence[Definition], version: str) -> str:
    """Identifies what a document is made from. Built-in kinds change with the release only."""
    digest = hashlib.sha512()
    for definition in definitions:
        served = definition.version(version)
        assert served is not None, "grouped by served versions"
        custom = definition.origin is not Origin.BUILTIN
        parts = (
            definition.group, version, definition.names, definition.namespaced,
            definition.verbs, served.status, served.scale,
        )  # fmt: skip
        digest.update(repr(parts).encode())
        if custom:
            digest.update(orjson.dumps(served.schema))
    return digest.hexdigest().upper()


def _digest(body: bytes) -> str:
    return hashlib.sha512(body).hexdigest().upper()
