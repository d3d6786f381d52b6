"""Plans: one disturbance of a scenario each, as data. `runs` carries them out with Faults."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field

from inkube.apiserver.explore import actions
from inkube.apiserver.explore.actions import MAX_STEPS, Action, Step, Strict, Target
from inkube.schemas.objects import Object

Category = Literal["crash", "error", "race", "away", "events", "stale", "user", "objects", "time"]
Then = Literal[
    "crash", "label", "delete", "create", "next", "wait", "refuse", "lease", "restart", ""
]
"""What happens while a request is held: the controller is killed and started again, somebody else
labels, deletes or creates the object, or the user takes the next step. `wait`: the faults last for
some seconds. `refuse`: so do they, and all watches end. `lease`: somebody else takes the lease.
`restart`: the controller is killed and started again after the step, and then the faults begin."""


class Moment(NamedTuple):
    """The state at a revision, at a time of the server's clock, during a step that a user has
    carried out. A moment of a document has no revision yet."""

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
    foreign: Object | None = None
    """The object that somebody else creates in place of the controller's. It is deleted some
    seconds later, unless it was changed."""
    is_away: bool = False
    """Whether the controller is killed before the step, and started after it."""
    unobserved: str = ""
    """A resource (`deployments.apps`) whose watches end before the step. The first fault lasts
    until the step is done: it holds the new ones, or changes what they show."""
    clock_seconds: float = 0.0
    """How far the clock of the server is ahead of that of the controller, during the whole run."""
    later_seconds: float = 0.0
    """How far the clock moves after the step has converged."""
    moment: Moment | None = None
    """Where the server is killed and another one starts, if its own controllers are explored."""
    steps: tuple[Action, ...] = ()
    """What the user does instead of the scenario up to `step`, by another way to the same end."""
    same_as: tuple[Action, ...] = ()
    """The steps whose end `steps` must have; without them, those of the scenario up to `step`."""

    def document(self) -> Object:
        """Return the plan as a document for reports, and for scenarios that repeat it."""
        found: Object = {"name": self.name, "category": self.category, "step": self.step}
        if self.faults:
            found["faults"] = list(self.faults)
        if self.then:
            found["whileHeld"] = self.then
        if any(self.target):
            resource, namespace, name = self.target
            found["target"] = {"resource": resource, "namespace": namespace, "name": name}
        if self.foreign is not None:
            found["foreign"] = self.foreign
        if self.is_away:
            found["away"] = True
        if self.unobserved:
            found["unobserved"] = self.unobserved
        if self.moment is not None:
            found["restartedAfter"] = self.moment.text
        if self.clock_seconds:
            found["clockSeconds"] = self.clock_seconds
        if self.later_seconds:
            found["laterSeconds"] = self.later_seconds
        for member, steps in (("steps", self.steps), ("sameAs", self.same_as)):
            if steps:
                found[member] = [step.document() for step in steps]
        return found


class PlanDocument(Strict):
    """A plan as a member of a scenario. The members are those of `Plan.document`."""

    name: str
    category: Category = "user"
    step: int = Field(default=0, ge=0, lt=MAX_STEPS)
    faults: list[dict[str, Any]] = Field(default_factory=list, max_length=MAX_STEPS)
    then: Then = Field(default="", alias="whileHeld")
    target: Target | None = None
    foreign: dict[str, Any] | None = None
    is_away: bool = Field(default=False, alias="away")
    unobserved: str = ""
    restarted_after: str | None = Field(default=None, alias="restartedAfter")
    clock_seconds: float = Field(default=0.0, alias="clockSeconds")
    later_seconds: float = Field(default=0.0, ge=0, alias="laterSeconds")
    steps: list[Step] = Field(default_factory=list, max_length=MAX_STEPS)
    same_as: list[Step] = Field(default_factory=list, max_length=MAX_STEPS, alias="sameAs")

    def plan(self, folder: Path) -> Plan:
        """Return the plan. Files are relative to the folder. Raises ScenarioError, OSError."""
        target, restarted = self.target, self.restarted_after
        return Plan(
            self.name, self.category, self.step, tuple(self.faults), self.then,
            (target.resource, target.namespace, target.name) if target else ("", "", ""),
            self.foreign, self.is_away, self.unobserved, self.clock_seconds, self.later_seconds,
            None if restarted is None else Moment(self.step, 0, None, restarted),
            tuple(actions.of_step(step, folder) for step in self.steps),
            tuple(actions.of_step(step, folder) for step in self.same_as),
        )  # fmt: skip


def in_turns(by_category: Iterable[Iterable[Plan]]) -> list[Plan]:
    """Return all plans. Categories take turns, so that a small budget meets each of them."""
    mixed = itertools.zip_longest(*by_category)
    return [plan for row in mixed for plan in row if plan is not None]
