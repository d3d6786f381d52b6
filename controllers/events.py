"""Recorders of Events, which `kubectl describe` shows.

`Recorder` writes core/v1 and follows client-go/tools/record: one Event per object, type, reason and
message; a repetition raises its count, and many messages for one reason become one Event.
`SeriesRecorder` writes events.k8s.io/v1 as client-go/tools/events does. An Event that cannot be
written is logged and dropped.
"""

import hashlib
import logging
from collections import OrderedDict
from dataclasses import dataclass, field

from inkube.controllers.client import Client, Object
from inkube.schemas import meta
from inkube.schemas.clock import Clock
from inkube.schemas.status import Reason, StatusError

logger = logging.getLogger(__name__)

EVENTS = "v1/events"
REMEMBERED = 4096
"""Distinct events whose count is stored, at most. The count of an older event starts again at 1."""
LONGEST = 1024
"""Characters of a message, at most, like in the reference."""
SIMILAR = 10
"""The number of messages for one reason within `SIMILAR_WITHIN` seconds that become separate
Events."""
SIMILAR_WITHIN = 600.0
BURST = 25
"""Events about one object without a delay; afterwards, one every `REFILL` seconds."""
REFILL = 300.0
_COMBINED = "(combined from similar events): "


@dataclass(slots=True)
class _Bucket:
    """The number of further events that are allowed for an object, and the time of that number."""

    left: float
    since: float


@dataclass(slots=True)
class _Similar:
    """The messages about one object for one reason, and the time of the last one."""

    last: float
    messages: set[str] = field(default_factory=set)


class Recorder:
    """Writes Events about objects in the name of one component."""

    def __init__(self, client: Client, clock: Clock, component: str = "inkube") -> None:
        self._client = client
        self._clock = clock
        self._component = component
        self._counts: OrderedDict[str, int] = OrderedDict()
        self._similar: OrderedDict[tuple[str, ...], _Similar] = OrderedDict()
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

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
        if self._is_one_of_many(obj, kind, reason, f"{part}{message}"):
            event = self._event(obj, kind, reason=reason, message=part)
            event["message"] = (_COMBINED + message)[:LONGEST]
        else:
            event = self._event(obj, kind, reason=reason, message=f"{part}{message}")
            event["message"] = message
        if part:
            event["involvedObject"]["fieldPath"] = part
        if host:
            event["source"]["host"] = event["reportingInstance"] = host
        if not self._may_tell(obj):
            return
        name = event["metadata"]["name"]
        count = self._counts.pop(name, 0) + 1
        self._counts[name] = count
        while len(self._counts) > REMEMBERED:
            self._counts.popitem(last=False)
        try:
            if count > 1 and await self._repeat(event, count):
                return
            try:
                await self._client.create(event)
            except StatusError as error:  # two concurrent events
                if error.reason != Reason.ALREADY_EXISTS:
                    raise
                await self._repeat(event, count)
        except StatusError as error:
            level = logging.DEBUG if error.code == 403 else logging.WARNING  # an ending namespace
            logger.log(level, "the event %s could not be written: %s", reason, error.message)

    def _may_tell(self, obj: Object) -> bool:
        """Whether the object has not reached its limit of events (EventSourceObjectSpamFilter)."""
        uid, now = obj["metadata"].get("uid", ""), self._clock.monotonic()
        bucket = self._buckets.pop(uid, None) or _Bucket(BURST, now)
        self._buckets[uid] = bucket
        while len(self._buckets) > REMEMBERED:
            self._buckets.popitem(last=False)
        bucket.left = min(bucket.left + (now - bucket.since) / REFILL, BURST)
        bucket.since = now
        if bucket.left < 1:
            return False
        bucket.left -= 1
        return True

    def _is_one_of_many(self, obj: Object, kind: str, reason: str, message: str) -> bool:
        """Whether too many messages were recorded for the reason (EventAggregate)."""
        key = (obj["metadata"].get("uid", ""), kind, reason)
        now = self._clock.monotonic()
        known = self._similar.pop(key, None)
        if known is None or now - known.last > SIMILAR_WITHIN:
            known = _Similar(now)
        self._similar[key] = known
        known.last = now
        if message not in known.messages and len(known.messages) < SIMILAR:
            known.messages.add(message)
        while len(self._similar) > REMEMBERED:
            self._similar.popitem(last=False)
        return message not in known.messages or len(known.messages) >= SIMILAR

    async def _repeat(self, event: Object, count: int) -> bool:
        """Increase the count of an existing Event. Returns False if it does not exist."""
        metadata = event["metadata"]
        patch = {
            "count": count,
            "lastTimestamp": event["lastTimestamp"],
            "message": event["message"],
        }
        try:
            await self._client.patch(EVENTS, metadata["name"], metadata["namespace"], patch=patch)
        except StatusError as error:
            if error.code == 404:
                return False
            raise
        return True

    def _event(self, obj: Object, kind: str, *, reason: str, message: str) -> Object:
        metadata = obj["metadata"]
        moment = meta.format_time(self._clock.now())
        namespace = metadata.get("namespace") or "default"
        identity = f"{metadata.get('uid')}/{kind}/{reason}/{message}/{moment[:13]}"
        digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{metadata['name']}.{digest}", "namespace": namespace},
            "involvedObject": _reference(obj),
            "reason": reason,
            "message": message,
            "source": {"component": self._component},
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "count": 1,
            "type": kind,
            "reportingComponent": self._component,
            "reportingInstance": "",
        }


class SeriesRecorder:
    """Writes Events of events.k8s.io/v1, which contain an action and a related object."""

    def __init__(self, client: Client, clock: Clock, controller: str, host: str = "inkube") -> None:
        self._client = client
        self._clock = clock
        self._controller = controller
        self._instance = f"{controller}-{host}"

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
        """Write an Event about an action; `kind` is Normal or Warning."""
        metadata = obj["metadata"]
        moment = meta.format_micro_time(self._clock.now())
        identity = f"{metadata.get('uid')}/{reason}/{message}/{moment}"
        digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
        event = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "name": f"{metadata['name']}.{digest}",
                "namespace": metadata.get("namespace") or "default",
            },
            "eventTime": moment,
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "action": action,
            "reason": reason,
            "regarding": _reference(obj),
            "note": message[:LONGEST],
            "type": kind,
        }
        if related is not None:
            event["related"] = _reference(related)
        try:
            await self._client.create(event)
        except StatusError as error:
            if error.code != 409:  # the same event within this microsecond
                logger.warning("the event %s could not be written: %s", reason, error.message)


def _reference(obj: Object) -> Object:
    metadata = obj["metadata"]
    found = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": metadata["name"]}
    for member in ("namespace", "uid", "resourceVersion"):
        if metadata.get(member):
            found[member] = metadata[member]
    return found
