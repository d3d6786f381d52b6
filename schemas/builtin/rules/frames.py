"""The context of a check: the struct, its old state, and the structs around it."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from inkube.schemas import releases
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object

Check = Callable[[Any, str, "Frame"], Iterable[FieldError] | None]
"""(value, its path, the frame of its struct) → errors."""


class MetadataChecks(NamedTuple):
    """The checks of an object's metadata, which the words `metadata` and `changes` of a paragraph
    put among its own checks."""

    metadata: Callable[[], list[FieldError]]
    """All checks of a create (ValidateObjectMeta)."""
    changes: Callable[[], list[FieldError]]
    """The comparison with the old metadata (ValidateObjectMetaUpdate)."""


UNCHECKED = MetadataChecks(list, list)
"""No checks of metadata: the errors of an object's own fields."""


class Frame:
    """One struct during the walk through an object. `old` is its state before an update, or None.
    `prefix` is the struct's path with a final dot, "" at the root."""

    __slots__ = ("_facts", "metadata", "minor", "obj", "old", "prefix", "up", "updates")

    def __init__(
        self,
        obj: Object,
        prefix: str,
        old: Object | None,
        up: "Frame | None",
        *,
        updates: bool,
        minor: int = releases.NEWEST.minor,
        metadata: MetadataChecks | None = None,
    ) -> None:
        self.obj = obj
        self.old = old
        self.prefix = prefix
        self.up = up
        self._facts: dict[str, Any] | None = None
        self.minor = minor
        """The minor whose rules apply."""
        self.metadata = metadata
        """The checks of the object's metadata, in the frame of an object that is updated."""
        self.updates = updates
        """Whether the write is an update."""

    @property
    def facts(self) -> dict[str, Any]:
        """Values that checks of the struct's fields store for later checks, by names that they
        choose."""
        if self._facts is None:
            self._facts = {}
        return self._facts

    @property
    def path(self) -> str:
        """The path of the struct."""
        return self.prefix[:-1]

    @property
    def root(self) -> "Frame":
        """The frame of the whole object."""
        frame = self
        while frame.up is not None:
            frame = frame.up
        return frame

    def firsts(self, items: str, member: str) -> dict[Any, Object]:
        """Return the first item in a list of this struct for each value of a member. A missing
        member counts as "". Computed once, so that checks of all items take linear time."""
        name = f"first {items} by {member}"
        if name not in self.facts:
            every = self.obj.get(items) or ()
            self.facts[name] = {each.get(member, ""): each for each in reversed(every)}
        found: dict[Any, Object] = self.facts[name]
        return found

    def outer(self, member: str) -> "Frame | None":
        """Return the nearest frame, from this one outwards, whose struct has that member, or
        None."""
        frame: Frame | None = self
        while frame is not None and member not in frame.obj:
            frame = frame.up
        return frame


def child(obj: Object, prefix: str, old: Any, up: Frame) -> Frame:
    """Return the frame of a struct inside another."""
    return Frame(
        obj, prefix, old if isinstance(old, dict) else None, up, updates=up.updates, minor=up.minor
    )
