"""Finds imports that bypass the public interface (door) of a room: its `__init__` and its stub.

A room is a folder directly below one of the four root packages, or `storage` as a whole. Modules
next to the rooms (`schemas/status.py`) are public themselves. import-linter's `protected` contracts
cannot replace this: they read no stubs, so they forbid the modules that a room offers as well.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import syntax

ROOTS = ("apiserver", "controllers", "schemas", "storage")


class Import(NamedTuple):
    """A name that a file imports from inside another room."""

    file: str
    line: int
    room: str
    name: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.name}, which {self.room} does not offer"


class House:
    """The rooms of a source tree, and the names that each of them exports."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._modules = {_module(path.relative_to(tree)): path for path in self._files("*.py")}
        self._offered = {room: _offered(self._modules[room]) for room in self._rooms()}

    def deep(self) -> list[Import]:
        """Return every import that bypasses a door."""
        return [found for path in self._files("*.py", "*.pyi") for found in self._deep_in(path)]

    def of_itself(self) -> list[Import]:
        """Return every import of a folder by a module directly in it."""
        return [
            Import(here.as_posix(), getattr(node, "lineno", 0), package, package)
            for path in self._files("*.py")
            if (here := path.relative_to(self._tree)).name != "__init__.py"
            for package in [_module(here.parent)]
            for node in ast.walk(syntax.tree(path))
            for module, name in _imported(node)
            if f"{module}.{name}".rstrip(".") == package
        ]

    def hidden(self) -> list[str]:
        """Return the names that a room loads late and that one of its modules hides, because an
        import of the module `merge` sets the attribute `merge` of the room."""
        return [
            f"{module}.{name}"
            for path in self._files("__init__.pyi")
            for module in [_module(path.relative_to(self._tree))]
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.ImportFrom) and node.module != module
            for name in (each.asname or each.name for each in node.names)
            if f"{module}.{name}" in self._modules
        ]

    def _files(self, *patterns: str) -> Iterator[Path]:
        for root in ROOTS:
            for pattern in patterns:
                yield from sorted((self._tree / root).rglob(pattern))

    def _rooms(self) -> Iterator[str]:
        for name, path in self._modules.items():
            parts = name.split(".")
            is_folder = path.name == "__init__.py" and len(parts) == 3
            if name == "inkube.storage" or (is_folder and parts[1] != "storage"):
                yield name

    def _deep_in(self, path: Path) -> Iterator[Import]:
        here = path.relative_to(self._tree)
        own = self._room_of(_module(here))
        for node in ast.walk(syntax.tree(path)):
            for module, name in _imported(node):
                whole = f"{module}.{name}" if f"{module}.{name}" in self._modules else module
                room = self._room_of(whole)
                if room is None or room in (own, whole):
                    continue
                if module != room or name not in self._offered[room]:
                    line = getattr(node, "lineno", 0)
                    yield Import(here.as_posix(), line, room, f"{module}.{name}".rstrip("."))

    def _room_of(self, module: str) -> str | None:
        parts = module.split(".")
        starts = (".".join(parts[:count]) for count in (2, 3))
        return next((start for start in starts if start in self._offered), None)


def by_room(imports: list[Import]) -> Counter[str]:
    """Return the number of bypassing imports by room."""
    return Counter(each.room.removeprefix("inkube.") for each in imports)


def _module(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(("inkube", *(part for part in parts if part != "__init__")))


def _imported(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield module and name of the imports of inkube in a statement; the name is "" for a whole
    module."""
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("inkube."):
        for alias in node.names:
            yield node.module or "", alias.name
    elif isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.startswith("inkube."):
                yield alias.name, ""


def _offered(init: Path) -> set[str]:
    """Return the names that a room exports: those in its stub, or without a stub those in the
    module itself."""
    stub = init.with_suffix(".pyi")
    tree = ast.parse((stub if stub.exists() else init).read_text())
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom | ast.Import):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
    return found
