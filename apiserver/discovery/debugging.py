"""The paths below `/debug/` that make sense for a server without profiles.

Follows apiserver/pkg/util/flowcontrol/dump.go and apiserver/pkg/server/routes/flags.go.
"""

from collections import Counter
from collections.abc import Sequence

from aiohttp import web

from inkube.apiserver.auth import Flows, Level
from inkube.apiserver.http import RequestInfo, responses
from inkube.apiserver.registry import User

_HEAD = (
    "PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests",
    "ExecutingRequests", "DispatchedRequests", "RejectedRequests", "TimedoutRequests",
    "CancelledRequests",
)  # fmt: skip


class Debugging:
    """Serves `/debug/…`. Unknown paths return 404."""

    def __init__(self, flows: Flows) -> None:
        self._flows = flows

    async def __call__(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """Respond to one request."""
        if info.path == "/debug/flags/v":
            return web.Response(
                text="unsupported http method\n", status=406, headers=responses.PLAIN_TEXT
            )
        if info.path == "/debug/api_priority_and_fairness/dump_priority_levels":
            return web.Response(text=self._levels(), headers=responses.PLAIN_TEXT)
        return responses.plain_not_found()

    def _levels(self) -> str:
        """Return every priority level."""
        rows = [_HEAD, *map(_row, self._flows.levels)]
        widths = [max(len(row[at]) for row in rows) + 2 for at in range(len(_HEAD))]
        lines = [
            "".join(f"{cell},".ljust(width) for cell, width in zip(row, widths, strict=True))
            for row in rows
        ]
        return "".join(f"{line.rstrip().rstrip(',')}\n" for line in lines)


def _row(level: Level) -> Sequence[str]:
    usage = [*level.usage.values()]
    refusals = sum((each.refusals for each in usage), Counter[str]())
    numbers = (
        level.waiting,
        sum(each.executing for each in usage),
        sum(each.begun for each in usage),
        refusals.total(),
        refusals["time-out"],
        0,
    )
    is_idle, is_quiescing = (str(each).lower() for each in (not level.is_used, level.is_quiescing))
    queues = str(level.active_queues)
    return level.name, queues, is_idle, is_quiescing, *map(str, numbers)
