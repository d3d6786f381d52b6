"""Generates `storage/sql/sqlite.json`, the SQL of SQLite for `storage/sql/tables.py`.

Run it by hand when tables or queries change. The server never imports it:

    python tools/generate_statements.py
"""

import json
from pathlib import Path

from sqlalchemy.dialects.sqlite.aiosqlite import SQLiteDialect_aiosqlite

from inkube.storage.sql import tables

TARGET = Path(__file__).parents[1] / "storage" / "sql" / "sqlite.json"


def main() -> None:
    made = tables.compiled(SQLiteDialect_aiosqlite())
    content = {
        "compiled": {each.value: words for each, words in made.compiled.items()},
        "definitions": made.definitions,
        "appending": made.appending,
    }
    TARGET.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
