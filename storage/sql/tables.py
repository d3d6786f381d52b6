"""The tables, and every query of them, in SQLAlchemy Core.

    log   revision (primary key) · key · previous · created · deleted · digest · data · time;
          index key, revision
    meta  name (primary key) · value; rows
          schema
          compacted                 the revision up to which states that ended are removed
          epoch                     the last revision that no client may continue from, because the
                                    log lost others before it (Transaction.begin_epoch)
          epoch-REVISION            the same of each epoch, because they explain missing revisions
          boundary, boundary_digest, kept   the last compaction: its revision, the digest of the row
                                    at that revision, and the number of rows up to it
          newest                    where a row is the lock
          origin                    where a database tells whether it is a copy (PostgreSQL)

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
from inkube.storage.sql.statements import COLUMNS, Compiled, Statement, Statements

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
    # Before the data, because SQLite reads a large object to its end to find what is behind it. An
    # older server that shares the database sets none, and a table of an older release has it last.
    sa.Column("digest", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("data", sa.LargeBinary, nullable=False),
    # last, as if added later; an older server that shares the database sets none
    sa.Column("time", sa.BigInteger, nullable=False, server_default="0"),
)
_cells = [log.c[name] for name in Record._fields]
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
_after = _number("after")
_compacted = (
    sa.select(sa.func.max(meta.c.value))
    .where(meta.c.name.in_(sa.text("'compacted', 'epoch'")))
    .scalar_subquery()
)
_row = log.alias("base")
_boundary, _boundary_digest = meta.alias("boundary"), meta.alias("boundary_digest")
# the digest of the row at a revision, also if compaction has just removed that row; NULL: no row
_base = sa.func.coalesce(
    sa.select(_row.c.digest).where(_row.c.revision == _after).scalar_subquery(),
    sa.select(_boundary_digest.c.value)
    .where(
        _boundary.c.name == "boundary",
        _boundary.c.value == _after,
        _boundary_digest.c.name == "boundary_digest",
    )
    .scalar_subquery(),
)

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
NEWEST: sa.Executable = sa.select(log.c.revision, log.c.digest).where(
    log.c.revision == sa.select(sa.func.max(_row.c.revision)).scalar_subquery()
)
HEAD: sa.Executable = sa.select(
    meta.c.value, sa.select(_row.c.digest).where(_row.c.revision == meta.c.value).scalar_subquery()
).where(meta.c.name == "newest")
BASE: sa.Executable = sa.select(_compacted, sa.func.max(log.c.revision), _base)
DIGEST: sa.Executable = sa.select(log.c.digest).where(log.c.revision == _number("revision"))
FIRST_AFTER: sa.Executable = sa.select(sa.func.min(log.c.revision)).where(
    log.c.time > _number("time")
)

# each row also contains the compacted revision of the same moment, and the digest at `after`
MISSED: sa.Executable = (
    sa.select(_compacted, _base, *_cells)
    .where(log.c.revision > _after)
    .order_by(log.c.revision)
    .limit(_number("limit"))
)

ROWS: sa.Executable = (
    sa.select(
        log.c.revision,
        log.c.key,
        log.c.created,
        log.c.deleted,
        log.c.data,
        _compacted,
        log.c.digest,
    )
    .where(log.c.revision > _number("after"))
    .order_by(log.c.revision)
    .limit(_number("limit"))
)

_before = log.alias("before")
CHANGES: sa.Executable = (
    sa.select(*_cells, *(_before.c[name] for name in Record._fields))
    .select_from(log.outerjoin(_before, _before.c.revision == log.c.previous))
    .where(log.c.revision > _number("after"), log.c.key >= _low, log.c.key < _high)
    .order_by(log.c.revision)
    .limit(_number("limit"))
)

# in the order of keys, so that the index provides the order and the limit ends the scan
_later = log.alias("later")
AT: sa.Executable = (
    sa.select(*_cells)
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

COUNT: sa.Executable = sa.select(sa.func.count()).where(
    log.c.revision > _number("after"), log.c.revision <= _number("until")
)

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
    return sa.insert(log).values([dict.fromkeys(COLUMNS, 0)] * rows)


_ALL = {
    Statement.MARK: MARK,
    Statement.SET_MARK: SET_MARK,
    Statement.ADD_MARK: ADD_MARK,
    Statement.HORIZON: HORIZON,
    Statement.NEWEST: NEWEST,
    Statement.HEAD: HEAD,
    Statement.BASE: BASE,
    Statement.DIGEST: DIGEST,
    Statement.FIRST_AFTER: FIRST_AFTER,
    Statement.MISSED: MISSED,
    Statement.ROWS: ROWS,
    Statement.CHANGES: CHANGES,
    Statement.AT: AT,
    Statement.GROWN: GROWN,
    Statement.COUNT: COUNT,
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
