"""What a test can look at afterwards: every HTTP request, every change of every object.

Filled in the server's thread, read in the test's; the plugin prints it when a test fails.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from inkube.apiserver.http.records import RequestRecord
from inkube.storage.entry import Change

Object = dict[str, Any]
SHOWN = 60
"""So many of the newest lines are printed of each log."""


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """One change: `type` is ADDED, MODIFIED or DELETED; `object` as it was stored."""

    type: str
    revision: int
    data: bytes

    @property
    def object(self) -> Object:
        """A copy of the object after the change, or before it was deleted."""
        found: Object = orjson.loads(self.data)
        return found

    def __str__(self) -> str:
        obj = self.object
        meta = obj["metadata"]
        name = "/".join(part for part in (meta.get("namespace"), meta["name"]) if part)
        line = f"{self.revision:>6} {self.type:<8} {obj['kind']} {name}"
        if "generation" in meta:
            line += f" generation={meta['generation']}"
        return line + _status(obj)


class TestLog:
    """`requests` in the order they finished, `history` of all objects in the order of revisions."""

    __test__ = False

    def __init__(self) -> None:
        self.requests: list[RequestRecord] = []
        self._changes: list[ObjectChange] = []

    def hear_request(self, record: RequestRecord) -> None:
        """Called by the server."""
        self.requests.append(record)

    def hear_changes(self, changes: Sequence[Change]) -> None:
        """Called by the store with what was committed."""
        self._changes.extend(
            ObjectChange(change.type, change.revision, change.entry.data) for change in changes
        )

    def history(self, kind: str = "", name: str = "", namespace: str = "") -> list[ObjectChange]:
        """The changes of those objects; without arguments of all."""
        return [
            change for change in tuple(self._changes) if _fits(change.object, kind, name, namespace)
        ]

    def sections(self) -> Iterator[tuple[str, str]]:
        """Title and text, for the report of a failed test."""
        if self.requests:
            yield "inkube requests", _tail([str(record) for record in self.requests])
        if self._changes:
            yield "inkube objects", _tail([str(change) for change in self._changes])


def _fits(obj: Object, kind: str, name: str, namespace: str) -> bool:
    meta = obj["metadata"]
    return (
        kind in ("", obj["kind"])
        and name in ("", meta["name"])
        and namespace in ("", meta.get("namespace", ""))
    )


def _status(obj: Object) -> str:
    """Field errors and conditions, shortly."""
    status = obj.get("status")
    if not isinstance(status, dict):
        return ""
    parts = [
        *(f"{each.get('type')}={each.get('status')}" for each in _dicts(status, "conditions")),
        *(f"{each.get('field')}: {each.get('detail')}" for each in _dicts(status, "fieldErrors")),
    ]
    return f" [{'; '.join(parts)}]" if parts else ""


def _dicts(status: Object, member: str) -> list[Object]:
    found = status.get(member)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _tail(lines: list[str]) -> str:
    left_out = len(lines) - SHOWN
    head = [f"… {left_out} earlier ones"] if left_out > 0 else []
    return "\n".join([*head, *lines[-SHOWN:]])
