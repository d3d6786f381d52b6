"""Writes by the code of a kind: several objects in one commit, without rules and admission.

They are for derived objects: objects that mirror an outside system, or that change because another
object did. The rules for clients do not apply, so data of clients must be checked before. The
composition root adds the implementation to the environment.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from inkube.controllers.client import Object

MOST = 200
"""Records of one commit, at most."""


class Record(NamedTuple):
    """The change of one object in a commit.

    An update or delete applies only to the resourceVersion in its object. A created object gets
    missing members: uid, creationTimestamp and generation.
    """

    change: Literal["create", "update", "delete"]
    object: Object


class Records(Protocol):
    """Writes records."""

    async def commit(self, records: Sequence[Record]) -> list[Object]:
        """Commit all records or none; returns the stored objects. Raises StatusError 404 or 409."""
        ...


class NoRecords:
    """An environment without a store."""

    async def commit(self, records: Sequence[Record]) -> list[Object]:
        """Raise RuntimeError, because the environment has no store."""
        raise RuntimeError("this environment has no store for records")
