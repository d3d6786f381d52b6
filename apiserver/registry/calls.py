"""A call: one verb on one resource by one user, the same for HTTP and the in-process client."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from inkube.apiserver.registry.resources import Resource
from inkube.apiserver.registry.worker import HEAVY
from inkube.schemas.objects import Empty, Object
from inkube.schemas.served import Served
from inkube.schemas.strategy import User
from inkube.storage import Entry

__all__ = ["ADMIN", "NO_OPTIONS", "Call", "DeleteOptions", "User", "WriteOptions"]

ADMIN = User("system:admin", groups=("system:masters", "system:authenticated"))


class WriteOptions(NamedTuple):
    """CreateOptions, UpdateOptions and PatchOptions in one; `validation` is fieldValidation."""

    dry_run: bool = False
    field_manager: str = ""
    validation: str = "Warn"
    force: bool = False
    told_validation: str = ""
    """fieldValidation as the request has it; "" where it says nothing."""


NO_OPTIONS = WriteOptions()


class DeleteOptions(NamedTuple):
    """metav1.DeleteOptions; None where the client said nothing. `grace` is in seconds."""

    dry_run: bool = False
    grace: int | None = None
    orphan: bool | None = None
    propagation: str | None = None
    uid: str | None = None
    resource_version: str | None = None


@dataclass(slots=True)
class Call:
    """One request on its way through registry and admission. The keys of `warnings` become headers,
    in the order of the first telling."""

    verb: str
    resource: Resource
    served: Served
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    user: User = ADMIN
    options: WriteOptions = NO_OPTIONS
    manager: str = ""
    """Who owns what this write sets: fieldManager, or the head of the user agent."""
    generated: str = ""
    """What the server made the name from: generateName, or what the kind names objects by."""
    warnings: dict[str, None] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    """What admission leaves in the audit log."""
    in_collection: bool = False
    """Whether the object goes with a whole collection: admission is told no name then."""
    timeout: float = math.inf
    """Seconds the client gives the request, where it says so."""
    is_current: bool = False
    """Whether the store has come to what was newest when the request came: to ask once more would
    tell nothing that it has to know, and takes 4 µs."""
    empties: Sequence[Empty] = ()
    """Empty lists and maps of the body, which are not stored, and which validation sees."""
    weight: int = 0
    """Bytes of the request's body: much of it is worked on beside the event loop."""

    @property
    def key(self) -> str:
        """Where the object is stored."""
        return self.resource.key(self.namespace, self.name)

    @property
    def effort(self) -> int:
        """`weight`, or enough to leave the event loop where a small object may take long."""
        return HEAVY if self.served.is_costly else self.weight

    def view(self, entry: Entry) -> Object:
        """The stored object in the version of the call; shared, not to be changed."""
        return self.resource.view(entry, self.served)

    def copy(self, entry: Entry) -> Object:
        """The same, to be changed freely."""
        data = entry.data
        if not self.resource.shows(entry, self.served):
            data = orjson.dumps(self.view(entry))
        copied: Object = orjson.loads(data)
        return copied

    def annotate(self, key: str, value: str) -> None:
        """Leave a word in the audit log; the first one stays."""
        self.annotations.setdefault(key, value)

    def warn(self, text: str) -> None:
        """Add a Warning header, once."""
        self.warnings[text] = None

    def take_back(self, kept: int) -> None:
        """Forget the warnings after the first `kept`."""
        while len(self.warnings) > kept:
            self.warnings.popitem()
