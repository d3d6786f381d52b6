"""The effects of faults on one request, as plain values for every room that the request passes."""

from typing import NamedTuple

from inkube.schemas.status import StatusError


class WatchFault(NamedTuple):
    """How a watch ends: after a number of events (None: at its normal end), by `Cut`, `Close` or
    `Expired`."""

    events: int | None = None
    end: str = "Cut"
    without_bookmarks: bool = False


class Injection(NamedTuple):
    """The combined effects of faults on one request. `names` are those of the faults."""

    names: tuple[str, ...]
    delay: float = 0.0
    """Seconds before any other effect."""
    refusal: StatusError | None = None
    disconnects: bool = False
    carried_out: bool = False
    """Whether the request is carried out before it is rejected or disconnected."""
    watch_fault: WatchFault | None = None
    stale_changes: int = 0
    """A read returns the state before this number of changes to the requested objects."""
    rate: int = 0
    """Bytes of the response per second. 0 means no limit."""

    @property
    def ends(self) -> bool:
        """Whether this excludes further effects."""
        return self.disconnects or self.refusal is not None

    def and_then(self, other: "Injection") -> "Injection":
        """Return the combination of both. Delays are added; for other effects, the later value
        takes precedence if it is set."""
        return Injection(
            names=self.names + other.names,
            delay=self.delay + other.delay,
            refusal=other.refusal or self.refusal,
            disconnects=self.disconnects or other.disconnects,
            carried_out=self.carried_out or other.carried_out,
            watch_fault=other.watch_fault or self.watch_fault,
            stale_changes=other.stale_changes or self.stale_changes,
            rate=other.rate or self.rate,
        )
