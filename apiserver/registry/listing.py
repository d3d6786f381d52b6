"""Lists: ListOptions, selectors, pages at one revision. Follows apiserver/pkg/storage/cacher."""

from bisect import bisect_right
from collections.abc import Callable
from typing import Any, NamedTuple

from inkube.apiserver.registry import continuation
from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.registry import Registry
from inkube.schemas import selectors, status
from inkube.schemas.golang import strconv
from inkube.schemas.golang.gotext import quote
from inkube.storage import errors as storage_errors
from inkube.storage.entry import Entry

Object = dict[str, Any]
Matcher = Callable[[Object], bool]

TOO_OLD_TOKEN = (
    "The provided continue parameter is too old to display a consistent list result. You can "
    "start a new list without the continue parameter, or use the continue token in this response "
    "to retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)
TOO_OLD = "The resourceVersion for the provided list is too old."


class ListOptions(NamedTuple):
    """metav1.ListOptions, read and checked."""

    labels: str = ""
    fields: str = ""
    limit: int = 0
    token: str = ""
    resource_version: str = ""
    match: str = ""
    watch: bool = False
    bookmarks: bool = False
    timeout: int | None = None
    initial_events: bool | None = None


NO_OPTIONS = ListOptions()


class Page(NamedTuple):
    """What a list found. `remaining` is None where it is not told."""

    entries: list[Entry]
    revision: int
    token: str = ""
    remaining: int | None = None

    def metadata(self, call: Call) -> Object:
        """ListMeta; custom resources carry an empty continue, built-in kinds do not."""
        meta: Object = {}
        if self.token or call.resource.voice.tells_empty_continue:
            meta["continue"] = self.token
        if self.remaining is not None:
            meta["remainingItemCount"] = self.remaining
        meta["resourceVersion"] = str(self.revision)
        return meta


def matcher(call: Call, options: ListOptions) -> Matcher | None:
    """A predicate for both selectors, None when everything matches. Raises StatusError 400."""
    if not options.labels and not options.fields:
        return None
    return selectors.compile(
        labels=options.labels, fields=options.fields, version=call.served.version
    )


def single_name(call: Call, options: ListOptions) -> str:
    """The one name that may match in one place, "" where more may: a look-up instead of a scan."""
    if call.name or (call.resource.namespaced and not call.namespace):
        return call.name
    return selectors.selected_name(options.fields) if options.fields else ""


async def find(registry: Registry, call: Call, options: ListOptions) -> Page:
    """The page that the options ask for."""
    store = registry.store
    matches = matcher(call, options)
    if options.token or options.limit > 0 or options.match == "Exact":
        return await _page(registry, call, options, matches)
    if options.resource_version not in ("", "0"):
        check_known(_version(options.resource_version), store.revision)
    name = single_name(call, options)
    if name:
        entry = store.get(call.resource.key(call.namespace, name))
        entries = [] if entry is None else [entry]
    else:
        entries = store.list(call.resource.key(call.namespace, ""))
    revision = store.revision
    entries = await registry.shown(call, entries)
    return Page(selected(call, entries, matches), revision)


async def _page(
    registry: Registry, call: Call, options: ListOptions, matches: Matcher | None
) -> Page:
    store, prefix = registry.store, call.resource.key(call.namespace, "")
    after, revision = _place(options, store.revision)
    try:
        entries = await store.list_at(prefix, revision)
    except storage_errors.Compacted as error:
        raise _expired(options, after) from error
    except storage_errors.FutureRevision as error:
        raise too_large(revision, store.revision) from error
    start = bisect_right(entries, prefix + after, key=_key_of) if after else 0
    left = entries[start:] if start else entries
    asked = left[: options.limit] if options.limit > 0 and matches is None else left
    asked = await registry.shown(call, asked)
    if options.limit <= 0:
        return Page(selected(call, asked, matches), revision)
    shown, seen = _first(call, asked, matches, options.limit)
    if seen == len(left):
        return Page(shown, revision)
    token = continuation.encode(shown[-1].key.removeprefix(prefix), revision)
    return Page(shown, revision, token, None if matches else len(left) - seen)


def _place(options: ListOptions, newest: int) -> tuple[str, int]:
    """The key to begin after, and the revision to read. Raises StatusError 400 or 504."""
    if options.token:
        if options.resource_version:
            raise status.bad_request(
                "specifying resource version is not allowed when using continue"
            )
        after, revision = continuation.decode(options.token)
        return after, newest if revision < 0 else revision
    if options.resource_version in ("", "0"):
        return "", newest
    wanted = _version(options.resource_version)
    check_known(wanted, newest)
    return "", newest if options.match == "NotOlderThan" else wanted


def _first(
    call: Call, entries: list[Entry], matches: Matcher | None, limit: int
) -> tuple[list[Entry], int]:
    """The first entries that match, and how many were looked at for them."""
    if matches is None:
        return entries[:limit], min(limit, len(entries))
    found: list[Entry] = []
    for seen, entry in enumerate(entries, 1):
        if matches(call.view(entry)):
            found.append(entry)
            if len(found) == limit:
                return found, seen
    return found, len(entries)


def _key_of(entry: Entry) -> str:
    return entry.key


def _expired(options: ListOptions, after: str) -> status.StatusError:
    if not options.token:
        return status.expired(TOO_OLD)
    error = status.expired(TOO_OLD_TOKEN)
    error.metadata = {"continue": continuation.encode(after, -1)}
    return error


def selected(call: Call, entries: list[Entry], matches: Matcher | None) -> list[Entry]:
    """Those that match."""
    if matches is None:
        return entries
    return [entry for entry in entries if matches(call.view(entry))]


def _version(text: str) -> int:
    try:
        return strconv.parse_uint(text)
    except ValueError as error:
        raise status.bad_request(
            f"invalid resource version: resourceVersion: Invalid value: {quote(text)}: {error}"
        ) from error


def check_known(wanted: int, newest: int) -> None:
    """Raises StatusError 504 for a version that is not there yet."""
    if wanted > newest:
        raise too_large(wanted, newest)


def check_read(version: str, registry: Registry) -> None:
    """The resourceVersion a read of one object asks for. Raises StatusError 500 or 504."""
    if version not in ("", "0"):
        check_known(known_version(version), registry.store.revision)


def known_version(text: str) -> int:
    """A version outside of lists, which answer 400. Raises StatusError 500 as upstream."""
    try:
        return strconv.parse_uint(text)
    except ValueError as error:
        raise status.unknown(f"resourceVersion: Invalid value: {quote(text)}: {error}") from error


def too_large(wanted: int, current: int) -> status.StatusError:
    """504: a resource version that does not exist yet."""
    error = status.StatusError(
        504,
        status.Reason.TIMEOUT,
        f"Timeout: Too large resource version: {wanted}, current: {current}",
        details={
            "causes": [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            ],
            "retryAfterSeconds": 1,
        },
    )
    error.headers["Retry-After"] = "1"
    return error
