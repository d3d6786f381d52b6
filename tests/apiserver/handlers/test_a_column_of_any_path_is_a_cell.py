"""A printer column never fails, whatever its path and the object."""

import random
from datetime import UTC, datetime
from typing import Any

import orjson

from inkube.apiserver.handlers import tables
from inkube.schemas.definitions import Column

PARTS = [
    ".", "a", "[", "]", "0", "-1", "*", "..", "'", "?(", "@", ")", "==", '"x"', ":", ",", "$", "{",
    "}", " ", "b", "<", ">", "!", "&&", "1.5", "\\", "\n", "range", " end", "99999999999999999999",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, 0, -1, 1.5, 1e308, "", "a", "2024-01-01T00:00:00Z", "9999-99-99T00:00:00Z", [], {},
    [1, "a", None], {"a": {"b": [1, 2, {"a": None}]}}, {"a": [{"b": 1}, {"b": "x"}, {"b": [1]}]},
]  # fmt: skip


def test_a_column_of_any_path_is_a_cell():
    source = random.Random(1)
    now = datetime.now(UTC)
    for _ in range(5000):
        path = "".join(source.choices(PARTS, k=source.randint(0, 7)))
        kind = source.choice(["string", "integer", "number", "boolean", "date"])
        obj = {"a": source.choice(VALUES), "b": source.choice(VALUES)}
        orjson.dumps(tables.cell(Column("x", kind, f".a{path}"), obj, now))
