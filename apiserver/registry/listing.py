"""Lists: ListOptions, selectors, pages at one revision. Follows apiserver/pkg/storage/cacher."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from inkube.apiserver.registry import continuation, conversions, versions
from inkube.apiserver.registry.registry import Registry
from inkube.apiserver.registry.requests import ListOptions, Request
from inkube.apiserver.registry.selections import Matcher, matcher, work
from inkube.schemas import selectors, status
from inkube.schemas.objects import Object
from inkube.storage import Entry, Store
from inkube.storage import Page as StoredPage
from inkube.storage import errors as storage_errors

# The work of objects that are tested in a row before the event loop serves other requests: at most
# 10 ms.
SLICE = 2_000


class Page(NamedTuple):
    """The result of a list. `remaining` is None if the response does not contain it."""

    entries: Sequence[Entry]
    revision: int
    token: str = ""
    remaining: int | None = None

    def metadata(self, request: Request) -> Object:
        """Return the ListMeta, in which custom resources include an empty continue."""
        meta: Object = {}
        if self.token or request.resource.wording.writes_empty_continue:
            meta["continue"] = self.token
        if self.remaining is not None:
            meta["remainingItemCount"] = self.remaining
        meta["resourceVersion"] = str(self.revision)
        return meta


def single_name(request: Request, options: ListOptions) -> str:
    """Return the only name that can match, if one key can contain it: a look-up replaces the scan.
    Else return ""."""
    if request.name or (request.resource.namespaced and not request.namespace):
        return request.name
    return selectors.selected_name(options.fields) if options.fields else ""


async def shown(
    registry: Registry, request: Request, entries: Sequence[Entry], *, of_log: bool = False
) -> Sequence[Entry]:
    """Return the entries in the request's version, as `Registry.shown`. Raises StatusError 500, or
    429 for a read that the reference serves from its cache, not `of_log`
    (`conversions.not_ready`)."""
    try:
        return await registry.shown(request, entries)
    except status.StatusError as error:
        if of_log:
            raise
        raise conversions.not_ready(request.resource, request.served, entries, error) from error


async def find(
    registry: Registry, request: Request, options: ListOptions, *, in_pages: bool = False
) -> Page:
    """Return the page that the options request. Raises StatusError. `in_pages`: the reference reads
    the list in pages, also without a limit."""
    store, prefix = registry.store, request.resource.key(request.namespace, "")
    for key in store.damaged(prefix):
        request.warn(f"{key} is damaged and left out")
    matches = matcher(request, options)
    name = single_name(request, options)
    # pages of all objects come from etcd, others from the cache (storage/cacher/delegator.go)
    is_uncached = request.resource.definition.is_uncached
    of_log = (options.limit > 0 or in_pages) and not options.labels and not options.fields
    if options.resource_version == "0" and not is_uncached:
        options = options._replace(limit=0)  # cacher.go, computeListLimit
    pages = options.limit > 0 and not (name and not options.resource_version)
    if options.token or pages or options.match == "Exact":
        return await _page(registry, request, options, matches, of_log=of_log)
    if options.resource_version or not store.is_recent:
        await versions.settle(store, options.resource_version, versions.of_list, of_log=is_uncached)
    if name:
        entry = store.get(request.resource.key(request.namespace, name))
        entries: Sequence[Entry] = () if entry is None else (entry,)
    else:
        found = None
        if matches is not None:
            found = registry.selections.candidates(request, options.labels, options.fields)
        entries = store.list(prefix) if found is None else found
    revision = store.revision
    if request.resource.is_view:
        entries, matches = _selected_stored(entries, matches), None
    if request.resource.converter is not None:
        entries = await shown(registry, request, entries, of_log=of_log)
    if matches is not None:
        entries = await selected(entries, matches)
    return Page(entries, revision)


async def past(registry: Registry, request: Request, changes: int) -> Entry:
    """Return the object as it was `changes` changes ago. Raises StatusError 404."""
    store = registry.store
    found = await store.page(request.key, revision=store.before(request.key, changes))
    if not found.entries:
        raise status.not_found(request.resource.group, request.resource.plural, request.name)
    return found.entries[0]


async def _page(
    registry: Registry,
    request: Request,
    options: ListOptions,
    matches: Matcher | None,
    *,
    of_log: bool,
) -> Page:
    """Return at most `limit` matching entries at one revision, after the token's key. Reads no more
    slices than it needs for them."""
    store, prefix = registry.store, request.resource.key(request.namespace, "")
    is_uncached = request.resource.definition.is_uncached
    after, revision = await _start_of(options, store, of_log=is_uncached)
    page, limit, done = list[Entry](), options.limit, 0
    found = None
    if matches is not None and revision == store.revision:
        found = registry.selections.candidates(request, options.labels, options.fields)
    while True:
        size = SLICE if limit <= 0 or matches is not None else limit
        if found is not None:
            read = StoredPage([each for each in found if each.key > prefix + after], 0, revision)
        else:
            read = await _read(store, prefix, revision, after=after, size=size, token=options.token)
        left, stored = read.remaining, read.entries
        if request.resource.is_view:
            stored = _selected_stored(stored, matches)
            if limit > 0:  # do not convert entries beyond the page
                left += max(0, len(stored) - (limit - len(page)))
                stored = stored[: limit - len(page)]
        entries = stored
        if request.resource.converter is not None:
            entries = await shown(registry, request, stored, of_log=of_log)
        if matches is None and not page and len(entries) == limit:  # use the list without a copy
            return _end_of_page(entries, prefix, revision, left)
        for seen, entry in enumerate(entries, 1):
            done += work(entry.data)
            if done > SLICE:
                await asyncio.sleep(0)
                done = 0
            if matches is None or request.resource.is_view or matches(entry):
                page.append(entry)
                if limit > 0 and len(page) == limit:
                    left += len(entries) - seen
                    break
        if left == 0 or (limit > 0 and len(page) == limit):
            return _end_of_page(page, prefix, revision, left, is_exact=matches is None)
        after = read.entries[-1].key.removeprefix(prefix)
        await asyncio.sleep(0)


def _end_of_page(
    entries: Sequence[Entry], prefix: str, revision: int, remaining: int, *, is_exact: bool = True
) -> Page:
    """Return a page, with a token if entries are left. `is_exact` means that `remaining` is their
    exact number, which the page then contains."""
    if not remaining:
        return Page(entries, revision)
    token = continuation.encode(entries[-1].key.removeprefix(prefix), revision)
    return Page(entries, revision, token, remaining if is_exact else None)


async def _read(
    store: Store, prefix: str, revision: int, *, after: str = "", size: int = 1, token: str = ""
) -> StoredPage:
    """Return at most `size` entries at a revision after a key relative to the prefix. Raises
    StatusError 410 or 504."""
    start = prefix + after if after else ""
    try:
        return await store.page(prefix, limit=size, after=start, revision=revision)
    except storage_errors.Compacted as error:
        raise continuation.expired(token, after) from error
    except storage_errors.FutureRevision as error:
        raise versions.too_large(revision, store.revision) from error


async def _start_of(options: ListOptions, store: Store, *, of_log: bool) -> tuple[str, int]:
    """Return the key before the page, and the revision to read. Raises StatusError 400 or 504."""
    if options.token:
        after, revision = continuation.decode(options.token)
        if options.resource_version not in ("", "0"):
            raise status.bad_request(
                "specifying resource version is not allowed when using continue"
            )
        if revision < 0:
            await store.recent()
        else:
            await versions.wait_for(store, revision)
        return after, store.revision if revision < 0 else revision
    if options.resource_version or not store.is_recent:
        await versions.settle(store, options.resource_version, versions.of_list, of_log=of_log)
    if options.resource_version in ("", "0") or options.match == "NotOlderThan":
        return "", store.revision
    return "", versions.of_list(options.resource_version)


def _selected_stored(entries: Sequence[Entry], matches: Matcher | None) -> Sequence[Entry]:
    """Return the matching entries of a view, whose stored objects have the labels."""
    return entries if matches is None else [each for each in entries if matches(each)]


async def selected(entries: Sequence[Entry], matches: Matcher | None) -> Sequence[Entry]:
    """Return the matching entries. The event loop serves other requests between slices."""
    if matches is None:
        return entries
    found, done = list[Entry](), 0
    for entry in entries:
        done += work(entry.data)
        if done > SLICE:
            await asyncio.sleep(0)
            done = 0
        if matches(entry):
            found.append(entry)
    return found


async def exactly(registry: Registry, request: Request, version: str) -> Entry:
    """Return one object as it was at a version, which the reference offers only for lists of one
    name. Raises StatusError 400, 404, 410, 504."""
    await versions.settle(registry.store, version, versions.of_list)
    page = await _read(registry.store, request.key, versions.of_list(version))
    if not page.entries:
        raise status.not_found(request.resource.group, request.resource.plural, request.name)
    return page.entries[0]
