"""The content of one watch: its start, the initial events, and its view of changes.

HTTP streams and the in-process client read the same `Watcher`. Follows
apiserver/pkg/storage/cacher.
"""

from collections.abc import Hashable, Sequence

from inkube.apiserver.registry import (
    ListOptions,
    Registry,
    Request,
    listing,
    selections,
    versions,
)
from inkube.schemas import status
from inkube.schemas.objects import Object
from inkube.storage import Change, Entry, Subscription
from inkube.storage import errors as storage_errors

SLOW = "the watcher was too slow; resume"


class Watcher:
    """One watch request. Raises StatusError 400 for invalid selectors, 500 for invalid versions."""

    def __init__(self, registry: Registry, request: Request, options: ListOptions) -> None:
        self.request = request
        self.options = options
        self._registry = registry
        self._matches = selections.matcher(request, options)
        self.selector: Hashable = (options.labels, options.fields, request.served)
        self._prefix = request.resource.key(
            request.namespace, listing.single_name(request, options)
        )
        self.start = 0

    async def subscribe(self) -> tuple[Subscription, Sequence[Entry]]:
        """Return the subscription, and the existing objects if the options request them.

        Both have the same revision. Raises StatusError 410 for a version that is too old, and 504
        for initial events of a version that does not exist yet.
        """
        store, options = self._registry.store, self.options
        version = options.resource_version
        fresh = not version or versions.known_version(version) == 0
        found: Sequence[Entry] = ()
        if fresh or options.initial_events:
            await versions.settle(store, version, versions.known_version)
        if options.initial_events or (fresh and options.initial_events is None):
            found = store.list(self._prefix)
            self.start = store.revision
        else:
            self.start = store.revision if fresh else versions.known_version(version)
        try:
            subscription = store.subscribe(self._prefix, self.start)
        except storage_errors.Compacted as error:
            raise too_old(self.start, error.compacted) from error
        try:
            shown = await listing.shown(self._registry, self.request, found)
            return subscription, await listing.selected(shown, self._matches)
        except BaseException:
            subscription.close()
            raise

    @property
    def selects_all(self) -> bool:
        """Whether the watcher selects every change under the prefix, with its own type."""
        return self._matches is None

    @property
    def marks_end(self) -> bool:
        """Whether a bookmark marks the end of the initial events (SetListOptionsDefaults)."""
        options = self.options
        if not options.bookmarks:
            return False
        return bool(options.initial_events) or (
            options.initial_events is None and options.resource_version in ("", "0")
        )

    def type_of(self, change: Change) -> str:
        """Return the type of a change for this watcher, or "" if neither state matches."""
        if self._matches is None:
            return change.type
        now = change.type != "DELETED" and self._selects(change.entry)
        before = change.previous is not None and self._selects(change.previous)
        if now:
            return "MODIFIED" if before else "ADDED"
        return "DELETED" if before else ""

    def _selects(self, entry: Entry) -> bool:
        matches = self._matches
        return matches is None or matches(entry)


def earlier(
    registry: Registry, request: Request, options: ListOptions, changes: int
) -> ListOptions:
    """Return the options of a watch that also sends the last changes before now again, if its
    client continues from a version."""
    version = options.resource_version
    if not version.isdecimal() or version == "0":
        return options
    before = registry.store.before(request.resource.key(request.namespace, ""), changes)
    return options._replace(resource_version=str(max(1, min(int(version), before))))


def last_state(request: Request, change: Change) -> Object:
    """Return the object of a DELETED event: the state before (for example, with finalizers) with
    the resourceVersion of the deletion."""
    entry = change.previous or change.entry
    value = request.view(entry)
    metadata = {**value["metadata"], "resourceVersion": str(change.revision)}
    return {**value, "metadata": metadata}


def bookmark(request: Request, revision: int, *, end: bool = False) -> Object:
    """Return the object of a BOOKMARK event, which is empty but for a version. `end` marks the end
    of the initial events."""
    served = request.served
    blank = served.blank
    metadata: Object = {**blank.get("metadata", {}), "resourceVersion": str(revision)}
    if end:
        metadata["annotations"] = {
            **metadata.get("annotations", {}),
            "k8s.io/initial-events-end": "true",
        }
    kind = {"kind": served.kind, "apiVersion": served.api_version}
    return {**kind, **blank, "metadata": metadata}


def too_old(start: int, compacted_revision: int) -> status.StatusError:
    """Return the error 410 for a version whose later changes are compacted."""
    return status.expired(f"too old resource version: {start} ({compacted_revision})")
