"""What is kept, and every question about it, in SQLAlchemy Core.

    log   revision (primary key) · key · previous · created · deleted · data · time;
          index key, revision
    meta  name (primary key) · value; rows schema, compacted, and newest where a row is the lock

The primary key is the last guard: two processes that both believed to hold the write lock could
not both append a revision. Parameters are bound by name; `Statements` compiles for one database.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql.compiler import SQLCompiler

from inkube.storage.log import Record

SCHEMA = 2
"""1 had no time."""

# A number no limit reaches, for a question that has none.
ALL = 2**62

Statement = sa.Executable
Row = Sequence[Any]

metadata = sa.MetaData()
log = sa.Table(
    "log",
    metadata,
    sa.Column("revision", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True),
    # by code point, which is the order of UTF-8 bytes, whatever the database's language is
    sa.Column("key", sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), nullable=False),
    sa.Column("previous", sa.BigInteger, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("deleted", sa.Boolean, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
    # last, as where it was added later; what an older server writes beside this one has none
    sa.Column("time", sa.BigInteger, nullable=False, server_default="0"),
)
sa.Index("log_by_key", log.c.key, log.c.revision.desc())
meta = sa.Table(
    "meta",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.BigInteger, nullable=False),
)


def _number(name: str) -> sa.BindParameter[int]:
    return sa.bindparam(name, type_=sa.BigInteger())


_low, _high = sa.bindparam("low", type_=sa.Text()), sa.bindparam("high", type_=sa.Text())
_compacted = sa.select(meta.c.value).where(meta.c.name == "compacted").scalar_subquery()

MARK: Statement = sa.select(meta.c.value).where(meta.c.name == sa.bindparam("name"))
SET_MARK: Statement = (
    sa.update(meta).where(meta.c.name == sa.bindparam("which")).values(value=_number("to"))
)
ADD_MARK: Statement = sa.insert(meta).from_select(
    ["name", "value"],
    sa.select(sa.bindparam("which", type_=sa.Text()), _number("to")).where(
        ~sa.exists().where(meta.c.name == sa.bindparam("which", type_=sa.Text()))
    ),
)

HORIZON: Statement = sa.select(_compacted, sa.func.max(log.c.revision))
NEWEST: Statement = sa.select(sa.func.max(log.c.revision))
FIRST_AFTER: Statement = sa.select(sa.func.min(log.c.revision)).where(log.c.time > _number("time"))

# Each row also says how far was compacted, at the same moment.
MISSED: Statement = (
    sa.select(_compacted, log)
    .where(log.c.revision > _number("after"))
    .order_by(log.c.revision)
    .limit(_number("limit"))
)

ROWS: Statement = (
    sa.select(log.c.revision, log.c.key, log.c.created, log.c.deleted, log.c.data, _compacted)
    .where(log.c.revision > _number("after"))
    .order_by(log.c.revision)
    .limit(_number("limit"))
)

_before = log.alias("before")
CHANGES: Statement = (
    sa.select(*log.c, *_before.c)
    .select_from(log.outerjoin(_before, _before.c.revision == log.c.previous))
    .where(log.c.revision > _number("after"), log.c.key >= _low, log.c.key < _high)
    .order_by(log.c.revision)
    .limit(_number("limit"))
)

# In the order of keys, so that the index gives them and the limit ends it.
_later = log.alias("later")
AT: Statement = (
    sa.select(log)
    .where(
        log.c.key >= _low,
        log.c.key < _high,
        log.c.revision <= _number("at"),
        ~log.c.deleted,
        ~sa.exists().where(
            _later.c.key == log.c.key,
            _later.c.revision > log.c.revision,
            _later.c.revision <= _number("at"),
        ),
    )
    .order_by(log.c.key)
    .limit(_number("limit"))
)

# Keys are looked at in the sum only: the revisions since are few, the keys may be many.
_within = (log.c.key >= _low) & (log.c.key < _high)
GROWN: Statement = sa.select(
    sa.func.coalesce(
        sa.func.sum(
            sa.case((_within & ~log.c.deleted, 1), else_=0)
            - sa.case((_within & (log.c.previous > 0), 1), else_=0)
        ),
        0,
    )
).where(log.c.revision > _number("after"), log.c.revision <= _number("until"))

_step = log.alias("step")
_in_step = (_step.c.revision > _number("after")) & (_step.c.revision <= _number("until"))
FORGET_OUTLIVED: Statement = sa.delete(log).where(
    log.c.revision.in_(sa.select(_step.c.previous).where(_in_step, _step.c.previous > 0))
)
FORGET_ENDED: Statement = sa.delete(log).where(
    log.c.deleted, log.c.revision > _number("after"), log.c.revision <= _number("until")
)


def insertion(rows: int) -> Statement:
    """One statement for so many rows, whose cells are bound by position."""
    return sa.insert(log).values([dict.fromkeys(Record._fields, 0)] * rows)


class Compiled(NamedTuple):
    """A statement in a database's own words, and the names of its parameters in order."""

    text: str
    names: Sequence[str]
    constants: Mapping[str, Any]

    def arguments(self, parameters: Mapping[str, Any]) -> list[Any]:
        """The parameters by position."""
        constants = self.constants
        return [parameters[name] if name in parameters else constants[name] for name in self.names]


class Statements:
    """Statements of one database, each compiled once: there are only those of this module."""

    def __init__(self, dialect: Dialect, schema: str | None = None) -> None:
        self._dialect = dialect
        self._schema = schema
        self._compiled: dict[Statement, Compiled] = {}

    def compiled(self, statement: Statement) -> Compiled:
        """A statement of this module in the words of the database."""
        found = self._compiled.get(statement)
        if found is None:
            found = self._compiled[statement] = self.compile(statement)
        return found

    def compile(self, statement: Statement) -> Compiled:
        """As `compiled`, not remembered."""
        compiled = self._render(statement)
        assert isinstance(compiled, SQLCompiler), "a query compiles to SQL"
        return Compiled(str(compiled), tuple(compiled.positiontup or ()), compiled.params)

    def definitions(self) -> Iterator[str]:
        """What makes tables and indexes where they are missing."""
        for table in metadata.sorted_tables:
            yield str(self._render(CreateTable(table, if_not_exists=True)))
            for index in table.indexes:
                yield str(self._render(CreateIndex(index, if_not_exists=True)))

    def upgrades(self, schema: int) -> Iterator[str]:
        """What makes tables of an older schema into those of this one."""
        name = f"{self._schema}.log" if self._schema else "log"
        if schema < 2:
            yield f"ALTER TABLE {name} ADD COLUMN time BIGINT DEFAULT 0 NOT NULL"

    def _render(self, statement: Any) -> Any:
        if not self._schema:
            return statement.compile(dialect=self._dialect)
        places = {None: self._schema}
        return statement.compile(
            dialect=self._dialect, schema_translate_map=places, render_schema_translate=True
        )
