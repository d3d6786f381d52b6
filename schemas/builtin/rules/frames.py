"""Where a check stands: the struct it looks at, what it was before, and what it stands in."""

from collections.abc import Callable, Iterable
from typing import Any

from inkube.schemas import releases
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object

Check = Callable[[Any, str, "Frame"], Iterable[FieldError] | None]
"""(value, its path, the struct it stands in) → what is wrong with it."""


class Frame:
    """One struct on the way down. `old` is the same place before an update, None where there is
    none; `prefix` is the struct's path with a dot behind it, "" at the root."""

    __slots__ = ("_facts", "minor", "obj", "old", "prefix", "up", "updates")

    def __init__(
        self,
        obj: Object,
        prefix: str,
        old: Object | None,
        up: "Frame | None",
        *,
        updates: bool,
        minor: int = releases.NEWEST.minor,
    ) -> None:
        self.obj = obj
        self.old = old
        self.prefix = prefix
        self.up = up
        self._facts: dict[str, Any] | None = None
        self.minor = minor
        """Of whose rules the check is one."""
        self.updates = updates
        """Whether something is changed, and not created."""

    @property
    def facts(self) -> dict[str, Any]:
        """What checks of the struct's fields keep for those after them, by names of their own."""
        if self._facts is None:
            self._facts = {}
        return self._facts

    @property
    def path(self) -> str:
        """The struct's own path."""
        return self.prefix[:-1]

    @property
    def root(self) -> "Frame":
        """The whole object."""
        frame = self
        while frame.up is not None:
            frame = frame.up
        return frame

    def firsts(self, items: str, member: str) -> dict[Any, Object]:
        """Of each value that a member has in a list of this struct, the first item with it; a
        member that is missing counts as "". Looked for once, so that a check of every item takes
        no longer than the list."""
        name = f"first {items} by {member}"
        if name not in self.facts:
            every = self.obj.get(items) or ()
            self.facts[name] = {each.get(member, ""): each for each in reversed(every)}
        found: dict[Any, Object] = self.facts[name]
        return found

    def outer(self, member: str) -> "Frame | None":
        """The nearest struct around this one, or itself, that has a member of that name."""
        frame: Frame | None = self
        while frame is not None and member not in frame.obj:
            frame = frame.up
        return frame


def child(obj: Object, prefix: str, old: Any, up: Frame) -> Frame:
    """The frame of a struct inside of another."""
    return Frame(
        obj, prefix, old if isinstance(old, dict) else None, up, updates=up.updates, minor=up.minor
    )
