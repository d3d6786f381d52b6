"""No module of schemas imports, on any way, a module that imports it: types count, too."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2]


def imports():
    """Module → the modules it imports, under TYPE_CHECKING and inside functions as well."""
    modules = {}
    for path in (ROOT / "schemas").rglob("*.py"):
        name = ".".join(("inkube", *path.relative_to(ROOT).with_suffix("").parts))
        modules[name.removesuffix(".__init__")] = ast.parse(path.read_text())
    return {
        name: {
            found if found in modules else node.module
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module in modules
            for found in (f"{node.module}.{alias.name}" for alias in node.names)
        }
        for name, tree in modules.items()
    }


def test_no_module_is_imported_by_what_it_imports():
    graph = {name: below for name, below in imports().items() if ".cel." not in name}
    assert len(graph) > 100
    TopologicalSorter(graph).prepare()
