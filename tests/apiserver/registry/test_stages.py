"""The architecture page lists the stages of a write as in the code, in the same order."""

import ast
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

import inkube
from inkube.apiserver.registry import create, delete, update

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "architecture.md"
REGISTRY = Path(inkube.__file__).parent / "apiserver" / "registry"


def told(verb: str) -> list[str]:
    """Return the stages in the page's line that begins with the verb."""
    [line] = re.findall(rf"^- \*\*{verb}\*\* .*$", PAGE.read_text(), re.MULTILINE)
    _, _, stages = line.partition(":")
    return re.findall(r"`(\w+)`", stages)


def done(verb: str, module: ModuleType) -> list[str]:
    """Return the functions that the verb's function calls, one per statement."""
    [function] = [
        node
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, ast.AsyncFunctionDef) and node.name == verb
    ]
    calls = [
        node.value for node in function.body if isinstance(node, ast.Expr | ast.Assign | ast.Return)
    ]
    plain = [node.value if isinstance(node, ast.Await) else node for node in calls]
    return [
        node.func.id
        for node in plain
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]


@pytest.mark.parametrize("module", [create, update, delete], ids=["create", "update", "delete"])
def test_the_page_names_the_stages_in_their_order(module: ModuleType) -> None:
    verb = module.__name__.rpartition(".")[2]
    stages = done(verb, module)
    assert len(stages) >= 5
    assert told(verb) == stages


@pytest.mark.parametrize("module", [create, update, delete], ids=["create", "update", "delete"])
def test_each_stage_has_a_docstring(module: ModuleType) -> None:
    verb = module.__name__.rpartition(".")[2]
    for stage in done(verb, module):
        assert inspect.getdoc(getattr(module, stage)), stage


KNOWING = {
    "requests.py": "options",
    "attributes.py": "options, as plugins receive them",
    "write.py": "plugins with side effects, and transactions",
    "plugins.py": "plugins with side effects",
    "plain.py": "the choice of the store",
    "fast.py": "dry runs, which need no queue",
}
"""Modules of the registry that may check for dry runs, and how."""


def test_a_dry_run_is_a_store_and_nothing_else() -> None:
    asking = {
        path.name
        for path in REGISTRY.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Attribute) and node.attr == "dry_run")
        or (isinstance(node, ast.keyword) and node.arg == "dry_run")
        or (isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "dry_run")
    }
    assert asking == set(KNOWING)


def test_only_listed_conditions_of_the_registry_depend_on_dry_run() -> None:
    tests = {
        (path.name, ast.unparse(node.test))
        for path in REGISTRY.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.If | ast.IfExp | ast.While) and "dry_run" in ast.unparse(node.test)
    }
    assert tests == {
        ("plain.py", "options.dry_run"),
        ("fast.py", "self.queues is None or not change.reads or write.dry_run"),
        ("plugins.py", "write.dry_run"),
        ("attributes.py", "write.dry_run"),
        ("requests.py", "self.options.dry_run"),  # the text of an error
    }
