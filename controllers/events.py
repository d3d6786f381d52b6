"""The recorder of Events, which `kubectl describe` shows.

`Recorder` writes core/v1 and follows client-go/tools/record: one Event per object, type, reason and
message; a repetition raises its count, and many messages for one reason become one Event. The
counts are in memory, so a repetition after a restart is a new Event.
`eventseries.SeriesRecorder` writes events.k8s.io/v1. An Event that cannot be written is logged and
dropped.
"""

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass, field

from inkube.controllers.client import Client, Object, ignoring
from inkube.controllers.eventnames import EventNames
from inkube.schemas import meta
from inkube.schemas.clock import Clock
from inkube.schemas.status import Reason, StatusError

logger = logging.getLogger(__name__)

EVENTS = "v1/events"
MAX_CACHED = 4096
"""Distinct events whose count is stored, at most. The count of an older event starts again at 1."""
LONGEST = 1024
"""Characters of a message, at most, like in the reference."""
SIMILAR = 9
"""The number of messages for one reason that become separate Events, until none occurs for
`SIMILAR_SECONDS` seconds."""
SIMILAR_SECONDS = 600.0
BURST = 25
"""Events about one object without a delay; afterwards, one every `REFILL` seconds."""
REFILL = 300.0
ATTEMPTS = 32
"""Names that are tried for a new Event. A stored Event can have the next name if the clock of an
earlier server with the same data showed the same time. A recorder writes BURST events in a row."""
_COMBINED_PREFIX = "(combined from similar events): "


@dataclass(slots=True)
class _Bucket:
    """The number of further events that are allowed for an object, and the time of that number."""

    tokens: float
    since: float


@dataclass(slots=True)
class _Similar:
    """The messages about one object for one reason, and the time of the last one."""

    last: float
    messages: set[str] = field(default_factory=set)


@dataclass(slots=True, eq=False)
class _EventRecord:
    """An event that occurred: the name of its Event, the time of its first occurrence, and the
    number of occurrences, with those that were not written. Occurrences are written one after the
    other."""

    name: str
    first: str
    count: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Recorder:
    """Writes Events about objects in the name of one component."""

    def __init__(
        self, client: Client, clock: Clock, names: EventNames, component: str = "inkube"
    ) -> None:
        self._client = client
        self._clock = clock
        self._names = names
        self._component = component
        self._records: OrderedDict[tuple[str, ...], _EventRecord] = OrderedDict()
        self._similar: OrderedDict[tuple[str, ...], _Similar] = OrderedDict()
        self._buckets: OrderedDict[tuple[str, ...], _Bucket] = OrderedDict()

    async def normal(self, obj: Object, reason: str, message: str) -> None:
        """Write an Event of type Normal."""
        await self._record(obj, "Normal", reason=reason, message=message)

    async def warning(self, obj: Object, reason: str, message: str) -> None:
        """Write an Event of type Warning."""
        await self._record(obj, "Warning", reason=reason, message=message)

    async def of_part(
        self, obj: Object, kind: str, reason: str, message: str, *, part: str, host: str
    ) -> None:
        """Write an Event about a part of an object on a host, such as `spec.containers{main}`."""
        await self._record(obj, kind, reason=reason, message=message, part=part, host=host)

    async def _record(
        self, obj: Object, kind: str, *, reason: str, message: str, part: str = "", host: str = ""
    ) -> None:
        message = message[:LONGEST]
        about = _about(obj)
        is_combined = self._is_one_of_many((*about, kind, reason), message)
        text = (_COMBINED_PREFIX + message)[:LONGEST] if is_combined else message
        event = self._event(obj, kind, reason, text)
        if part:
            event["involvedObject"]["fieldPath"] = part
        if host:
            event["source"]["host"] = event["reportingInstance"] = host
        what = (kind, reason) if is_combined else (kind, reason, part, message)
        recorded = self._of((*about, *what), obj, moment=event["lastTimestamp"])
        if not self._may_record(about):
            recorded.count += 1
            return
        try:
            async with recorded.lock:
                await self._write(obj, event, recorded)
        except StatusError as error:
            dropped(reason, error)

    def _may_record(self, about: tuple[str, ...]) -> bool:
        """Return whether the object has not reached its limit of events
        (EventSourceObjectSpamFilter)."""
        now = self._clock.monotonic()
        bucket = self._buckets.pop(about, None) or _Bucket(BURST, now)
        self._buckets[about] = bucket
        while len(self._buckets) > MAX_CACHED:
            self._buckets.popitem(last=False)
        bucket.tokens = min(bucket.tokens + (now - bucket.since) / REFILL, BURST)
        bucket.since = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True

    def _is_one_of_many(self, key: tuple[str, ...], message: str) -> bool:
        """Return whether too many other messages were recorded for the reason (EventAggregate)."""
        now = self._clock.monotonic()
        known = self._similar.pop(key, None)
        if known is None or now - known.last > SIMILAR_SECONDS:
            known = _Similar(now)
        self._similar[key] = known
        known.last = now
        if len(known.messages) < SIMILAR:
            known.messages.add(message)
        while len(self._similar) > MAX_CACHED:
            self._similar.popitem(last=False)
        return message not in known.messages

    def _of(self, key: tuple[str, ...], obj: Object, *, moment: str) -> _EventRecord:
        """Return the record of an event about an object. The first one gets a new name."""
        record = self._records.pop(key, None)
        if record is None:
            record = _EventRecord(self._names.new(obj["metadata"]["name"]), first=moment)
        self._records[key] = record
        while len(self._records) > MAX_CACHED:
            self._records.popitem(last=False)
        return record

    async def _write(self, obj: Object, event: Object, record: _EventRecord) -> None:
        """Write another occurrence of an event. If its Event expired, write the same one again."""
        record.count += 1
        event["metadata"]["name"] = record.name
        event["firstTimestamp"], event["count"] = record.first, record.count
        if record.count == 1 or not await self._repeat(event):
            await create(self._client, event, obj["metadata"]["name"], self._names)
            record.name = event["metadata"]["name"]

    async def _repeat(self, event: Object) -> bool:
        """Update an existing Event. Returns False if it does not exist."""
        patch = {member: event[member] for member in ("count", "lastTimestamp", "message")}
        return await repeat(self._client, EVENTS, event["metadata"], patch)

    def _event(self, obj: Object, kind: str, reason: str, message: str) -> Object:
        moment = meta.format_time(self._clock.now())
        namespace = obj["metadata"].get("namespace") or "default"
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"namespace": namespace},
            "involvedObject": reference(obj),
            "reason": reason,
            "message": message,
            "source": {"component": self._component},
            "lastTimestamp": moment,
            "type": kind,
            "reportingComponent": self._component,
            "reportingInstance": "",
        }


def _about(obj: Object) -> tuple[str, ...]:
    """Return the part of all keys that names the object."""
    metadata = obj["metadata"]
    place = (metadata.get(member) or "" for member in ("namespace", "name", "uid"))
    return (obj["apiVersion"], obj["kind"], *place)


def dropped(reason: str, error: StatusError) -> None:
    """Log an Event that could not be written."""
    level = logging.DEBUG if error.code == 403 else logging.WARNING  # an ending namespace
    logger.log(level, "the event %s could not be written: %s", reason, error.message)


async def repeat(client: Client, resource: str, metadata: Object, patch: Object) -> bool:
    """Update an existing Event. Returns False if it does not exist."""
    with ignoring(404):
        await client.patch(resource, metadata["name"], metadata["namespace"], patch=patch)
        return True
    return False


async def create(client: Client, event: Object, about: str, names: EventNames) -> None:
    """Create an Event about an object with a name. If the Event's name is taken, give it another
    one."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            await client.create(event)
            return
        except StatusError as error:
            if error.reason != Reason.ALREADY_EXISTS or attempt == ATTEMPTS:
                raise
            event["metadata"]["name"] = names.new(about)


def reference(obj: Object) -> Object:
    """Return the ObjectReference to an object."""
    metadata = obj["metadata"]
    found = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": metadata["name"]}
    for member in ("namespace", "uid", "resourceVersion"):
        if metadata.get(member):
            found[member] = metadata[member]
    return found
