"""The paths below `/debug/` that make sense for a server without queues and profiles.

Follows apiserver/pkg/util/flowcontrol/dump.go and apiserver/pkg/server/routes/flags.go.
"""

from aiohttp import web

from inkube.apiserver.http import RequestInfo, responses
from inkube.apiserver.registry import User, keys
from inkube.storage import BaseStore

_LEVELS = keys.prefix("prioritylevelconfigurations")
_HEAD = (
    "PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests",
    "ExecutingRequests", "DispatchedRequests", "RejectedRequests", "TimedoutRequests",
    "CancelledRequests",
)  # fmt: skip
_PLAIN_TEXT = {"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"}


class Debugging:
    """Serves `/debug/…`. Unknown paths return 404."""

    def __init__(self, store: BaseStore) -> None:
        self._store = store

    async def __call__(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """Respond to one request."""
        if info.path == "/debug/flags/v":
            return web.Response(text="unsupported http method\n", status=406, headers=_PLAIN_TEXT)
        if info.path == "/debug/api_priority_and_fairness/dump_priority_levels":
            return web.Response(text=self._levels(), headers=_PLAIN_TEXT)
        return responses.plain_not_found()

    def _levels(self) -> str:
        """Return every priority level. All are idle, because no requests are queued."""
        names = sorted(entry.value["metadata"]["name"] for entry in self._store.list(_LEVELS))
        rows = [_HEAD, *((name, "0", "true", "false", *["0"] * 6) for name in names)]
        widths = [max(len(row[at]) for row in rows) + 2 for at in range(len(_HEAD))]
        lines = [
            "".join(f"{cell},".ljust(width) for cell, width in zip(row, widths, strict=True))
            for row in rows
        ]
        return "".join(f"{line.rstrip().rstrip(',')}\n" for line in lines)
