"""What keeps the rooms apart where import-linter does not look: circles, and questions."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("apiserver", "storage", "controllers", "schemas")
TANGLED = ("inkube.schemas.cel", "inkube.schemas.crds", "inkube.schemas.structural")
"""Rooms that still have circles."""


def _name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(("inkube", *(part for part in parts if part != "__init__")))


FILES = {_name(file): file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")}


def _imported(file: Path) -> Iterator[str]:
    """Every module of inkube that a file names in an import, wherever that stands in it."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in FILES)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                # a package that is named for what it holds counts as that, not as its __init__
                yield full if full in FILES else node.module


def _circle(graph: dict[str, set[str]]) -> list[str]:
    """A circle, [] without any."""
    done: set[str] = set()
    path: list[str] = []

    def visit(name: str) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        path.append(name)
        for other in sorted(graph[name]):
            found = visit(other)
            if found:
                return found
        path.pop()
        done.add(name)
        return []

    return next(filter(None, map(visit, sorted(graph))), [])


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_modules_import_each_other_in_a_circle_not_even_for_their_types(folder: str) -> None:
    here = {name for name, file in FILES.items() if file.is_relative_to(ROOT / folder)}
    here = {name for name in here if not name.startswith(TANGLED)}
    graph = {name: here.intersection(_imported(FILES[name])) for name in here}
    assert _circle(graph) == []


_QUESTION = re.compile(
    r"\.builtin\b|\bOrigin\.|\.origin\b|by_webhook|isinstance\(.*Behaviour|voice is"
)
_ANSWERS = {"behaviours.py", "voices.py", "crds.py"}


def test_hardly_anybody_asks_what_sort_of_kind_this_is() -> None:
    asked = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in (ROOT / "apiserver").rglob("*.py")
        if not (file.parent.name == "registry" and file.name in _ANSWERS)
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if _QUESTION.search(line) and "inkube.schemas.builtin" not in line
    ]
    assert len(asked) <= 5, "\n".join(asked)
