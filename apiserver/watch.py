"""The watch stream: changes of a prefix, selected, framed once, written as they come."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import orjson
from aiohttp import web

from inkube.apiserver import listing, responses
from inkube.apiserver.calls import Call
from inkube.apiserver.handlers import Exchange
from inkube.apiserver.listing import ListOptions, Matcher
from inkube.apiserver.registry import Registry
from inkube.apiserver.rendering import data_of
from inkube.schemas import status, strconv
from inkube.schemas.gotext import quote
from inkube.storage import errors as storage_errors
from inkube.storage.entry import Change, Entry

Object = dict[str, Any]
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class Watcher:
    """One watch request: from its options to its frames."""

    def __init__(self, registry: Registry, call: Call, options: ListOptions) -> None:
        self._registry = registry
        self._call = call
        self._options = options
        self._matches = listing.matcher(call, options)
        self._prefix = call.resource.key(call.namespace, "")

    async def frames(self) -> AsyncIterator[bytes]:
        """Frames until the client leaves, the time is over or the watcher is cut off."""
        start, initial = self._start()
        try:
            subscription = self._registry.store.subscribe(self._prefix, start)
        except storage_errors.Compacted:
            yield self.error_frame(status.expired(f"too old resource version: {start}"))
            return
        async with subscription:
            if initial:
                yield b"".join(map(self._added, initial))
            if self._wants_end():
                yield self._bookmark(start, end=True)
            try:
                async for change in subscription:
                    frame = self.frame(change)
                    if frame:
                        yield frame
            except storage_errors.SlowConsumer:
                yield self.error_frame(status.expired("the watcher was too slow; resume"))

    def _start(self) -> tuple[int, list[Entry]]:
        store, options = self._registry.store, self._options
        version = options.resource_version
        fresh = version in ("", "0")
        if options.initial_events or (fresh and options.initial_events is None):
            entries = [e for e in store.list(self._prefix) if self._selected(e)]
            return store.revision, entries
        return (store.revision if fresh else watch_version(version)), []

    def _selected(self, entry: Entry) -> bool:
        return self._matches is None or self._matches(self._call.resource.current(entry))

    def _wants_end(self) -> bool:
        options = self._options
        if not options.bookmarks:
            return False
        return bool(options.initial_events) or (
            options.initial_events is None and options.resource_version == ""
        )

    def frame(self, change: Change) -> bytes:
        """One change as this watcher sees it; empty when it does not concern it."""
        kind = transition(self._matches, change)
        if not kind:
            return b""
        entry = change.entry
        if kind == "DELETED" and change.type != "DELETED":
            assert change.previous is not None, "a transition to DELETED has a previous state"
            value = {**change.previous.value}
            value["metadata"] = {**value["metadata"], "resourceVersion": str(entry.revision)}
            return frame(kind, orjson.dumps(value))
        return frame(kind, data_of(self._call, entry))

    def _added(self, entry: Entry) -> bytes:
        return frame("ADDED", data_of(self._call, entry))

    def _bookmark(self, revision: int, *, end: bool = False) -> bytes:
        meta: Object = {"creationTimestamp": None, "resourceVersion": str(revision)}
        if end:
            meta["annotations"] = {INITIAL_EVENTS_END: "true"}
        served = self._call.served
        body = {"kind": served.kind, "apiVersion": served.api_version, "metadata": meta}
        return frame("BOOKMARK", orjson.dumps(body))

    def error_frame(self, error: status.StatusError) -> bytes:
        """An ERROR event; the stream ends after it."""
        return frame("ERROR", orjson.dumps(error.body()))


def transition(matches: Matcher | None, change: Change) -> str:
    """How a change looks through a selector: "" when neither state matches."""
    if matches is None:
        return change.type
    now = change.type != "DELETED" and matches(change.entry.value)
    before = change.previous is not None and matches(change.previous.value)
    if now:
        return "MODIFIED" if before else "ADDED"
    return "DELETED" if before else ""


def frame(kind: str, data: bytes) -> bytes:
    """One line of the stream."""
    return b'{"type":"' + kind.encode() + b'","object":' + data.rstrip(b"\n") + b"}\n"


def watch_version(text: str) -> int:
    """The version to watch from. Raises StatusError 500 as upstream."""
    try:
        return strconv.parse_uint(text)
    except ValueError as error:
        raise status.unknown(f"resourceVersion: Invalid value: {quote(text)}: {error}") from error


async def serve(registry: Registry, exchange: Exchange) -> web.StreamResponse:
    """Answer a watch request; returns when the stream is over."""
    call = exchange.call
    options = listing.read_options(exchange.query, call)
    watcher = Watcher(registry, call, options)
    if options.resource_version not in ("", "0"):
        watch_version(options.resource_version)
    response = responses.stream(call.warnings)
    response.enable_chunked_encoding()
    await response.prepare(exchange.request)
    try:
        async with asyncio.timeout(options.timeout or None):
            async for data in watcher.frames():
                await response.write(data)
    except TimeoutError:
        pass
    except ConnectionError:
        return response
    await response.write_eof()
    return response
