"""Plans: one disturbance of a scenario each, as data. `runs` carries them out with Faults."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from inkube.schemas.objects import Object

Category = Literal["crash", "error", "race", "away", "stale", "user", "time"]
Then = Literal["crash", "label", "delete", "next", ""]
"""What happens while a request is held: the controller is killed and started again, somebody else
labels or deletes the object, or the user takes the next step."""


class Moment(NamedTuple):
    """The state at a revision, at a time of the server's clock, during a step that a user has
    carried out."""

    step: int
    revision: int
    time: datetime | None
    text: str = ""
    """The change that the revision is: `create of Pod default/web-* #1`."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One disturbance, during one step.

    `faults` are specs of Fault objects, which exist during the step. If `then` is set, the first
    one holds a request, and `then` happens while it waits.
    """

    name: str
    category: Category
    step: int
    faults: tuple[Object, ...] = ()
    then: Then = ""
    target: tuple[str, str, str] = ("", "", "")
    """Resource (`apps/v1/deployments`), namespace and name of the object that `then` changes."""
    is_away: bool = False
    """Whether the controller is killed before the step, and started after it."""
    later_seconds: float = 0.0
    """How far the clock moves after the step has converged."""
    moment: Moment | None = None
    """Where the server is killed and another one starts, if its own controllers are explored."""

    def document(self) -> Object:
        """Return the plan as a document for reports."""
        found: Object = {"name": self.name, "category": self.category, "step": self.step}
        if self.faults:
            found["faults"] = list(self.faults)
        if self.then:
            found["whileHeld"] = self.then
        if self.is_away:
            found["away"] = True
        if self.moment is not None:
            found["restartedAfter"] = self.moment.text
        if self.later_seconds:
            found["laterSeconds"] = self.later_seconds
        return found
