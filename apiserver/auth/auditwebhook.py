"""A webhook that receives audit events, in batches.

Events beyond the buffer are dropped, and so are batches that the webhook refuses; both are logged.
Loaded only with such a webhook. Follows apiserver/plugin/pkg/audit/{webhook,buffered}.
"""

import asyncio
import logging

from inkube.apiserver.auth.outgoing import CallError
from inkube.apiserver.auth.webhookcalls import Webhook
from inkube.schemas.objects import Object

logger = logging.getLogger("inkube.audit")
_BUFFER = 10_000  # events
_BATCH = 400  # events


class AuditWebhook:
    """Sends events to a webhook when a batch is full, or after `seconds`."""

    def __init__(self, webhook: Webhook, seconds: float) -> None:
        self._webhook = webhook
        self._seconds = seconds
        self._events: list[Object] = []
        self._is_full = asyncio.Event()
        self._is_closing = False
        self._sender: asyncio.Task[None] | None = None

    def append(self, event: Object) -> None:
        """Accept an event."""
        if len(self._events) >= _BUFFER:
            logger.warning("an audit event was dropped: %d events wait", _BUFFER)
            return
        self._events.append(event)
        if len(self._events) >= _BATCH:
            self._is_full.set()
        if self._sender is None or self._sender.done():
            self._sender = asyncio.get_running_loop().create_task(self._send_all())

    def close(self) -> None:
        """Let the last batch be sent at once; `drain` waits for it."""
        self._is_closing = True
        self._is_full.set()

    async def drain(self) -> None:
        """Wait until the last batch is sent."""
        self.close()
        if self._sender is not None:
            await self._sender

    async def _send_all(self) -> None:
        """Send batches until no event waits."""
        while self._events:
            if len(self._events) < _BATCH and not self._is_closing:
                self._is_full.clear()
                try:
                    async with asyncio.timeout(self._seconds):
                        await self._is_full.wait()
                except TimeoutError:
                    pass  # it is time for a smaller batch
            batch, self._events = self._events[:_BATCH], self._events[_BATCH:]
            await self._send(batch)

    async def _send(self, batch: list[Object]) -> None:
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
            logger.warning("%d audit events are lost: %s", len(batch), error)
