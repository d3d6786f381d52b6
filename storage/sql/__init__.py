"""The log in a database: SQLite in a file on one machine, PostgreSQL for several machines.

    tables      the tables and every query, in SQLAlchemy Core for all databases
    statements  the same queries by name in one database's SQL; those of SQLite are stored in a file
    database    the small interface that a database must implement
    lanes       connections: opened at the first use, and again with back-off after failures
    log         the log over statements and a database
    sqlite, postgresql   the databases: driver, lock, notifications and errors

SQLAlchemy compiles each statement one time, for SQLite before the package is built. The driver runs
them directly, because SQLAlchemy's asyncio layer switches greenlets for each statement, which
doubles the cost of a small write. The composition root chooses the database. No other code imports
this folder.
"""
