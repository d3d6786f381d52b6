"""Rows of `docs/documents.md`. Tests check each of them against the server, with one function per
row."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

_PAGE = Path(__file__).parents[2] / "docs" / "documents.md"
_NUMBER = r"(?<!`)\b([2-4]\d\d|500)\b(?!\d)"


def rows(
    section: str, letters: str, end: tuple[str, ...] = ()
) -> dict[str, tuple[list[int], list[str]]]:
    """Return the rows of a section: the HTTP codes and the quoted texts of the response by the id
    of each statement.

    `letters` contains the first characters of the ids (`FG`). `end` lists the texts that end the
    part of a cell with the response; the rest of the cell explains it.
    """
    row = re.compile(rf"^\| ([{letters}]\d+) \| .* \| (.*) \|$", re.MULTILINE)
    text = _PAGE.read_text(encoding="utf-8").partition(f"\n## {section}")[2].partition("\n## ")[0]
    found: dict[str, tuple[list[int], list[str]]] = {}
    for name, said in row.findall(text):
        assert name not in found, f"{name} stands there twice"
        for mark in end:
            said = said.partition(mark)[0]
        quoted = re.findall(r"``(.+?) ``|`([^`]+)`", said)
        codes = [int(code) for code in re.findall(_NUMBER, said)]
        found[name] = codes, [one or other for one, other in quoted]
    return found


def functions(names: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """Return the functions of a module with names of rows: `h1` tests row H1."""
    return {
        name.upper(): value
        for name, value in names.items()
        if re.fullmatch(r"[a-z]\d+", name) and callable(value)
    }
