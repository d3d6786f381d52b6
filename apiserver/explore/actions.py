"""What a user does: the steps of a scenario as values, and as members of a document."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from inkube.apiserver import manifests
from inkube.schemas.objects import Object

MAX_STEPS = 100


class ScenarioError(ValueError):
    """A scenario that cannot be read. The text contains the file and the member."""


class Strict(BaseModel):
    """A part of a document. Unknown members are errors."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, arbitrary_types_allowed=True)


class Target(Strict):
    """One object: `resource` is `v1/configmaps` or `apps/v1/deployments`."""

    resource: str
    name: str
    namespace: str = "default"


class Patch(Target):
    """A change of one object."""

    patch: Any
    type: Literal["merge", "json", "strategic"] = "merge"


class Step(Strict):
    """One action of a user. Exactly one member is set."""

    apply: str | list[Any] | dict[str, Any] | None = None
    """Files, or objects: created, or changed by server-side apply."""
    patch: Patch | None = None
    delete: Target | None = None
    advance: float | None = Field(default=None, gt=0)
    """Seconds that the clock of the server moves forward."""
    wait: float | None = Field(default=None, gt=0, le=3600)
    """Seconds in which the user does nothing, by the clock of the controller."""
    together: "list[Step] | None" = Field(default=None, max_length=MAX_STEPS)
    """Actions without a wait between them."""

    @model_validator(mode="after")
    def _is_one_action(self) -> Self:
        given = [name for name, value in self if value is not None]
        if len(given) != 1:
            raise ValueError("a step has one of apply, patch, delete, advance, wait, together")
        return self


@dataclass(frozen=True, slots=True)
class Action:
    """One step, with its objects read. `text` names it in reports."""

    text: str
    objects: tuple[Object, ...] = ()
    """Objects to apply."""
    patch: Patch | None = None
    delete: Target | None = None
    advance: float = 0.0
    wait: float = 0.0
    parts: "tuple[Action, ...]" = ()
    """Actions that follow each other without a wait."""

    def document(self) -> Object:
        """Return the action as a step of a document."""
        if self.parts:
            return {"together": [part.document() for part in self.parts]}
        if self.patch is not None:
            return {"patch": self.patch.model_dump(exclude_defaults=True)}
        if self.delete is not None:
            return {"delete": self.delete.model_dump(exclude_defaults=True)}
        if self.wait:
            return {"wait": self.wait}
        return {"advance": self.advance} if self.advance else {"apply": list(self.objects)}

    def applied(self) -> Iterator[Object]:
        """Yield all objects that it applies."""
        yield from self.objects
        for part in self.parts:
            yield from part.applied()


def apply(*sources: manifests.Source) -> Action:
    """Create the objects of files, folders or dicts, or change them. Raises ScenarioError,
    OSError."""
    return of_objects(objects(sources, Path()))


def of_objects(applied: Sequence[Object], note: str = "") -> Action:
    """Create or change these objects. The note says what is special about them."""
    text = "apply " + ", ".join(map(name_of, applied))
    return Action(f"{text} with {note}" if note else text, tuple(applied))


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


def wait(seconds: float) -> Action:
    """Do nothing for some seconds."""
    return Action(f"wait {seconds:g} s", wait=seconds)


def together(*parts: Action) -> Action:
    """Do several things without a wait between them."""
    return Action(" and at once ".join(part.text for part in parts), parts=parts)


def by_the_clock(action: Action) -> Action:
    """Return the action for controllers that use the clock of the server: it moves by waits."""
    parts = tuple(map(by_the_clock, action.parts))
    return replace(action, wait=0.0, advance=action.advance + action.wait, parts=parts)


def deletion(obj: Object) -> Action:
    """Delete an object that was applied."""
    target = Target(
        resource=f"{obj['apiVersion']}/{obj['kind']}",
        name=obj["metadata"]["name"],
        namespace=obj["metadata"].get("namespace", "default"),
    )
    return Action(f"delete {name_of(obj)}", delete=target)


def of_step(step: Step, folder: Path) -> Action:
    """Return the action of a step, whose files are relative to a folder. Raises ScenarioError,
    OSError."""
    if step.apply is not None:
        sources = step.apply if isinstance(step.apply, list) else [step.apply]
        return apply(*objects(sources, folder))
    if step.patch is not None:
        return Action(f"patch {_of(step.patch)}", patch=step.patch)
    if step.delete is not None:
        return Action(f"delete {_of(step.delete)}", delete=step.delete)
    if step.together is not None:
        return together(*(of_step(part, folder) for part in step.together))
    return wait(step.wait) if step.wait is not None else advance(step.advance or 0.0)


def objects(sources: Sequence[Any], folder: Path) -> tuple[Object, ...]:
    """Return the objects of files and mappings. Raises ScenarioError, OSError."""
    try:
        placed = [each if isinstance(each, Mapping) else folder / each for each in sources]
        return tuple(manifest.object for manifest in manifests.read(placed))
    except manifests.ManifestError as error:
        raise ScenarioError(str(error)) from error


def name_of(obj: Object) -> str:
    """`deployment/web`."""
    return f"{obj['kind'].lower()}/{obj['metadata']['name']}"


def _of(target: Target) -> str:
    return f"{target.resource.rpartition('/')[2]}/{target.name}"
