"""The recorder of core/v1 Events, so that `kubectl describe` tells an object's story.

Follows client-go/tools/record: one Event per object, type, reason and message; a repetition raises
its count. Events are news, not state: one that cannot be written is logged and dropped.
"""

import hashlib
import logging
from collections import OrderedDict

from inkube.controllers.client import Client, Object
from inkube.schemas import meta
from inkube.schemas.clock import Clock
from inkube.schemas.status import StatusError

logger = logging.getLogger(__name__)

EVENTS = "v1/events"
REMEMBERED = 4096
"""Distinct events whose count is known; an older one starts anew."""
LONGEST = 1024
"""Characters of a message, as the reference limits them."""


class Recorder:
    """Writes Events about objects in the name of one component."""

    def __init__(self, client: Client, clock: Clock, component: str = "inkube") -> None:
        self._client = client
        self._clock = clock
        self._component = component
        self._counts: OrderedDict[str, int] = OrderedDict()

    async def normal(self, obj: Object, reason: str, message: str) -> None:
        """Something happened as it should."""
        await self._record(obj, "Normal", reason=reason, message=message)

    async def warning(self, obj: Object, reason: str, message: str) -> None:
        """Something went wrong."""
        await self._record(obj, "Warning", reason=reason, message=message)

    async def _record(self, obj: Object, kind: str, *, reason: str, message: str) -> None:
        event = self._event(obj, kind, reason=reason, message=message[:LONGEST])
        name = event["metadata"]["name"]
        count = self._counts.pop(name, 0) + 1
        self._counts[name] = count
        while len(self._counts) > REMEMBERED:
            self._counts.popitem(last=False)
        try:
            if count > 1 and await self._repeat(event, count):
                return
            await self._client.create(event)
        except StatusError as error:
            logger.warning("the event %s could not be written: %s", reason, error.message)

    async def _repeat(self, event: Object, count: int) -> bool:
        """Raise the count of an Event that exists; False when it is gone."""
        metadata = event["metadata"]
        patch = {"count": count, "lastTimestamp": event["lastTimestamp"]}
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


def _reference(obj: Object) -> Object:
    metadata = obj["metadata"]
    found = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": metadata["name"]}
    for member in ("namespace", "uid", "resourceVersion"):
        if metadata.get(member):
            found[member] = metadata[member]
    return found
