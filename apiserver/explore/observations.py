"""What a controller did in a run: its writes, in order, by the step in which they finished."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from inkube.apiserver.http import RequestRecord

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_HEARTBEATS = frozenset({"leases", "events"})


class Write(NamedTuple):
    """One write: its verb and object. `name` is "" if the server generated it."""

    verb: str
    group: str
    version: str
    resource: str
    subresource: str
    namespace: str
    name: str

    @property
    def plural(self) -> str:
        """`deployments.apps/scale`."""
        end = f"/{self.subresource}" if self.subresource else ""
        return f"{self.resource}{'.' if self.group else ''}{self.group}{end}"

    @property
    def kind(self) -> str:
        """The resource as clients in the process write it: `apps/v1/deployments`."""
        return "/".join(part for part in (self.group, self.version, self.resource) if part)

    def __str__(self) -> str:
        end = f"/{self.subresource}" if self.subresource else ""
        return f"{self.verb} {self.resource}/{self.name or '*'}{end}"


class Occurrence(NamedTuple):
    """The `number`-th time (from 1) that a controller sends a write during a step."""

    write: Write
    number: int
    step: int

    def __str__(self) -> str:
        return f"{self.write} #{self.number}"


class Read(NamedTuple):
    """A list of a collection, which a controller sent at its start."""

    group: str
    resource: str

    @property
    def plural(self) -> str:
        """`deployments.apps`."""
        return f"{self.resource}{'.' if self.group else ''}{self.group}"


class Lease(NamedTuple):
    """A lease that a controller holds while it is the leader."""

    namespace: str
    name: str


def leases(records: Iterable[RequestRecord]) -> list[Lease]:
    """Return the leases that a controller writes, each once."""
    found = {
        Lease(record.namespace, write_of(record).name): None
        for record in records
        if record.verb in WRITES and record.resource == "leases"
    }
    return [each for each in found if each.name]


def is_write(record: RequestRecord) -> bool:
    """Return whether a request changes objects that belong to the end state."""
    return record.verb in WRITES and record.resource not in _HEARTBEATS


def write_of(record: RequestRecord) -> Write:
    """Return the write of a request. The name of a created object is that in its body."""
    name = record.name
    if not name and isinstance(record.body, dict):
        meta = record.body.get("metadata")
        name = (meta.get("name") if isinstance(meta, dict) else "") or ""
    return Write(
        record.verb, record.group, record.version, record.resource, record.subresource,
        record.namespace, name,
    )  # fmt: skip


def occurrences(steps: Sequence[Iterable[RequestRecord]]) -> list[Occurrence]:
    """Return the writes of each step, numbered among equal ones of the same step."""
    found = []
    for step, records in enumerate(steps):
        seen: Counter[Write] = Counter()
        for record in records:
            if is_write(record):
                write = write_of(record)
                seen[write] += 1
                found.append(Occurrence(write, seen[write], step))
    return found


def created(steps: Sequence[Iterable[RequestRecord]]) -> dict[tuple[int, Write], dict[str, Any]]:
    """Return the bodies of named objects that are created in each step, as far as they are JSON."""
    return {
        (step, write_of(record)): record.body
        for step, records in enumerate(steps)
        for record in records
        if record.verb == "create" and not record.subresource and isinstance(record.body, dict)
    }


def common(first: Sequence[Occurrence], second: Sequence[Occurrence]) -> list[Occurrence]:
    """Return the writes that both runs have, in the order of the first. What only one of them has
    depends on chance, or on a generated name."""
    known = set(second)
    return [each for each in first if each in known]


def reads(records: Iterable[RequestRecord]) -> list[Read]:
    """Return the collections that a controller lists or watches, each once."""
    found = {
        Read(record.group, record.resource): None
        for record in records
        if record.verb in ("list", "watch") and record.resource not in _HEARTBEATS
    }
    return list(found)
