"""A request: what a client asked, the same for HTTP, subresources and the client in the process.

A Request never changes. `intake.request` creates it. Its `Notes` collect what the server tells
about it besides the response.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from inkube.apiserver.registry import keys
from inkube.apiserver.registry.lifetimes import Lifetime
from inkube.apiserver.registry.resource import Resource
from inkube.schemas.objects import Empty, Object
from inkube.schemas.served import Served
from inkube.schemas.strategy import User
from inkube.storage import Consent, Entry

__all__ = ["ADMIN", "NO_OPTIONS", "Body", "DeleteOptions", "Notes", "Patch", "Request", "User"]

ADMIN = User("system:admin", groups=("system:masters", "system:authenticated"))
LIGHT = 8 * 1024  # bytes that take some milliseconds, with any content
HEAVY = LIGHT + 1  # the weight of work that can take long at any size


class WriteOptions(NamedTuple):
    """The members of CreateOptions, UpdateOptions and PatchOptions. `validation` is
    fieldValidation."""

    dry_run: bool = False
    field_manager: str = ""
    validation: str = "Warn"
    force: bool = False
    told_validation: str = ""
    """fieldValidation of the request; "" if the request does not contain it."""


NO_OPTIONS = WriteOptions()


class DeleteOptions(NamedTuple):
    """metav1.DeleteOptions; None for an option that the client left out. `grace` is in seconds."""

    dry_run: bool = False
    grace: int | None = None
    orphan: bool | None = None
    propagation: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    preconditioned: bool = False
    """Whether a body has preconditions, even empty ones, which webhooks and policies see."""


class ListOptions(NamedTuple):
    """metav1.ListOptions, parsed and checked."""

    labels: str = ""
    fields: str = ""
    limit: int = 0
    token: str = ""
    resource_version: str = ""
    match: str = ""
    watch: bool = False
    bookmarks: bool = False
    timeout: float | None = None
    initial_events: bool | None = None


NO_SELECTION = ListOptions()


class Notes:
    """The Warning headers of a response, and what its audit event tells besides the request."""

    __slots__ = ("annotations", "name", "warnings")

    def __init__(self) -> None:
        self.warnings: dict[str, None] = {}
        """The texts, in the order in which they were first added."""
        self.annotations: dict[str, str] = {}
        self.name = ""
        """The name of a new object; "" for other requests and for a generated one."""

    def warn(self, text: str) -> None:
        """Add a Warning header, once."""
        self.warnings[text] = None

    def annotate(self, key: str, value: str) -> None:
        """Add an annotation to the audit event. The first value of a key stays."""
        self.annotations.setdefault(key, value)

    def add(self, others: "Notes") -> None:
        """Add the notes of a write."""
        self.warnings.update(others.warnings)
        self.annotations = {**others.annotations, **self.annotations}
        self.name = others.name or self.name

    def clear(self) -> None:
        """Remove all warnings and annotations."""
        self.warnings.clear()
        self.annotations.clear()


class Sealed(dict[str, str]):
    """The secret values of a body by their replacements, until the kind takes them. Its text shows
    none of them."""

    def __repr__(self) -> str:
        return f"<{len(self)} secret values>"


NOTHING_SEALED = Sealed()


class Body(NamedTuple):
    """The object in a request, as `intake` accepted it."""

    object: Object
    size: int = 0
    """The bytes of the encoded object."""
    empties: Sequence[Empty] = ()
    """Its empty lists and maps. They are not stored, but validation sees them."""
    sealed: Sealed = NOTHING_SEALED


class Patch(NamedTuple):
    """A patch document, the errors for its duplicate keys, its text and its size in bytes."""

    value: Any
    duplicates: list[str]
    text: str = ""
    size: int = 0
    sealed: Sealed = NOTHING_SEALED


class Request(NamedTuple):
    """One verb on one resource by one user."""

    verb: str
    resource: Resource
    served: Served
    notes: Notes
    namespace: str = ""
    name: str = ""
    """The name in the address; "" for a collection. A `Write` has the name of its object."""
    subresource: str = ""
    user: User = ADMIN
    options: WriteOptions = NO_OPTIONS
    manager: str = ""
    """The owner of the fields that this request sets: fieldManager, or the first part of the user
    agent."""
    timeout: float = math.inf
    """The client's limit for the request in seconds; infinite without one."""
    in_collection: bool = False
    """Whether the request deletes a collection: admission then receives no name."""
    lifetime: Lifetime | None = None
    """What can end the request before its commit; None for requests of this process."""

    @property
    def key(self) -> str:
        """The key of the object in the store."""
        return self.resource.key(self.namespace, self.name)

    @property
    def checked_key(self) -> str:
        """The key in an error about a precondition. A dry run checks preconditions before the store
        adds its prefix (registry/generic/registry/dryrun.go)."""
        key = keys.of_etcd(self.key)
        return f"/{key.removeprefix(keys.ROOT)}" if self.options.dry_run else key

    @property
    def consent(self) -> Consent | None:
        """Decides, when a commit would begin, whether the client still wants it."""
        return None if self.lifetime is None else self.lifetime.consents

    @property
    def remaining(self) -> float:
        """The seconds that are left for the request; infinite without a limit."""
        return self.timeout if self.lifetime is None else self.lifetime.remaining

    @property
    def warnings(self) -> dict[str, None]:
        """The texts of the Warning headers."""
        return self.notes.warnings

    def warn(self, text: str) -> None:
        """Add a Warning header, once."""
        self.notes.warnings[text] = None

    def effort(self, size: int) -> int:
        """Return the weight of work with `size` bytes: HEAVY if even few bytes can take long."""
        return HEAVY if self.served.is_costly else size

    def view(self, entry: Entry) -> Object:
        """Return the stored object in the version of the request. It is shared: do not change
        it."""
        return self.resource.view(entry, self.served)

    def copy(self, entry: Entry) -> Object:
        """Return a copy of the stored object in the version of the request, which the caller can
        change."""
        data = entry.data
        if not self.resource.shows(entry, self.served):
            data = orjson.dumps(self.view(entry))
        copied: Object = orjson.loads(data)
        return copied
