"""How a run of a scenario ended, as data for the judges."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from inkube.apiserver.explore.observations import Lease, Read
from inkube.apiserver.explore.states import State
from inkube.apiserver.http import RequestRecord
from inkube.apiserver.sources import Snapshot


@dataclass(slots=True)
class StepResult:
    """How a step ended."""

    state: State
    requests: list[RequestRecord]
    converged: bool
    """Whether the time limit did not end it."""
    seconds: float
    index: int
    """The step of the scenario whose end this is."""
    deleted: frozenset[str] = frozenset()
    """Objects that were removed during the step, as `kind namespace/name`."""
    writes: int = 0
    """The number of writes of the controller."""
    revisions: range = range(0)
    """From the state before the step to its end; of controllers in the server, from the state after
    the user's action."""
    acted: datetime | None = None
    """The time of the server's clock after the user's action."""


@dataclass(slots=True)
class Result:
    """A finished run. A run ends with the first step whose state is not the expected one."""

    steps: list[StepResult] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    """The collections that the controller lists or watches, also at its start."""
    watched: list[Read] = field(default_factory=list)
    """The collections that it watches."""
    leases: list[Lease] = field(default_factory=list)
    """The leases that it writes."""
    struck: bool = True
    """Whether the disturbance of the plan took place."""
    exit_code: int | None = None
    """The exit code of a controller that ended by itself."""
    failed: str = ""
    """How a test suite ended, if it did not pass."""
    log: str = ""
    """The end of the controller's output."""
    history: list[str] = field(default_factory=list)
    """The last changes of objects, as text."""
    snapshot: Snapshot | None = None
    errors: list[str] = field(default_factory=list)
    """Exceptions that controllers in the server logged, without those of Faults."""
    overwritten: list[str] = field(default_factory=list)
    """Objects of the user without the label that somebody else gave them."""
    hot: int = 0
    """How often the controller sent a failing request while it failed, if that was measured."""
    unled: int = 0
    """How many writes the controller sent while somebody else held its lease."""
    broken: list[str] = field(default_factory=list)
    """Own rules that did not hold."""
    error: str = ""
    """Why the run could not be carried out."""
    is_refused: bool = False
    """Whether the error is that the server refused an action of the user."""


@dataclass(frozen=True, slots=True)
class Expected:
    """How the steps of a run have to end, and the places that differ by chance."""

    states: Sequence[State | None]
    """The state after each step; None for any."""
    seconds: Sequence[float]
    """How long each step takes without a disturbance."""
    writes: Sequence[int]
    """The controller's number of writes in each step without a disturbance."""
    masked: frozenset[Any]
    deleted: Sequence[frozenset[str]] | None = None
    """Objects that are removed in each step without a disturbance; None if that is not known."""

    def is_reached(self, index: int, state: State) -> bool:
        """Return whether the state after a step is the expected one."""
        expected = self.states[index]
        return expected is None or not expected.differences(state, self.masked)
