"""The faults that select the requests of the server's own controllers."""

from collections.abc import AsyncGenerator

from inkube.apiserver import faults
from inkube.apiserver.faults import Faults, Injection, WatchFault
from inkube.apiserver.registry import Request
from inkube.controllers.client import Event
from inkube.schemas import status
from inkube.schemas.clock import Clock

DISCONNECTED = "the connection was cut, by a Fault"


class FaultInjection:
    """Finds and applies the faults of requests of an `InProcessClient`."""

    def __init__(self, faults: Faults, clock: Clock) -> None:
        self._faults = faults
        self._clock = clock

    def of(self, request: Request) -> Injection | None:
        """Return the effects of the faults that match a request, or None."""
        if self._faults.rules is None:
            return None
        facts = faults.rules.RequestFacts(
            request.verb,
            request.resource.group,
            request.resource.plural,
            request.subresource,
            request.namespace,
            request.name,
            request.user.name,
            request.user.groups,
            inside=True,
        )
        return self._faults.injection_for_client(facts)

    async def begin(self, injection: Injection) -> None:
        """Apply the effects that precede the request. Raises StatusError."""
        if injection.delay:
            await self._clock.sleep(injection.delay)
        await injection.hold(is_after=False)
        if not injection.carried_out:
            _raise_fault(injection)

    async def end(self, injection: Injection) -> None:
        """Apply the effects that follow a request that was carried out. Raises StatusError."""
        await injection.hold(is_after=True)
        _raise_fault(injection)


async def cut_off(
    events: AsyncGenerator[Event, None], fault: WatchFault
) -> AsyncGenerator[Event, None]:
    """Yield the events until a fault ends the watch, or silences it. Raises StatusError 410."""
    sent = 0
    try:
        async for event in events:
            is_bookmark = event.type == "BOOKMARK"
            if is_bookmark and fault.without_bookmarks:
                continue
            if fault.events is not None:
                if sent >= fault.events:
                    if fault.end == "Silent":
                        continue
                    if fault.end == "Expired":
                        raise status.expired("too old resource version, by a Fault")
                    return
                sent += not is_bookmark
            yield event
    finally:
        await events.aclose()


def _raise_fault(injection: Injection) -> None:
    if injection.refusal is not None:
        raise injection.refusal
    if injection.disconnects:
        raise status.unavailable(DISCONNECTED)
