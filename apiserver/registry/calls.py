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


@dataclass(slots=True)
class Call:
    """One request on its way through registry and admission. The keys of `warnings` become Warning
    headers, in the order in which they were first added."""

    verb: str
    resource: Resource
    served: Served
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    user: User = ADMIN
    options: WriteOptions = NO_OPTIONS
    manager: str = ""
    """The owner of the fields that this write sets: fieldManager, or the first part of the user
    agent."""
    generated_prefix: str = ""
    """The prefix of a generated name: generateName, or the prefix of the kind's strategy; else
    ""."""
    warnings: dict[str, None] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    """Annotations from admission for the audit log."""
    in_collection: bool = False
    """Whether the request deletes a collection: admission then receives no name."""
    timeout: float = math.inf
    """The client's limit for the request in seconds; infinite without one."""
    empties: Sequence[Empty] = ()
    """Empty lists and maps of the body. They are not stored, but validation sees them."""
    sealed: dict[str, str] = field(default_factory=dict, repr=False)
    """The secret values of the body by their replacements, until the kind takes them."""
    weight: int = 0
    """Bytes of the request's body or of the stored object, whichever is larger. Large ones are
    processed outside the event loop."""

    @property
    def key(self) -> str:
        """The key of the object in the store."""
        return self.resource.key(self.namespace, self.name)

    @property
    def effort(self) -> int:
        """The weight for the `Worker`: `weight`, or HEAVY if even a small object can take long."""
        return HEAVY if self.served.is_costly else self.weight

    def view(self, entry: Entry) -> Object:
        """Return the stored object in the version of the call. It is shared: do not change it."""
        return self.resource.view(entry, self.served)

    def copy(self, entry: Entry) -> Object:
        """Return a copy of the stored object in the version of the call, which the caller can
        change."""
        data = entry.data
        if not self.resource.shows(entry, self.served):
            data = orjson.dumps(self.view(entry))
        copied: Object = orjson.loads(data)
        return copied

    def annotate(self, key: str, value: str) -> None:
        """Add an annotation to the audit log. The first value of a key stays."""
        self.annotations.setdefault(key, value)

    def warn(self, text: str) -> None:
        """Add a Warning header, once."""
        self.warnings[text] = None

    def take_back(self, kept: int) -> None:
        """Remove the warnings after the first `kept`."""
        while len(self.warnings) > kept:
            self.warnings.popitem()
