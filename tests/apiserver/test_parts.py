"""A server is built from parts and then run; no attribute is added during its life."""

import ast
import asyncio
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import pytest

import inkube
from inkube.apiserver.root import parts
from inkube.schemas.lazy import Lazy

APISERVER = Path(inkube.__file__).parent / "apiserver"
_MADE = ("__init__", "__new__", "__post_init__")


def _classes(file: Path) -> Iterator[ast.ClassDef]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ClassDef):
            yield node


def _methods(owner: ast.ClassDef) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in owner.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _assigned(tree: ast.AST) -> set[str]:
    """Return the attributes of `self` that some statement assigns or deletes, including
    `setattr`."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            if isinstance(node.value, ast.Name) and node.value.id == "self":
                found.add(node.attr)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("setattr", "vars"):
            found.add(ast.unparse(node))
    return found


def _outside_of_init(owner: ast.ClassDef) -> set[str]:
    return {
        name for method in _methods(owner) if method.name not in _MADE for name in _assigned(method)
    }


def _born_late(owner: ast.ClassDef) -> set[str]:
    """Return attributes that methods assign without an earlier declaration."""
    declared = {
        ast.unparse(target)
        for node in owner.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    }
    first = {name for each in _methods(owner) if each.name in _MADE for name in _assigned(each)}
    return _outside_of_init(owner) - first - declared


def _of_server() -> ast.ClassDef:
    return next(each for each in _classes(APISERVER / "server.py") if each.name == "APIServer")


def test_no_attribute_of_a_server_is_assigned_outside_of_init() -> None:
    assert _outside_of_init(_of_server()) == set()


def test_no_property_of_a_server_is_kept_or_makes_anything() -> None:
    """A property only looks up existing values. `_started` raises an error if there is none yet."""
    for method in _methods(_of_server()):
        decorators = [ast.unparse(each) for each in method.decorator_list]
        assert decorators in ([], ["property"]), method.name
        if decorators:
            calls = [node for node in ast.walk(method) if isinstance(node, ast.Call)]
            assert {ast.unparse(call.func) for call in calls} <= {"_started"}, method.name


@pytest.mark.parametrize("file", sorted((APISERVER / "root").rglob("*.py")), ids=lambda f: f.stem)
def test_no_attribute_of_what_a_server_is_made_of_is_born_late(file: Path) -> None:
    assert {each.name: _born_late(each) for each in _classes(file) if _born_late(each)} == {}


@pytest.mark.parametrize(
    "body",
    [
        "self.store = 1",
        "self.a, self.store = 1, 2",
        "with opened() as self.store: pass",
        "setattr(self, 'store', 1)",
        "del self.store",
        "self.store += 1",
    ],
)
def test_an_attribute_without_a_declaration_is_found(body: str) -> None:
    text = f"class Server:\n    def __init__(self): pass\n    def start(self):\n        {body}"
    (owner,) = ast.parse(text).body
    assert isinstance(owner, ast.ClassDef)
    assert _outside_of_init(owner)
    assert _born_late(owner)


async def test_parts_are_frozen() -> None:
    async with inkube.APIServer() as server:
        made = server.parts
        for part in (made, made.core, made.core.base, made.core.listener, made.core.webhooks):
            with pytest.raises(FrozenInstanceError):
                setattr(part, fields(part)[0].name, None)


async def test_what_few_servers_need_is_not_made() -> None:
    async with inkube.APIServer() as server:
        late = {
            field.name: getattr(server.parts, field.name)
            for field in fields(server.parts)
            if isinstance(getattr(server.parts, field.name), Lazy)
        }
        assert set(late) == {"aggregator", "environment", "client_authority"}
        assert {name: each.value_if_created for name, each in late.items()} == dict.fromkeys(late)


def test_attributes_of_a_server_that_was_not_started_are_errors() -> None:
    server = inkube.APIServer()
    for name in ("parts", "client", "url", "port", "store"):
        with pytest.raises(RuntimeError, match="was not started"):
            getattr(server, name)
    assert server.stage is not None


async def test_parts_are_built_without_starting_anything() -> None:
    async with inkube.APIServer() as server:
        await server.settled()
        core, tasks = server.parts.core, asyncio.all_tasks()
        made = parts.build(server.options, core.listener, core.base)
        assert asyncio.all_tasks() == tasks
        assert made.core.manager.names == []
        made.core.faults.close()
        made.core.registry.selections.close()
