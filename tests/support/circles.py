"""Finds import cycles among the modules of a package from their source.

Imports under TYPE_CHECKING and in functions count, too.
"""

import ast
from graphlib import CycleError, TopologicalSorter
from importlib.util import find_spec
from pathlib import Path

import syntax


def circle(package: str) -> list[str]:
    """Return modules of a package that form a cycle, each importing the one before it; empty if
    there is no cycle."""
    modules = _modules(package)
    graph = {name: _imported(path, modules) - {name} for name, path in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def _modules(package: str) -> dict[str, Path]:
    spec = find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    root = Path(spec.submodule_search_locations[0])
    found = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join((package, *(part for part in parts if part != "__init__")))] = path
    return found


def _imported(path: Path, modules: dict[str, Path]) -> set[str]:
    """Return modules of the package that a module imports. Imports are absolute, as ruff requires.
    `from package import module` is an import of the module, not of its package."""
    found = set()
    for node in ast.walk(syntax.tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            below = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in modules else node.module for name in below}
    return found & modules.keys()
