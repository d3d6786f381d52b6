"""Objects as their kind's own code writes them: several in one commit, past rules and admission.

For what follows from something else: objects that mirror what is outside, or that change because
another one did. Clients' rules do not hold for them, so nothing a client sends may come here
unchecked. The composition root puts the implementation into the environment.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from inkube.controllers.client import Object

MOST = 200
"""Records of one commit."""


class Record(NamedTuple):
    """One object's part of a commit.

    An update or delete applies only to the resourceVersion in its object. A created object gets
    missing members: uid, creationTimestamp and generation.
    """

    change: Literal["create", "update", "delete"]
    object: Object


class Records(Protocol):
    """Writes records."""

    async def commit(self, records: Sequence[Record]) -> list[Object]:
        """All of them or none; what is stored then. Raises StatusError 404 or 409."""
        ...


class NoRecords:
    """An environment without a store."""

    async def commit(self, records: Sequence[Record]) -> list[Object]:
        """Raises RuntimeError."""
        raise RuntimeError("this environment has no place for records")
