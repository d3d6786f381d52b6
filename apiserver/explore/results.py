"""How a run of a scenario ended, as data for the judges."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

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
    """From the state after the user's action to the end, of controllers in the server."""
    acted: datetime | None = None
    """The time of the server's clock after the user's action."""


@dataclass(slots=True)
class Result:
    """A finished run. A run ends with the first step whose state is not the expected one."""

    steps: list[StepResult] = field(default_factory=list)
    struck: bool = True
    """Whether the disturbance of the plan took place."""
    exit_code: int | None = None
    """The exit code of a controller that ended by itself."""
    log: str = ""
    """The end of the controller's output."""
    history: list[str] = field(default_factory=list)
    """The last changes of objects, as text."""
    snapshot: Snapshot | None = None
    errors: list[str] = field(default_factory=list)
    """Exceptions that controllers in the server logged, without those of Faults."""
    error: str = ""
    """Why the run could not be carried out."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The end states of the undisturbed run, by step, and the places that differ by chance."""

    states: Sequence[State]
    seconds: Sequence[float]
    masked: frozenset[Any]
