"""The log in a database: SQLite in a file on one machine, PostgreSQL for several machines.

    tables      what is kept, and every question about it, once for all databases (SQLAlchemy Core)
    statements  the same by name, in the words of one database; SQLite's are made beforehand
    database    what a database has to be able to do: the small interface of the two dialects
    lanes       connections: made when first used, made again with back-off when they break
    log         the log over statements and a database
    sqlite, postgresql   the two databases, each with its driver, its lock, its news, its errors

Statements are SQLAlchemy's and compiled once, for SQLite before it is installed; they go straight
to the driver, because SQLAlchemy's asyncio layer switches greenlets for every one of them, which
doubles what a small write costs. The composition root chooses the database; no other code imports
this folder.
"""
