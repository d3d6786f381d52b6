"""OpenAPI over HTTP: the index of version 3, a document for each group version, and version 2
merged.

A document is built at its first request, in a thread. The index identifies each document by a hash
of its sources, so it does not need the documents. A document is kept until its kinds change.
Follows kube-openapi/pkg/handler3 and handler.
"""

import asyncio
import hashlib
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import fields
from functools import partial

import orjson
from aiohttp import hdrs, web
from multidict import CIMultiDict

from inkube.apiserver.http import BodyResponse, RequestInfo, negotiation
from inkube.apiserver.registry import HEAVY, Delegate, PlainEngine, Resources, User
from inkube.schemas import status, wordings
from inkube.schemas.definitions import Definition
from inkube.schemas.objects import Object
from inkube.schemas.openapi import aggregated, proto, v3
from inkube.schemas.versions import preference

Key = tuple[str, str]
_YEAR = 365 * 24 * 3600
_ROOT_V3 = ["openapi", "v3"]


class _Document:
    """One document: its sources, their hash, and its bytes after the first request."""

    def __init__(
        self,
        path: str,
        source: Hashable,
        digest: str,
        build: Callable[[], Object],
        write: Callable[[], bytes] | None = None,
    ) -> None:
        self.path = path
        self.source = source
        self.hash = digest
        self.value = build
        self._write = write or (lambda: orjson.dumps(build()))
        self._body: bytes | None = None

    @property
    def is_built(self) -> bool:
        """Whether `body` is already built."""
        return self._body is not None

    @property
    def body(self) -> bytes:
        """The document as JSON."""
        if self._body is None:
            self._body = self._write()
        return self._body


class OpenAPI:
    """Serves `/openapi/v2` and `/openapi/v3…`.

    `own_documents` are documents of version 3, by path, for paths that kube-apiserver does not
    have. The index omits them, because clients of kube-apiserver read it.
    """

    def __init__(
        self,
        resources: Resources,
        engine: PlainEngine,
        minor: int,
        own_documents: Mapping[str, Callable[[], Object]],
    ) -> None:
        self._own_documents = {
            path: _Document(path, path, _digest(path.encode()), build)
            for path, build in own_documents.items()
        }
        self._minor = minor
        self._resources = resources
        self._engine = engine
        self._merge_lock = asyncio.Lock()
        self._revision = -1
        self._documents: dict[str, _Document] = {}
        """The documents, by their path below `/openapi/v3`."""
        self._parts = v3.PerVersion[v3.Part]()
        self._hashes = v3.PerVersion[bytes]()
        """The hashes of the sources of the parts."""
        self._index = b""
        self._version_2_bodies: dict[str, tuple[bytes, str]] = {}

    async def __call__(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """Respond to a request below `/openapi`."""
        parts = [part for part in info.path.split("/") if part]
        path = "/".join(parts[2:]) if parts[:2] == _ROOT_V3 else ""
        if parts == ["openapi", "v2"] or self._resources.is_deferred(_group(path)):
            await self._resources.loaded()  # only the index needs no schema
        await self._refresh()
        if parts == _ROOT_V3:
            return _response(request, self._index, _digest(self._index))
        if parts == ["openapi", "v2"]:
            return await self._version_2(request)
        delegate = self._delegate(path)
        if delegate is not None:
            response: web.StreamResponse = await delegate(request, info, user)
            return response
        document = self._documents.get(path) or self._own_documents.get(path)
        if document is None:
            return web.Response(status=404)
        if not document.is_built:
            await self._engine.run(HEAVY, getattr, document, "body")
        return _version_3(request, info, document)

    async def _refresh(self) -> None:
        """Update the documents after a change of the table of served kinds. Documents with the same
        kinds stay."""
        definitions = await self._resources.definitions()
        if self._revision == self._resources.revision:
            return
        kinds: dict[Key, list[Definition]] = {}
        for definition in sorted(definitions, key=lambda each: (each.group, each.names.plural)):
            for version in definition.served():
                kinds.setdefault((definition.group, version.name), []).append(definition)
        previous, self._documents = self._documents, {}
        for document in (*self._of_versions(kinds), *_of_groups(kinds), *_of_roots(self._minor)):
            path = document.path
            old = previous.get(path)
            is_unchanged = old is not None and old.source == document.source
            self._documents[path] = old if old is not None and is_unchanged else document
        self._documents = dict(sorted(self._documents.items()))
        self._index = orjson.dumps({"paths": self._paths()})
        self._version_2_bodies.clear()
        self._revision = self._resources.revision

    def _of_versions(self, kinds: dict[Key, list[Definition]]) -> Iterator[_Document]:
        for key in sorted(kinds, key=lambda key: (key[0], preference(key[1]))):
            definitions, version = tuple(kinds[key]), key[1]
            build = partial(v3.document, definitions, version)
            write = partial(v3.text, definitions, version, self._parts)
            hashes = [
                self._hashes.of(each, version, partial(_hash, each, version))
                for each in definitions
            ]
            yield _Document(_path(key), definitions, _digest(b"".join(hashes)), build, write)

    def _paths(self) -> Object:
        urls = {
            path: f"/openapi/v3/{path}?hash={document.hash}"
            for path, document in self._documents.items()
        }
        for delegate in self._resources.delegates.values():
            urls |= delegate.openapi_paths()
        return {path: {"serverRelativeURL": urls[path]} for path in sorted(urls)}

    def _delegate(self, path: str) -> Delegate | None:
        """Return the other server with the document at that path, or None."""
        for delegate in self._resources.delegates.values():
            if path in delegate.openapi_paths():
                return delegate
        return None

    async def _version_2(self, request: web.BaseRequest) -> web.StreamResponse:
        media = _media_v2(request.headers.get(hdrs.ACCEPT) or "")
        async with self._merge_lock:  # concurrent requests for the same document wait for it
            await self._refresh()
            if media in self._version_2_bodies:
                body, digest = self._version_2_bodies[media]
            else:
                revision = self._revision
                body, digest = await self._build_version_2(media)
                if revision == self._revision:
                    self._version_2_bodies[media] = body, digest
        return _response(request, body, digest, media=media)

    async def _build_version_2(self, media: str) -> tuple[bytes, str]:
        others = [await each.openapi_v2() for each in tuple(self._resources.delegates.values())]
        documents = tuple(self._documents.values())

        def build() -> tuple[bytes, str]:
            merged = v3.merged(each.value() for each in documents)
            for other in others:
                if other is not None:
                    merged = aggregated.join(merged, other)
            body = orjson.dumps(merged) if media == negotiation.JSON else proto.encode(merged)
            return body, _digest(body)

        return await self._engine.run(HEAVY, build)


def _version_3(
    request: web.BaseRequest, info: RequestInfo, document: _Document
) -> web.StreamResponse:
    """Return a document. A request with its hash in the query can be cached without a time
    limit."""
    requested_hash = info.query.get("hash", "")
    if requested_hash and requested_hash != document.hash:
        return web.Response(status=301, headers={"Location": f"{info.path}?hash={document.hash}"})
    return _response(request, document.body, document.hash, forever=bool(requested_hash))


def _response(
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
    return BodyResponse(body, CIMultiDict({**headers, "Content-Type": media}))


def _of_groups(kinds: dict[Key, list[Definition]]) -> Iterator[_Document]:
    """Yield the documents of groups. Groups of custom resources have none of their own."""
    seen = set()
    for (group, _), definitions in kinds.items():
        if group and group not in seen and wordings.of(definitions[0]).documents_groups:
            seen.add(group)
            build = partial(v3.group_document, definitions[0])
            yield _Document(f"apis/{group}", group, _digest(group.encode()), build)


def _of_roots(minor: int) -> Iterator[_Document]:
    for path in v3.ROOTS:
        yield _Document(path, path, _digest(path.encode()), partial(_root, path, minor))


def _root(path: str, minor: int) -> Object:
    return v3.root_documents(minor)[path]


def _group(path: str) -> str:
    """Return the group of a document's path, or "" for the core group and for paths without a
    group."""
    root, _, rest = path.partition("/")
    return rest.partition("/")[0] if root == "apis" else ""


def _path(key: Key) -> str:
    group, version = key
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _media_v2(accept: str) -> str:
    """Return JSON, or the protocol buffer that kubectl requests. Raises StatusError 406."""
    for clause in negotiation.clauses(accept or "*/*"):
        if clause.media in ("*/*", "application/*", negotiation.JSON):
            return negotiation.JSON
        if clause.media in proto.MEDIA_TYPES:
            return proto.MEDIA_TYPES[-1]
    raise status.not_acceptable(
        "only the following media types are accepted: "
        f"{', '.join((negotiation.JSON, *proto.MEDIA_TYPES))}"
    )


def _hash(definition: Definition, version: str) -> bytes:
    """Return a hash of the sources of a kind's part of a document. Built-in kinds change only with
    the release."""
    served = definition.version(version)
    assert served is not None, "grouped by served versions"
    values = (getattr(definition, name) for name in _FACTS)
    facts = [value for value in values if not callable(value)]
    version_facts = version, served.subresources, served.selectable_fields
    digest = hashlib.sha512(repr((facts, version_facts)).encode())
    if not wordings.of(definition).has_types:
        digest.update(orjson.dumps(served.schema))
    return digest.digest()


_FACTS = [each.name for each in fields(Definition) if each.name not in ("versions", "webhook")]


def _digest(body: bytes) -> str:
    return hashlib.sha512(body).hexdigest().upper()
