"""The recorder of Events of events.k8s.io/v1, whose repetitions are a series. Follows
client-go/tools/events.

A series is in memory, so a repetition after a restart is a new Event.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from inkube.controllers.client import Client, Object
from inkube.controllers.eventnames import EventNames
from inkube.controllers.events import LONGEST, MAX_CACHED, create, dropped, reference, repeat
from inkube.controllers.informer import Key
from inkube.controllers.manager import Controller, Result
from inkube.schemas import meta
from inkube.schemas.clock import Clock
from inkube.schemas.status import StatusError

EVENTS = "events.k8s.io/v1/events"
FINISH = 360.0
"""Seconds without a repetition after which a series ends."""
REFRESH = 1800.0
"""Seconds between two writes of the count of a series."""
_DUE = Key("", "")
"""The only key of the controller of series."""


@dataclass(slots=True, eq=False)
class _Series:
    """An event that occurred: its Event, the number of occurrences, and the times of the last
    occurrence and of the last write in seconds of the clock. Writes happen one after the other."""

    event: Object
    last: float
    written: float
    count: int = 1
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)


class SeriesRecorder:
    """Writes Events of events.k8s.io/v1, which contain an action and a related object.

    An event that occurs again within FINISH seconds becomes a series. The second occurrence is
    written immediately. `reconcile` writes later ones every REFRESH seconds and at the end of the
    series. `controller` runs it.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        names: EventNames,
        controller: str,
        *,
        host: str = "inkube",
    ) -> None:
        self._client = client
        self._clock = clock
        self._names = names
        self._controller = controller
        self._instance = f"{controller}-{host}"
        self._known: OrderedDict[tuple[object, ...], _Series] = OrderedDict()
        self._wake: Callable[[Key], None] = _nothing
        self._is_awake = False
        """Whether `reconcile` runs again by itself."""

    def controller(self, name: str) -> Controller:
        """Return the controller that writes the counts of series. A manager must run it."""
        return Controller(name, self.reconcile, (), concurrency=1, sources=(self._source,))

    async def record(
        self,
        obj: Object,
        kind: str,
        reason: str,
        message: str,
        *,
        action: str,
        related: Object | None = None,
    ) -> None:
        """Write an Event about an action, or count it; `kind` is Normal or Warning."""
        event: Object = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"namespace": obj["metadata"].get("namespace") or "default"},
            "eventTime": meta.format_micro_time(self._clock.now()),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "action": action,
            "reason": reason,
            "regarding": reference(obj),
            "note": message[:LONGEST],
            "type": kind,
        }
        if related is not None:
            event["related"] = reference(related)
        now = self._clock.monotonic()
        key = _series_key(event)
        known = self._known.get(key)
        if known is None or (known.count == 1 and now - known.last >= FINISH):
            event["metadata"]["name"] = self._names.new(obj["metadata"]["name"])
            self._known.pop(key, None)
            known = self._known[key] = _Series(event, last=now, written=now)
            await self._write(known)
            while len(self._known) > MAX_CACHED:
                _, oldest = self._known.popitem(last=False)
                if oldest.count > 2:
                    await self._write(oldest)
            return
        self._known.move_to_end(key)
        known.count += 1
        known.last = now
        known.event["series"] = {
            "count": known.count,
            "lastObservedTime": meta.format_micro_time(self._clock.now()),
        }
        if known.count == 2:
            await self._write(known)
            if not self._is_awake:
                self._wake(_DUE)

    async def reconcile(self, key: Key) -> Result | None:
        """Write the counts of series that ended, and of those that were not written for a long
        time, before their Events expire."""
        now = self._clock.monotonic()
        ended = [event for event, each in self._series() if now - each.last >= FINISH]
        due = [self._known.pop(event) for event in ended]
        due += [each for _, each in self._series() if now - each.written >= REFRESH]
        for each in due:
            await self._write(each)
        self._is_awake = any(self._series())
        return Result(requeue_after=FINISH) if self._is_awake else None

    def _series(self) -> Iterator[tuple[tuple[object, ...], _Series]]:
        return ((event, each) for event, each in self._known.items() if each.count > 1)

    def _source(self, add: Callable[[Key], None]) -> Callable[[], None]:
        """Start `reconcile` with the first series. See `manager.Source`."""

        def end() -> None:
            self._wake = _nothing
            self._is_awake = False

        self._wake = add
        if any(self._series()):
            add(_DUE)
        return end

    async def _write(self, series: _Series) -> None:
        """Write an Event, or the count of its series. If its Event expired, write it again."""
        event = series.event
        try:
            async with series.writing:
                series.written = self._clock.monotonic()
                if "series" not in event or not await self._repeat(event):
                    await create(self._client, event, event["regarding"]["name"], self._names)
        except StatusError as error:
            dropped(event["reason"], error)

    async def _repeat(self, event: Object) -> bool:
        """Update the series of an existing Event. Returns False if the Event does not exist."""
        return await repeat(self._client, EVENTS, event["metadata"], {"series": event["series"]})


def _nothing(key: Key) -> None:
    """Start nothing: no manager runs the controller."""


def _series_key(event: Object) -> tuple[object, ...]:
    """Return the same key for occurrences of one event (getKey of tools/events). The text can
    differ."""
    facts = ("type", "action", "reason", "reportingController", "reportingInstance")
    about = (tuple((event.get(member) or {}).items()) for member in ("regarding", "related"))
    return (*(event[fact] for fact in facts), *about)
