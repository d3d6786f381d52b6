"""The interface that a database must implement for the log."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from inkube.storage.errors import LogError
from inkube.storage.log import Record, Rows
from inkube.storage.sql.statements import Row, Statement


class Connection(Protocol):
    """One connection, used by one coroutine at a time. Raises what its `Database.errors` names."""

    @property
    def closed(self) -> bool:
        """Whether the other end is known to be gone."""
        ...

    async def fetch(self, query: Statement, parameters: Mapping[str, Any]) -> Sequence[Row]:
        """The rows a query finds."""
        ...

    async def joined(self, revision: int, limit: int) -> Rows | None:
        """The result of Statement.ROWS, if the database can join the rows into few values at a
        lower cost; None if the statement must be run row by row."""
        ...

    async def execute(self, statement: Statement, parameters: Mapping[str, Any]) -> None:
        """Carry out a statement; outside of a transaction it is committed at once."""
        ...

    async def begin_set_up(self) -> None:
        """Begin a transaction alone, and make tables and indexes where they are missing."""
        ...

    async def upgrade(self, schema: int) -> None:
        """Make tables of an older schema into those of this one, inside `begin_set_up`."""
        ...

    async def begin(self) -> None:
        """Begin a transaction and take the write lock."""
        ...

    async def begin_compaction(self) -> bool:
        """Begin a transaction that keeps other compactors out; False: one is at work already."""
        ...

    async def commit(self) -> None:
        """Commit the transaction."""
        ...

    async def roll_back(self) -> None:
        """Undo the transaction."""
        ...

    async def append(self, records: Sequence[Record]) -> None:
        """Add rows to the log, inside a transaction that holds the write lock."""
        ...

    async def append_next(self, after: int, records: Sequence[Record]) -> bool:
        """Add rows outside of a transaction, if `after` is the newest revision; else False."""
        ...

    async def close(self) -> None:
        """Let go of it; never fails."""
        ...


class Database(Protocol):
    """One kind of database."""

    @property
    def name(self) -> str:
        """The name of the database in messages; it contains no secret of the address."""
        ...

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The exceptions that `translate` handles."""
        ...

    @property
    def poll(self) -> float:
        """After how many seconds at most others' writes are looked for."""
        ...

    @property
    def often(self) -> float:
        """The same while there are some."""
        ...

    @property
    def failure(self) -> str:
        """Why the newest cannot be asked for at the moment; empty while it can."""
        ...

    @property
    def optimistic(self) -> bool:
        """See Log: whether `append_next` is there, and less than a transaction."""
        ...

    async def connect(self) -> Connection:
        """A connection to a database that is new or belongs to inkube. Raises NotOurs and
        `errors`."""
        ...

    def translate(self, error: Exception) -> LogError:
        """The error of the tree that a driver's error is."""
        ...

    def survives(self, error: BaseException) -> bool:
        """Whether a connection can still be used when this was raised while it was."""
        ...

    def glance(self) -> int | None:
        """The newest revision, where the question costs microseconds; None: ask `newest`.

        0 in an empty log. May raise `errors`.
        """
        ...

    async def newest(self) -> int:
        """The newest revision committed; 0 in an empty log. May raise `errors`."""
        ...

    async def news(self, revision: int, within: float) -> int:
        """Wait until something newer than `revision` may be there: what was heard of, 0 for no
        more than that `within` seconds are over."""
        ...

    async def close(self) -> None:
        """Let go of everything that `connect` did not hand out; may be called twice."""
        ...
