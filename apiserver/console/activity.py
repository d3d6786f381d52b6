"""`/debug/activity`: the newest changes of the store and the open watches, for the overview of the
console.

A change is told by its revision, time, object and field managers, without any other content of the
object. A client that names the newest revision it has seen receives only later changes.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from aiohttp import hdrs, web

from inkube.apiserver.http import RequestInfo, negotiation, responses
from inkube.apiserver.registry import User, keys
from inkube.schemas import meta, status
from inkube.schemas.objects import Object
from inkube.storage import BaseStore, Change, Compacted

PATH = "/debug/activity"
MAX_CHANGES = 500
"""The most changes in a response, which are the newest."""


class Activity:
    """Serves the changes of a store, and the number of open watches by user agent. `watchers`
    returns the user agent of each watch."""

    def __init__(self, store: BaseStore, watchers: Callable[[], Iterable[str]]) -> None:
        self._store = store
        self._watchers = watchers

    async def __call__(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """Return `{revision, oldest, changes, watches}`. `?after=REVISION` selects later changes;
        `oldest` is the oldest revision that can be listed. Raises StatusError 400, 405."""
        if info.method != "GET":
            raise status.method_not_allowed()
        after = request.query.get("after", "0")
        if not (after.isascii() and after.isdecimal() and len(after) < _DIGITS):
            raise status.bad_request(f"after: {after[:_DIGITS]!r} is not a revision")
        store = self._store
        document = {
            "revision": str(store.revision),
            "oldest": str(store.compacted),
            "changes": await self._changes(int(after)),
            "watches": dict(Counter(self._watchers()).most_common()),
        }
        response = responses.render(document, negotiation.COMPACT_JSON)
        responses.compress(response, request.headers.get(hdrs.ACCEPT_ENCODING, ""), smallest=0)
        return response

    async def _changes(self, after: int) -> list[Object]:
        """Return the newest changes after a revision, the oldest first."""
        store = self._store
        start = max(after, store.compacted, store.before(keys.ROOT, MAX_CHANGES))
        try:
            found = await store.history(keys.ROOT, start, MAX_CHANGES)
        except Compacted:  # meanwhile; the next reading begins later
            return []
        return [_change(*each) for each in found if each[0].entry.key != keys.LEADER]


_DIGITS = 20
"""The digits of a number that is longer than every revision."""


def _change(change: Change, time: float) -> Object:
    obj = change.entry.value
    before = None if change.previous is None else change.previous.value
    found = obj["metadata"]
    is_deleted = change.type == "DELETED"
    return {
        "revision": str(change.revision),
        "time": datetime.fromtimestamp(time, UTC).isoformat() if time else "",
        "type": change.type,
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "namespace": found.get("namespace", ""),
        "name": found["name"],
        "managers": [] if is_deleted else meta.changed_managers(before, obj),
    }
