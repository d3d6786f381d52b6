"""The effects of faults on one request, as plain values for every room that the request passes."""

from typing import NamedTuple

from inkube.schemas.status import StatusError


class Watching(NamedTuple):
    """How a watch ends: after so many events (None: not before its time) by `Cut`, `Close` or
    `Expired`."""

    events: int | None = None
    end: str = "Cut"
    without_bookmarks: bool = False


class Trouble(NamedTuple):
    """`names` are the faults it comes of."""

    names: tuple[str, ...]
    delay: float = 0.0
    """Seconds before anything else."""
    refusal: StatusError | None = None
    cut: bool = False
    carried_out: bool = False
    """Whether the request is carried out before it is refused or cut off."""
    watching: Watching | None = None
    stale: int = 0
    """A read shows what was before so many changes of what it asks for."""
    rate: int = 0
    """Bytes of the answer per second; 0 is as fast as can be."""

    @property
    def ends(self) -> bool:
        """Whether it leaves nothing for other faults to do."""
        return self.cut or self.refusal is not None

    def and_then(self, other: "Trouble") -> "Trouble":
        """Both of them: pauses add up, of all else the later one counts where it says something."""
        return Trouble(
            names=self.names + other.names,
            delay=self.delay + other.delay,
            refusal=other.refusal or self.refusal,
            cut=self.cut or other.cut,
            carried_out=self.carried_out or other.carried_out,
            watching=other.watching or self.watching,
            stale=other.stale or self.stale,
            rate=other.rate or self.rate,
        )
