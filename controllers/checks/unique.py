"""Values that only one object of a kind can have, such as the name of a topic on a broker.

Two writes at the same time can both be accepted, so this is a live check. Of two objects with a
value, the older one keeps it. Objects with the same value are checked again when one of them
changes or goes.
"""

from typing import Any, Generic, TypeVar

from inkube.controllers.checks.declare import Check, field_exists
from inkube.controllers.checks.errors import Duplicate, Problem
from inkube.controllers.checks.run import Run
from inkube.controllers.checks.status import value_at
from inkube.controllers.client import Object
from inkube.controllers.environment import Environment
from inkube.controllers.informer import Change, Index, Key
from inkube.controllers.manager import Watch
from inkube.schemas import models
from inkube.schemas.fielderrors import OMITTED

R = TypeVar("R", bound=models.Resource)


class Unique(Generic[R]):
    """The rule for one field. Raises TypeError for a field that the model does not have."""

    def __init__(self, model: type[R], field: str) -> None:
        if not field_exists(model, field):
            raise TypeError(f"{model.__name__} has no field {field!r}")
        self._model = model
        self._field = field
        name = f"unique_{field.rpartition('.')[2]}"
        self.check: Check[R] = Check(name, model, field, self._find, ("run",))
        """The check for `KindModule.checks`."""

    async def _find(self, obj: R, run: Run[R]) -> Problem | None:
        own = run.raw
        others = [other for other in await self._sharing(own, run.env) if _rank(other) < _rank(own)]
        if not others:
            return None
        first = min(others, key=_rank)["metadata"]["name"]
        return Duplicate(f"{self._model.definition.names.kind} {first} already has this value")

    async def _sharing(self, own: Object, env: Environment) -> list[Object]:
        """Return the other objects with the value, from up-to-date data."""
        values = self._values(own)
        informer = env.informers.of(self._model.gvr)
        if env.informers.is_running:
            await informer.caught_up()
            index = informer.index(self._values)
            found = [informer.get(key) for value in values for key in index.keys(value)]
        else:
            listed = (await env.client.list(self._model.gvr)).items
            found = [each for each in listed if self._values(each) == values != []]
        name = own["metadata"].get("name")
        return [
            each
            for each in found
            if each is not None
            and each["metadata"]["name"] != name
            and not each["metadata"].get("deletionTimestamp")
        ]

    def watch(self, env: Environment) -> Watch:
        """Return the watch that checks objects again when another one takes or leaves their
        value."""
        index: Index = env.informers.of(self._model.gvr).index(self._values)

        def keys(change: Change) -> list[Key]:
            objects = [each for each in (change.old, change.new) if each is not None]
            values = {value for each in objects for value in self._values(each)}
            if len(objects) == 2 and len(values) < 2:
                return []
            found = {key for value in values for key in index.keys(value)}
            return sorted(found - {Key.of(change.object)})

        return Watch(self._model.gvr, keys)

    def _values(self, obj: Object) -> list[str]:
        """Return the value with its namespace as a text; [] without a value."""
        value: Any = value_at(obj, self._field)
        is_empty = value is OMITTED or value in (None, "")
        return [] if is_empty else [f"{obj['metadata'].get('namespace', '')} {value!r}"]


def _rank(obj: Object) -> tuple[str, str]:
    """Return the rank: the object with the smaller one keeps a value. New objects have no time."""
    metadata = obj["metadata"]
    return metadata.get("creationTimestamp") or "9999", metadata.get("name") or ""
