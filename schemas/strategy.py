"""What code has to decide about the objects of a kind: one strategy per kind.

    Strategy             the hooks, and what a kind answers that has nothing of its own
    ├── BuiltinStrategy  kinds of kube-apiserver, one class each where there is something to say
    └── CustomStrategy   custom resources and kinds declared in Python, composed from parts

What is known of a kind without looking at an object is in its `Definition`. The hooks have the
names of kube-apiserver's strategies (apiserver/pkg/registry/rest/{create,update,delete}.go). The
registry calls them in the order in which they stand here. They change the object in place; they
must not store, wait or look at other objects.
"""

from collections.abc import Awaitable, Callable
from typing import NamedTuple, Self

from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object
from inkube.schemas.ownership import FieldSet, resetfields
from inkube.schemas.served import Served


class User(NamedTuple):
    """Who asks, as an authenticator found out."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def info(self) -> Object:
        """authentication/v1 UserInfo; what is empty is left out."""
        extra = {key: list(values) for key, values in self.extra}
        groups = list(self.groups)
        found = {"username": self.name, "uid": self.uid, "groups": groups, "extra": extra}
        return {key: value for key, value in found.items() if value}


_NOBODY = User("")


def _drop(text: str) -> None:
    """A warning for nobody."""


class Taken(Exception):  # in the words of what happened
    """Another write has come to something that this one holds: it has to begin anew."""


class Reservation:
    """What one write holds beside its object until it is stored or refused.

    Whatever is shared (addresses, ports) is held where an object is prepared and let go of when the
    write is over: what is stored speaks for itself then. What was written elsewhere after all
    validation (secrets, the usage of quotas) is undone where the write is refused after all.
    """

    __slots__ = ("_releases", "_undos", "checks")

    def __init__(self) -> None:
        self.checks: tuple[Callable[[], None], ...] = ()
        """Raise Taken where somebody else has come to what is held; called at the commit."""
        self._releases: tuple[Callable[[], None], ...] = ()
        self._undos: tuple[Undo, ...] = ()

    @property
    def has_written(self) -> bool:
        """Whether there is anything to undo."""
        return bool(self._undos)

    def hold(self, release: Callable[[], None]) -> None:
        """Call it when the write is over, whatever became of it."""
        self._releases = (*self._releases, release)

    def require(self, check: Callable[[], None]) -> None:
        """Call it when the write is about to be committed, after all that is stored before."""
        self.checks = (*self.checks, check)

    def written(self, undo: "Undo") -> None:
        """Call it where the write is refused."""
        self._undos = (*self._undos, undo)

    def stored(self) -> None:
        """The write is committed: nothing is undone any more."""
        self._undos = ()

    async def undo(self, current: Callable[[], Object | None]) -> None:
        """Undo what was written, the last first. `current` gives what is stored of the object."""
        while self._undos:
            *before, last = self._undos
            self._undos = tuple(before)
            await last(current())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        """The write is over."""
        self.release()

    def release(self) -> None:
        """Let go of what is held."""
        for release in self._releases:
            release()
        self._releases = ()


Undo = Callable[[Object | None], Awaitable[None]]
"""Takes back what a refused write has written; given what is stored of its object."""


class Context(NamedTuple):
    """The write that a hook is called for."""

    served: Served
    """The version of the request, which the objects are in."""
    now: str = ""
    """RFC 3339."""
    subresource: str = ""
    """The address that is written to; "" is the object's own."""
    user: User = _NOBODY
    warn: Callable[[str], None] = _drop
    """Adds a Warning header to the answer."""
    reservation: Reservation | None = None
    """Where a strategy notes what it holds for the write; None where nothing is stored."""


class Strategy:
    """The hooks of the registry."""

    def default(self, obj: Object) -> None:
        """Fill in what the kind's defaulting functions fill in, of every decoded body."""

    def compute_name(self, obj: Object) -> str:
        """The name that follows from the rest of an object; "" where names are chosen."""
        return ""

    def name_prefix(self, obj: Object) -> str:
        """What the server's name for a nameless object begins with; "" where it needs a name."""
        return ""

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        """Drop what a create may not set; set what follows from the time and from who asks."""

    def prepare_for_update(self, context: Context, obj: Object, old: Object) -> None:
        """Keep what this address may not change, and count the generation, which is the old one."""

    def validate(self, context: Context, obj: Object) -> list[FieldError]:
        """Everything wrong with a new object."""
        return []

    def validate_update(self, context: Context, obj: Object, old: Object) -> list[FieldError]:
        """Everything wrong with a change; what stood there before may be ratcheted."""
        return []

    def warnings_on_create(self, context: Context, obj: Object) -> list[str]:
        """Texts for Warning headers."""
        return []

    def warnings_on_update(self, context: Context, obj: Object, old: Object) -> list[str]:
        """The same of a change."""
        return []

    def canonicalize(self, obj: Object) -> None:
        """Bring a valid object into the form in which it is stored and answered."""

    def reset_fields(self, served: Served, subresource: str) -> FieldSet:
        """The fields that a write to this address leaves alone, so that nobody owns them by it."""
        gvk, status = served.gvk, served.version.status
        return resetfields.of_builtin(gvk.group, gvk.kind, subresource, status=status)

    def prepare_for_delete(self, obj: Object, now: str) -> bool:
        """Whether a deletion of the kind's own keeps the object for now; marks it if need be.

        `now` is RFC 3339. Only where the definition `deletes_in_phases`.
        """
        return False

    def check_graceful_delete(self, obj: Object, asked: int | None) -> int | None:
        """Seconds that a graceful deletion takes; None where the kind knows no such thing."""
        return None

    def should_delete_during_update(self, obj: Object) -> bool:
        """Whether nothing of the kind's own holds an object that is being deleted."""
        return True
