"""A scenario: a controller, the objects that exist before it starts, and the steps of a user.

    controller: [python, operator.py]
    definitions: [definition.yaml]
    steps:
      - apply: boat.yaml
      - patch: {resource: example.com/v1/boats, name: a, patch: {spec: {size: 2}}}
      - delete: {resource: example.com/v1/boats, name: a}
    rules:
      - {name: never more than five, kind: Deployment, cel: object.spec.replicas <= 5}

Files are relative to the folder of the scenario. `plans` name the disturbances; without them, they
are derived.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError

from inkube.apiserver import manifests
from inkube.apiserver.explore import actions
from inkube.apiserver.explore.actions import MAX_STEPS, Action, ScenarioError, Step, Strict
from inkube.apiserver.explore.controllers import Command, Controller, Suite
from inkube.apiserver.explore.invariants import CelRule, Rule
from inkube.apiserver.explore.plans import Plan, PlanDocument
from inkube.schemas.objects import Object

QUIET_SECONDS = 0.5
"""The default time without a write after which a scenario counts as converged."""
LIMIT_SECONDS = 15.0
"""The default time within which a step converges: beyond it, the controller is stuck."""


class Converged(Strict):
    """When a step has ended: `quiet` seconds without a write, within `within` seconds."""

    quiet: float = Field(default=QUIET_SECONDS, gt=0, le=60)
    within: float = Field(default=LIMIT_SECONDS, gt=0, le=3600)


class _File(Strict):
    """A scenario as a document."""

    controller: str | list[str] | None = None
    suite: str | list[str] | None = None
    agents: list[str] = Field(default_factory=list, max_length=MAX_STEPS)
    environment: dict[str, str] = Field(default_factory=dict)
    definitions: list[str] = Field(default_factory=list)
    objects: list[Any] = Field(default_factory=list)
    steps: list[Step] = Field(default_factory=list, max_length=MAX_STEPS)
    converged: Converged = Field(default_factory=Converged)
    workloads: bool = False
    ignore: list[str] = Field(default_factory=list)
    rules: list[CelRule] = Field(default_factory=list, max_length=MAX_STEPS)
    plans: list[PlanDocument] = Field(default_factory=list, max_length=1000)


@dataclass(frozen=True, slots=True)
class InProcess:
    """The controllers of a server with these options: `{"kinds": [Boats]}`, `{"workloads": True}`.

    To kill them is to start another server with the same stored objects.
    """

    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The names of the options."""
        return f"controllers of a server with {', '.join(self.options) or 'default options'}"


@dataclass(frozen=True, slots=True)
class Scenario:
    """A controller, the state in which it starts, and the steps of a user."""

    controller: Controller | InProcess | Suite
    steps: Sequence[Action] = ()
    """What a user does. A suite does this itself."""
    definitions: Sequence[manifests.Source] = ()
    """CRDs and objects that exist before the controller starts: files, folders, objects."""
    converged: Converged = field(default_factory=Converged)
    workloads: bool = False
    """Whether inkube's own workload controllers run, on simulated nodes."""
    ignore: frozenset[str] = frozenset()
    """Resources that do not belong to the end state, as `plural.group` or `plural`."""
    rules: Sequence[Rule] = ()
    """Conditions for each change of each object, in each run."""
    plans: Sequence[Plan] = ()
    """The disturbances; without them, they are derived from what the controller writes."""


def read(path: Path, command: Sequence[str] = ()) -> Scenario:
    """Return the scenario of a file. A `command` takes precedence over its controller. Raises
    ScenarioError, OSError."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: no text in UTF-8") from error
    return _parsed(text, str(path), path.parent, command, None)


def parse(text: str, controller: Controller | InProcess | Suite | None = None) -> Scenario:
    """Return the scenario of a YAML document. A `controller` takes precedence over that of the
    document. Files are relative to the current folder. Raises ScenarioError, OSError."""
    return _parsed(text, "the scenario", Path(), (), controller)


def _parsed(
    text: str,
    source: str,
    folder: Path,
    command: Sequence[str],
    controller: Controller | InProcess | Suite | None,
) -> Scenario:
    try:
        value = yaml.safe_load(text)
        if not isinstance(value, dict):
            raise ScenarioError(f"{source}: a scenario is a mapping with steps and a controller")
        described = _File.model_validate(value)
    except (yaml.YAMLError, RecursionError) as error:
        raise ScenarioError(f"{source}: {error}") from error
    except ValidationError as error:
        raise ScenarioError(f"{source}: {_first(error)}") from error
    words = list(command) or _words(described.controller)
    if described.suite is not None:
        if words or described.steps:
            raise ScenarioError(f"{source}: a suite has no controller and no steps: it is both")
        controller = Suite(
            tuple(_words(described.suite)), folder, described.environment, tuple(described.agents)
        )
    elif not described.steps:
        raise ScenarioError(f"{source}: steps: list at least one, or name a suite: `suite: […]`")
    if not words and controller is None:
        raise ScenarioError(f"{source}: name the command of a controller: `controller: […]`")
    steps = tuple(actions.of_step(step, folder) for step in described.steps)
    for plan in described.plans:
        if plan.step >= max(1, len(steps)):
            raise ScenarioError(
                f"{source}: plans: {plan.name!r} has the step {plan.step}, but the steps are 0 to"
                f" {len(steps) - 1}"
            )
    return Scenario(
        controller or Command(tuple(words), folder, described.environment),
        steps,
        actions.objects([*described.definitions, *described.objects], folder),
        described.converged,
        described.workloads,
        frozenset(described.ignore),
        tuple(rule.rule(f"{source}: rules") for rule in described.rules),
        tuple(plan.plan(folder) for plan in described.plans),
    )


def _words(command: str | list[str] | None) -> list[str]:
    return shlex.split(command) if isinstance(command, str) else command or []


def document(scenario: Scenario) -> Object:
    """Return the document of a scenario. It lacks a controller that is not a command, and rules in
    Python. Raises ScenarioError, OSError."""
    found: Object = {}
    controller = scenario.controller
    if isinstance(controller, Command):
        found["controller"] = list(controller.words)
    if isinstance(controller, Command | Suite) and controller.environment:
        found["environment"] = dict(controller.environment)
    if isinstance(controller, Suite):
        found["suite"] = list(controller.words)
        found |= {"agents": list(controller.agents)} if controller.agents else {}
    objects = actions.objects(scenario.definitions, Path())
    found |= {"objects": list(objects)} if objects else {}
    if scenario.steps:
        found["steps"] = [step.document() for step in scenario.steps]
    if converged := scenario.converged.model_dump(exclude_defaults=True):
        found["converged"] = converged
    if scenario.workloads:
        found["workloads"] = True
    if scenario.ignore:
        found["ignore"] = sorted(scenario.ignore)
    if rules := [rule.document() for rule in scenario.rules if rule.cel]:
        found["rules"] = rules
    if scenario.plans:
        found["plans"] = [plan.document() for plan in scenario.plans]
    return found


def of_objects(
    objects: Sequence[Path],
    controller: Controller,
    definitions: Sequence[Path] = (),
    *,
    workloads: bool = False,
) -> Scenario:
    """Return the scenario in which a user creates objects, and then deletes them. Raises
    ScenarioError, OSError."""
    applied = actions.objects(objects, Path())
    if not applied:
        raise ScenarioError("name at least one object with --objects")
    deleted = [actions.deletion(obj) for obj in reversed(applied)]
    return Scenario(
        controller,
        (actions.of_objects(applied), *deleted),
        actions.objects(definitions, Path()),
        workloads=workloads,
    )


def of_suite(
    suite: Suite, definitions: Sequence[Path] = (), *, workloads: bool = False
) -> Scenario:
    """Return the scenario of a test suite. Raises ScenarioError, OSError."""
    return Scenario(suite, definitions=actions.objects(definitions, Path()), workloads=workloads)


def _first(error: ValidationError) -> str:
    found = error.errors()[0]
    place = ".".join(str(part) for part in found["loc"])
    return f"{place}: {found['msg']}" if place else found["msg"]
