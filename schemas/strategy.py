"""Decisions in code about the objects of a kind: one strategy per kind.

    Strategy             the hooks, with defaults for kinds that do not override them
    ├── BuiltinStrategy  kinds of kube-apiserver, with a subclass for each kind that needs one
    └── CustomStrategy   custom resources and kinds declared in Python, composed from parts

The `Definition` of a kind contains the facts that do not depend on an object. The hooks have the
names of kube-apiserver's strategies (apiserver/pkg/registry/rest/{create,update,delete}.go). The
registry calls them in the order of this module. They change the object in place. They must not
store, wait or read other objects.
"""

from collections.abc import Awaitable, Callable
from typing import NamedTuple, Self

from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object
from inkube.schemas.ownership import FieldSet, resetfields
from inkube.schemas.served import Served


class User(NamedTuple):
    """The user of a request, as an authenticator identified it."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def info(self) -> Object:
        """authentication/v1 UserInfo, without empty members."""
        extra = {key: list(values) for key, values in self.extra}
        groups = list(self.groups)
        info = {"username": self.name, "uid": self.uid, "groups": groups, "extra": extra}
        return {key: value for key, value in info.items() if value}


_NOBODY = User("")


def _drop(text: str) -> None:
    """Discard a warning."""


class ReservationLost(Exception):  # in the words of what happened
    """Another write took an address or port that this write reserved: this write must restart."""


class Reservation:
    """The shared resources and side effects of one write, until it is stored or refused.

    Preparing an object reserves addresses and ports. The end of the write releases them, stored or
    refused, because a stored object shows which ones are in use. Effects that were written
    elsewhere after all validation (secrets, the usage of quotas) are undone if the write is
    refused.
    """

    __slots__ = ("_releases", "_undos", "checks")

    def __init__(self) -> None:
        self.checks: tuple[Callable[[], None], ...] = ()
        """Called at the commit. Each raises ReservationLost if another write took a reserved
        resource."""
        self._releases: tuple[Callable[[], None], ...] = ()
        self._undos: tuple[Undo, ...] = ()

    def hold(self, release: Callable[[], None]) -> None:
        """Register a function to call at the end of the write, stored or refused."""
        self._releases = (*self._releases, release)

    def require(self, check: Callable[[], None]) -> None:
        """Register a check to call directly before the commit, after all earlier commits."""
        self.checks = (*self.checks, check)

    def written(self, undo: "Undo") -> None:
        """Register a function to await if the write is refused."""
        self._undos = (*self._undos, undo)

    def stored(self) -> None:
        """Drop the undo functions, because the write is committed."""
        self._undos = ()

    async def undo(self, current: Callable[[], Object | None]) -> None:
        """Undo the effects, the last one first. `current` returns the stored object or None."""
        while self._undos:
            *before, last = self._undos
            self._undos = tuple(before)
            await last(current())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        """Release the reserved resources at the end of the write."""
        self.release()

    def release(self) -> None:
        """Release the reserved resources."""
        for release in self._releases:
            release()
        self._releases = ()


Undo = Callable[[Object | None], Awaitable[None]]
"""Undoes one effect of a refused write. The argument is the stored object, None without one."""


class Context(NamedTuple):
    """The write for which the registry calls a hook."""

    served: Served
    """The version of the request, which is the version of the objects."""
    now: str = ""
    """The time of the write, RFC 3339."""
    subresource: str = ""
    """The subresource that the request writes to; "" is the object itself."""
    user: User = _NOBODY
    warn: Callable[[str], None] = _drop
    """Adds a Warning header to the response."""
    reservation: Reservation | None = None
    """The reservation of the write, for the strategy; None if the write is not stored."""


class Strategy:
    """The hooks of the registry."""

    def default(self, obj: Object) -> None:
        """Set the defaults of the kind's defaulting functions; called for every decoded body."""

    def compute_name(self, obj: Object) -> str:
        """Return the name that follows from the rest of an object; "" if clients choose names."""
        return ""

    def name_prefix(self, obj: Object) -> str:
        """Return the prefix for a generated name of an object without one; "" if a name is
        required."""
        return ""

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        """Drop members that a create cannot set; set those that depend on the time and user."""

    def prepare_for_update(self, context: Context, obj: Object, old: Object) -> None:
        """Restore members that a write to this address cannot change, and set the generation.

        The hook receives `obj` with the generation of `old`, and increments it if necessary.
        """

    def validate(self, context: Context, obj: Object) -> list[FieldError]:
        """Return all errors of a new object."""
        return []

    def validate_update(self, context: Context, obj: Object, old: Object) -> list[FieldError]:
        """Return all errors of an update; an error of an unchanged old value can be ratcheted."""
        return []

    def warnings_on_create(self, context: Context, obj: Object) -> list[str]:
        """Return texts for the Warning headers of a create."""
        return []

    def warnings_on_update(self, context: Context, obj: Object, old: Object) -> list[str]:
        """Return texts for the Warning headers of an update."""
        return []

    def canonicalize(self, obj: Object) -> None:
        """Convert a valid object to the form in which it is stored and returned."""

    def reset_fields(self, served: Served, subresource: str) -> FieldSet:
        """Return the fields that a write to this address ignores; its manager does not own them."""
        gvk, status, minor = served.gvk, served.version.status, served.definition.minor
        return resetfields.of_builtin(gvk.group, gvk.kind, subresource, status=status, minor=minor)

    def resets_elsewhere(self, served: Served, subresource: str) -> FieldSet:
        """Return the fields of another version that a write to this address ignores."""
        return self.reset_fields(served, subresource)

    def prepare_for_delete(self, obj: Object, now: str) -> bool:
        """Return whether the kind's own deletion keeps the object for now; marks it as deleted if
        needed.

        `now` is RFC 3339. Called only if the definition has `deletes_in_phases`.
        """
        return False

    def check_graceful_delete(self, obj: Object, requested_seconds: int | None) -> int | None:
        """Return the seconds of a graceful deletion; None if the kind has no graceful deletion."""
        return None

    def should_delete_during_update(self, obj: Object) -> bool:
        """Return whether the kind has no reason of its own to keep an object that is being
        deleted."""
        return True
