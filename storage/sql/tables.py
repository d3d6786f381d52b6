"""The tables, and every query of them, in SQLAlchemy Core.

    log   revision (primary key) · key · previous · created · deleted · data · time;
          index key, revision
    meta  name (primary key) · value; rows schema, compacted, and newest where a row is the lock

The primary key is the last guard: if two processes both assumed that they hold the write lock, only
one could append a revision. Parameters are bound by name; `compiled` translates everything into the
SQL of a database. The SQL of SQLite is stored in a file: see the module `statements`. After a
change here, run `tools/generate_statements.py`.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql.compiler import SQLCompiler

from inkube.storage.log import Record
from inkube.storage.sql.statements import Compiled, Statement, Statements

metadata = sa.MetaData()
log = sa.Table(
    "log",
    metadata,
    sa.Column("revision", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True),
    # sorted by code point, as UTF-8 bytes, independent of the database's language
    sa.Column("key", sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), nullable=False),
    sa.Column("previous", sa.BigInteger, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("deleted", sa.Boolean, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
    # last, as if added later; an older server that shares the database sets none
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

MARK: sa.Executable = sa.select(meta.c.value).where(meta.c.name == sa.bindparam("name"))
SET_MARK: sa.Executable = (
    sa.update(meta).where(meta.c.name == sa.bindparam("which")).values(value=_number("to"))
)
ADD_MARK: sa.Executable = sa.insert(meta).from_select(
    ["name", "value"],
    sa.select(sa.bindparam("which", type_=sa.Text()), _number("to")).where(
        ~sa.exists().where(meta.c.name == sa.bindparam("which", type_=sa.Text()))
    ),
)

HORIZON: sa.Executable = sa.select(_compacted, sa.func.max(log.c.revision))
NEWEST: sa.Executable = sa.select(sa.func.max(log.c.revision))
FIRST_AFTER: sa.Executable = sa.select(sa.func.min(log.c.revision)).where(
    log.c.time > _number("time")
)

# each row also contains the compacted revision of the same moment
MISSED: sa.Executable = (
    sa.select(_compacted, log)
    .where(log.c.revision > _number("after"))
    .order_by(log.c.revision)
    .limit(_number("limit"))
)

ROWS: sa.Executable = (
    sa.select(log.c.revision, log.c.key, log.c.created, log.c.deleted, log.c.data, _compacted)
    .where(log.c.revision > _number("after"))
    .order_by(log.c.revision)
    .limit(_number("limit"))
)

_before = log.alias("before")
CHANGES: sa.Executable = (
    sa.select(*log.c, *_before.c)
    .select_from(log.outerjoin(_before, _before.c.revision == log.c.previous))
    .where(log.c.revision > _number("after"), log.c.key >= _low, log.c.key < _high)
    .order_by(log.c.revision)
    .limit(_number("limit"))
)

# in the order of keys, so that the index provides the order and the limit ends the scan
_later = log.alias("later")
AT: sa.Executable = (
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

# only the sum uses keys: the revisions since then are few, but the keys can be many
_within = (log.c.key >= _low) & (log.c.key < _high)
GROWN: sa.Executable = sa.select(
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
FORGET_OUTLIVED: sa.Executable = sa.delete(log).where(
    log.c.revision.in_(sa.select(_step.c.previous).where(_in_step, _step.c.previous > 0))
)
FORGET_ENDED: sa.Executable = sa.delete(log).where(
    log.c.deleted, log.c.revision > _number("after"), log.c.revision <= _number("until")
)


def insertion(rows: int) -> sa.Insert:
    """Return one statement that inserts this number of rows, with cells bound by position."""
    return sa.insert(log).values([dict.fromkeys(Record._fields, 0)] * rows)


_ALL = {
    Statement.MARK: MARK,
    Statement.SET_MARK: SET_MARK,
    Statement.ADD_MARK: ADD_MARK,
    Statement.HORIZON: HORIZON,
    Statement.NEWEST: NEWEST,
    Statement.FIRST_AFTER: FIRST_AFTER,
    Statement.MISSED: MISSED,
    Statement.ROWS: ROWS,
    Statement.CHANGES: CHANGES,
    Statement.AT: AT,
    Statement.GROWN: GROWN,
    Statement.FORGET_OUTLIVED: FORGET_OUTLIVED,
    Statement.FORGET_ENDED: FORGET_ENDED,
}


def compiled(dialect: Dialect, schema: str = "") -> Statements:
    """Return all statements in the SQL of a database, with tables in a schema of that name."""

    def render(statement: Any) -> Any:
        if not schema:
            return statement.compile(dialect=dialect)
        return statement.compile(
            dialect=dialect, schema_translate_map={None: schema}, render_schema_translate=True
        )

    def words(statement: sa.Executable) -> Compiled:
        query = render(statement)
        assert isinstance(query, SQLCompiler), "a query compiles to SQL"
        return Compiled(str(query), tuple(query.positiontup or ()), query.params)

    definitions = []
    for table in metadata.sorted_tables:
        definitions.append(str(render(CreateTable(table, if_not_exists=True))))
        definitions += [str(render(CreateIndex(i, if_not_exists=True))) for i in table.indexes]
    return Statements(
        {name: words(statement) for name, statement in _ALL.items()},
        definitions,
        words(insertion(1)).text,
        schema,
    )
