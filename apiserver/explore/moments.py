"""The moments of an undisturbed run in which a server can be killed: each change of its log."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import orjson

from inkube.apiserver.explore import states
from inkube.apiserver.explore.plans import Moment
from inkube.apiserver.explore.results import StepResult
from inkube.apiserver.sources import Snapshot
from inkube.schemas.objects import Object


class Change(NamedTuple):
    """One change by a controller: a verb, and the object after it, or before its deletion."""

    verb: str
    key: str
    object: Object
    number: int
    """The number of this change among equal ones of the step, from 1."""
    moment: Moment

    @property
    def group(self) -> str:
        """The API group."""
        group, _, _ = str(self.object["apiVersion"]).rpartition("/")
        return group

    @property
    def plural(self) -> str:
        """The plural of the key: `/registry/PLURAL/…`, or `/registry/GROUP/PLURAL/…`."""
        parts = self.key.split("/")
        return parts[3] if parts[2] == self.group else parts[2]

    @property
    def resource(self) -> str:
        """`deployments.apps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


def changes(snapshot: Snapshot, steps: Sequence[StepResult]) -> Iterator[Change]:
    """Yield the changes after each step of the user, from a snapshot with its history."""
    for step in steps:
        seen: Counter[tuple[str, str]] = Counter()
        for record in snapshot.log.records:
            if record.revision not in step.revisions[1:]:
                continue
            obj = orjson.loads(record.data)
            if states.kind_of(obj) in states.IGNORED:
                continue
            verb = "delete" if record.deleted else "update" if record.previous else "create"
            name = _name(obj)
            seen[verb, name] += 1
            when = datetime.fromtimestamp(record.time / 1e6, UTC)
            latest = when if step.acted is None else max(when, step.acted)
            text = f"{verb} of {name} #{seen[verb, name]}"
            moment = Moment(step.index, record.revision, latest, text)
            yield Change(verb, record.key, obj, seen[verb, name], moment)


def _name(obj: Object) -> str:
    meta = obj["metadata"]
    where = f"{meta['namespace']}/" if meta.get("namespace") else ""
    return f"{obj['kind']} {where}{states.stable_name(meta)}"
