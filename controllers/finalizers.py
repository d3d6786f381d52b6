"""Finalizers of a kind: steps that a controller runs in order before an object is removed.

    KindModule(Probe, finalizers=Finalizers(Finalizer("example.com/stop", stop)))

An object that is written without finalizers gets the `default` ones. During its deletion, the steps
of its finalizers run in the order of their declaration, then one patch removes all these
finalizers. A step that fails raises CannotFinish or another exception: the object shows the reason
in `status`, if the kind has a member for it, and the step is repeated with back-off. Steps are
level-based: a step can run twice. Finalizers that are not declared here are ignored.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from inkube.controllers.client import Object, ignoring
from inkube.controllers.environment import Environment
from inkube.controllers.informer import Change, Key
from inkube.controllers.manager import Controller, Result, Watch
from inkube.schemas import models

Step = Callable[[Any, Environment], Awaitable[None]]
"""`async def step(obj, env)`: called with the typed object that is being deleted."""


class CannotFinish(Exception):
    """A step failed. The text is the reason, for users."""


@dataclass(frozen=True, slots=True)
class Finalizer:
    """One step, and its name in `metadata.finalizers`."""

    name: str
    step: Step


class Finalizers:
    """The steps of a kind, and the names of the default finalizers.

    `reason_member` is the member of `status` for the reason why an object is not removed yet.
    """

    def __init__(
        self, *steps: Finalizer, default: Sequence[str] | None = None, reason_member: str = ""
    ) -> None:
        self.steps: Sequence[Finalizer] = steps
        self._default = [each.name for each in steps] if default is None else list(default)
        self._reason_member = reason_member

    @property
    def names(self) -> frozenset[str]:
        """The names of all declared finalizers."""
        return frozenset(each.name for each in self.steps)

    def add_defaults(self, obj: Object) -> None:
        """Add the default finalizers to an object without finalizers that is not in deletion."""
        metadata = obj["metadata"]
        if self._default and not metadata.get("deletionTimestamp"):
            metadata["finalizers"] = metadata.get("finalizers") or list(self._default)

    def controller(self, model: type[models.Resource], env: Environment) -> Controller:
        """Return the controller that runs the steps of objects in deletion."""

        async def reconcile(key: Key) -> Result | None:
            with ignoring(404):  # it was removed meanwhile
                obj = await env.client.get(model.gvr, key.name, key.namespace)
                if _is_terminating(obj):
                    await self._finish(obj, model, env)
            return None

        name = f"{model.gvr.resource}.{model.gvr.group} finalizers"
        return Controller(name, reconcile, (Watch(model.gvr, _keys_of_terminating),))

    async def _finish(self, obj: Object, model: type[models.Resource], env: Environment) -> None:
        present = obj["metadata"].get("finalizers") or []
        typed = models.parse(model, obj)
        for each in self.steps:
            if each.name not in present:
                continue
            try:
                await each.step(typed, env)
            except Exception as error:
                await self._write_reason(obj, model, env, str(error) or type(error).__name__)
                raise
        left = [name for name in present if name not in self.names]
        if left == present:
            return
        taken = [
            {"op": "test", "path": "/metadata/uid", "value": obj["metadata"]["uid"]},
            {"op": "test", "path": "/metadata/finalizers", "value": present},
            {"op": "replace", "path": "/metadata/finalizers", "value": left},
        ]
        metadata = obj["metadata"]
        await env.client.patch(
            model.gvr, metadata["name"], metadata.get("namespace", ""), patch=taken, type="json"
        )

    async def _write_reason(
        self, obj: Object, model: type[models.Resource], env: Environment, cause: str
    ) -> None:
        text = f"remove finalizers: {cause}"
        if not self._reason_member or (obj.get("status") or {}).get(self._reason_member) == text:
            return
        metadata = obj["metadata"]
        await env.client.patch(
            model.gvr,
            metadata["name"],
            metadata.get("namespace", ""),
            patch={"metadata": {"uid": metadata["uid"]}, "status": {self._reason_member: text}},
            subresource="status",
        )


def _is_terminating(obj: Object) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))


def _keys_of_terminating(change: Change) -> list[Key]:
    return [Key.of(change.new)] if change.new is not None and _is_terminating(change.new) else []
