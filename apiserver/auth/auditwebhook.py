"""A webhook that receives audit events, in batches or at once.

Events beyond the buffer are dropped, and so are batches that the webhook refuses several times;
both are logged. Loaded only with such a webhook. Follows
apiserver/plugin/pkg/audit/{webhook,buffered}.
"""

import asyncio
import contextlib
import logging
import time
from functools import partial
from typing import NamedTuple

from inkube.apiserver import http
from inkube.apiserver.auth.outgoing import CallError, Outgoing
from inkube.apiserver.auth.webhookcalls import Target, Webhook
from inkube.schemas.objects import Object

logger = logging.getLogger("inkube.audit")


class Batches(NamedTuple):
    """How events are sent: in the mode `batch` in groups, otherwise while their request waits."""

    mode: "http.auditfiles.Mode" = "batch"
    buffer: int = 10_000
    """Events that can wait."""
    size: int = 400
    """Events of a batch."""
    seconds: float = 30.0
    """The time after which a smaller batch is sent."""
    qps: float = 10.0
    """Batches for each second; 0 is no limit."""
    burst: int = 15
    """Batches that need not wait, if there were fewer before."""
    delay: float = 10.0
    """Seconds before a batch is sent a second time."""


class AuditWebhook:
    """Sends events to a webhook."""

    def __init__(self, target: Target, client: Outgoing, batches: Batches) -> None:
        self._closing = asyncio.Event()
        self._webhook = Webhook(
            target,
            client,
            delay=batches.delay,
            repeats=lambda _: not self._closing.is_set(),
            wait=partial(_until, self._closing),
        )
        self._batches = batches
        self._events: list[Object] = []
        self._is_full = asyncio.Event()
        self._sender: asyncio.Task[None] | None = None
        self._tokens = float(batches.burst)
        self._filled_at = time.monotonic()

    @property
    def is_strict(self) -> bool:
        """Whether a request fails if its first event is not received."""
        return self._batches.mode == "blocking-strict"

    def append(self, event: Object) -> None:
        """Accept an event. Raises OSError if too many wait."""
        if len(self._events) >= self._batches.buffer:
            raise OSError("audit buffer queue blocked")
        self._events.append(event)
        if self._batches.mode != "batch":
            return
        if len(self._events) >= self._batches.size:
            self._is_full.set()
        if self._sender is None or self._sender.done():
            self._sender = asyncio.get_running_loop().create_task(self._send_all())

    async def flush(self) -> None:
        """Wait until all events are received, unless they are sent in batches. Raises OSError."""
        if self._batches.mode != "batch" and self._events:
            events, self._events = self._events, []
            await self._send(events)

    def close(self) -> None:
        """Let the last batch be sent at once; `drain` waits for it."""
        self._closing.set()
        self._is_full.set()

    async def drain(self) -> None:
        """Wait until the last batch is sent."""
        self.close()
        if self._sender is not None:
            await self._sender

    async def _send_all(self) -> None:
        """Send batches until no event waits."""
        size = self._batches.size
        while self._events:
            if len(self._events) < size and not self._closing.is_set():
                self._is_full.clear()
                await _until(self._is_full, self._batches.seconds)
            await self._take_turn()
            batch, self._events = self._events[:size], self._events[size:]
            try:
                await self._send(batch)
            except OSError as error:
                logger.warning("%d audit events are lost: %s", len(batch), error)

    async def _take_turn(self) -> None:
        """Wait until another batch is allowed."""
        qps, burst, now = self._batches.qps, self._batches.burst, time.monotonic()
        self._tokens = min(burst, self._tokens + (now - self._filled_at) * qps) - 1
        self._filled_at = now
        if qps and self._tokens < 0:
            await _until(self._closing, -self._tokens / qps)

    async def _send(self, batch: list[Object]) -> None:
        """Send events, several times if necessary. Raises OSError."""
        members = ({k: v for k, v in e.items() if k not in ("kind", "apiVersion")} for e in batch)
        events: Object = {
            "kind": "EventList",
            "apiVersion": "audit.k8s.io/v1",
            "metadata": {},
            "items": list(members),
        }
        try:
            await self._webhook.send(events)
        except CallError as error:
            raise OSError(str(error)) from error


async def _until(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, or for some seconds without it."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
