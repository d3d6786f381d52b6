"""A scenario: a controller, the objects that exist before it starts, and the steps of a user.

    controller: [python, operator.py]
    definitions: [definition.yaml]
    steps:
      - apply: boat.yaml
      - patch: {resource: example.com/v1/boats, name: a, patch: {spec: {size: 2}}}
      - delete: {resource: example.com/v1/boats, name: a}

Files are relative to the folder of the scenario.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from inkube.apiserver import manifests
from inkube.apiserver.explore.controllers import Command, Controller
from inkube.schemas.objects import Object

QUIET_SECONDS = 0.5
"""The default time without a write after which a scenario counts as converged."""
LIMIT_SECONDS = 15.0
"""The default time within which a step converges: beyond it, the controller is stuck."""
MAX_STEPS = 100


class ScenarioError(ValueError):
    """A scenario that cannot be read. The text contains the file and the member."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True, arbitrary_types_allowed=True)


class Target(_Strict):
    """One object: `resource` is `v1/configmaps` or `apps/v1/deployments`."""

    resource: str
    name: str
    namespace: str = "default"


class Patch(Target):
    """A change of one object."""

    patch: Any
    type: Literal["merge", "json", "strategic"] = "merge"


class Step(_Strict):
    """One action of a user. Exactly one member is set."""

    apply: str | list[Any] | dict[str, Any] | None = None
    """Files, or objects: created, or changed by server-side apply."""
    patch: Patch | None = None
    delete: Target | None = None
    advance: float | None = Field(default=None, gt=0)
    """Seconds that the clock of the server moves forward."""

    @model_validator(mode="after")
    def _is_one_action(self) -> Self:
        given = [name for name, value in self if value is not None]
        if len(given) != 1:
            raise ValueError("a step has one of apply, patch, delete, advance")
        return self


class Converged(_Strict):
    """When a step has ended: `quiet` seconds without a write, within `within` seconds."""

    quiet: float = Field(default=QUIET_SECONDS, gt=0, le=60)
    within: float = Field(default=LIMIT_SECONDS, gt=0, le=3600)


class _File(_Strict):
    """A scenario as a document."""

    controller: str | list[str] | None = None
    environment: dict[str, str] = Field(default_factory=dict)
    definitions: list[str] = Field(default_factory=list)
    objects: list[Any] = Field(default_factory=list)
    steps: list[Step] = Field(min_length=1, max_length=MAX_STEPS)
    converged: Converged = Field(default_factory=Converged)
    workloads: bool = False
    ignore: list[str] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Action:
    """One step, with its objects read. `text` names it in reports."""

    text: str
    objects: tuple[Object, ...] = ()
    """Objects to apply."""
    patch: Patch | None = None
    delete: Target | None = None
    advance: float = 0.0


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

    controller: Controller | InProcess
    steps: Sequence[Action]
    definitions: Sequence[manifests.Source] = ()
    """CRDs and objects that exist before the controller starts: files, folders, objects."""
    converged: Converged = field(default_factory=Converged)
    workloads: bool = False
    """Whether inkube's own workload controllers run, on simulated nodes."""
    ignore: frozenset[str] = frozenset()
    """Resources that do not belong to the end state, as `plural.group` or `plural`."""


def apply(*sources: manifests.Source) -> Action:
    """Create the objects of files, folders or dicts, or change them. Raises ScenarioError,
    OSError."""
    objects = _objects(sources, Path())
    return Action("apply " + ", ".join(map(_name, objects)), objects)


def patch(resource: str, name: str, patch: Any, namespace: str = "default") -> Action:
    """Change an object by a merge patch."""
    target = Patch(resource=resource, name=name, namespace=namespace, patch=patch)
    return Action(f"patch {_of(target)}", patch=target)


def delete(resource: str, name: str, namespace: str = "default") -> Action:
    """Delete an object."""
    target = Target(resource=resource, name=name, namespace=namespace)
    return Action(f"delete {_of(target)}", delete=target)


def advance(seconds: float) -> Action:
    """Move the clock of the server."""
    return Action(f"advance {seconds:g} s", advance=seconds)


def read(path: Path, command: Sequence[str] = ()) -> Scenario:
    """Return the scenario of a file. A `command` takes precedence over its controller. Raises
    ScenarioError, OSError."""
    try:
        document = yaml.safe_load(path.read_text())
        described = _File.model_validate(document)
    except yaml.YAMLError as error:
        raise ScenarioError(f"{path}: {error}") from error
    except ValidationError as error:
        raise ScenarioError(f"{path}: {_first(error)}") from error
    folder = path.parent
    told = described.controller
    words = list(command) or (shlex.split(told) if isinstance(told, str) else told or [])
    if not words:
        raise ScenarioError(f"{path}: name the command of a controller: `controller: […]`")
    definitions = _objects([*described.definitions, *described.objects], folder)
    return Scenario(
        Command(tuple(words), folder, described.environment),
        tuple(_action(step, folder) for step in described.steps),
        definitions,
        described.converged,
        described.workloads,
        frozenset(described.ignore),
    )


def of_objects(
    objects: Sequence[Path],
    controller: Controller,
    definitions: Sequence[Path] = (),
    *,
    workloads: bool = False,
) -> Scenario:
    """Return the scenario in which a user creates objects, and then deletes them. Raises
    ScenarioError, OSError."""
    applied = _objects(objects, Path())
    if not applied:
        raise ScenarioError("name at least one object with --objects")
    created = apply(*applied)
    deleted = [_deletion(obj) for obj in reversed(applied)]
    return Scenario(
        controller, (created, *deleted), _objects(definitions, Path()), workloads=workloads
    )


def _deletion(obj: Object) -> Action:
    target = Target(
        resource=f"{obj['apiVersion']}/{obj['kind']}",
        name=obj["metadata"]["name"],
        namespace=obj["metadata"].get("namespace", "default"),
    )
    return Action(f"delete {_name(obj)}", delete=target)


def _action(step: Step, folder: Path) -> Action:
    if step.apply is not None:
        return apply(
            *_objects(step.apply if isinstance(step.apply, list) else [step.apply], folder)
        )
    if step.patch is not None:
        return Action(f"patch {_of(step.patch)}", patch=step.patch)
    if step.delete is not None:
        return Action(f"delete {_of(step.delete)}", delete=step.delete)
    return advance(step.advance or 0.0)


def _objects(sources: Sequence[Any], folder: Path) -> tuple[Object, ...]:
    try:
        placed = [each if isinstance(each, Mapping) else folder / each for each in sources]
        return tuple(manifest.object for manifest in manifests.read(placed))
    except manifests.ManifestError as error:
        raise ScenarioError(str(error)) from error


def _name(obj: Object) -> str:
    return f"{obj['kind'].lower()}/{obj['metadata']['name']}"


def _of(target: Target) -> str:
    return f"{target.resource.rpartition('/')[2]}/{target.name}"


def _first(error: ValidationError) -> str:
    found = error.errors()[0]
    place = ".".join(str(part) for part in found["loc"])
    return f"{place}: {found['msg']}" if place else found["msg"]
