"""Every cache of the process is declared in one place, where it can be counted and cleared."""

import ast
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import syntax

from inkube.schemas import caches
from inkube.schemas.builtin import decoding
from inkube.schemas.meta import GVK

ROOT = Path(__file__).parents[2]
HOME = ROOT / "schemas" / "caches.py"
UNKNOWING = {ROOT / "storage" / "sql" / "sqlite.py"}
"""storage does not import schemas; its cache of SQL has its limit there."""
CHANGES = {"add", "append", "clear", "extend", "insert", "pop", "setdefault", "update"}


def sources():
    for folder in ("apiserver", "controllers", "schemas", "storage"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path != HOME:
                yield path, syntax.tree(path)


def globals_that_change(tree):
    """Yield names of module variables whose containers the module's functions fill."""
    mutable = ast.Dict | ast.List | ast.Set | ast.DictComp | ast.ListComp | ast.SetComp | ast.Call
    own = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, mutable)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = {
                node.id
                for node in ast.walk(function)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            } | {argument.arg for argument in function.args.args}
            for node in ast.walk(function):
                match node:
                    case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                        changed = name
                    case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attribute)):
                        changed = name if attribute in CHANGES else ""
                    case _:
                        continue
                if changed in own - inner:
                    yield changed


def kept_by_modules(tree):
    """Yield the caches of a module for the whole process: decorators of functions, values of
    globals."""
    for node in tree.body:
        for inner in (node, *(node.body if isinstance(node, ast.ClassDef) else ())):
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from inner.decorator_list
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            yield node.value


def test_no_module_keeps_a_cache_that_is_not_declared():
    found = []
    for path, tree in sources():
        words = {word for kept in kept_by_modules(tree) for word in ast.unparse(kept).split("(")}
        if words & {"cache", "lru_cache", "functools.cache", "functools.lru_cache"}:
            found += [] if path in UNKNOWING else [f"{path.name}: functools"]
        found += [f"{path.name}: {name}" for name in globals_that_change(tree)]
    assert not found


def test_all_caches_are_listed_with_their_bounds():
    decoding.decode({}, GVK("", "v1", "Pod"))
    by_name = {cache.name: cache for cache in caches.every()}
    assert by_name["schemas.gotypes.types._MADE"].entries() > 0
    assert all(0 <= cache.entries() <= cache.bound for cache in by_name.values())


def test_all_caches_can_be_emptied_while_their_users_live():
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}}
    before = decoding.decode(pod, GVK("", "v1", "Pod"))
    caches.empty_all()
    assert [cache.name for cache in caches.every() if cache.entries()] == []
    assert decoding.decode(pod, GVK("", "v1", "Pod")) == before


def test_a_table_forgets_all_when_it_is_full():
    table = caches.Table(__name__, "table", 2)
    for number in range(3):
        table.keep(number, number)
    assert dict(table) == {2: 2}


def test_a_table_of_weighed_results_drops_the_oldest():
    table = caches.Weighed(__name__, "weighed", 3, 10, lambda key, result: key + result)
    for key, result in ((1, 1), (2, 2), (1, 3), (3, 1)):  # the second 1 replaces the first
        table.keep(key, result)
    assert (list(table), table.weight) == ([1, 3], 8), "all three have 12"
    assert table.keep(20, 1) == 1
    assert (dict(table), table.weight) == ({20: 1}, 21), "one result is always kept"
    table.clear()
    assert (dict(table), table.weight) == ({}, 0)
    for key in range(4):
        table.keep(key, 0)
    assert list(table) == [1, 2, 3], "a fourth one"


@pytest.mark.parametrize("fitting", [1, 50, 94, 99, 100])
def test_what_fits_of_a_table_that_is_read_to_and_fro_is_found(fitting):
    """A list is encoded from its end, for its length, and then from its beginning."""
    table = caches.Weighed(__name__, "to and fro", 1000, fitting, lambda key, result: 1)
    misses = 0
    for _ in range(10):
        misses, find = 0, table.find()
        for key in (*reversed(range(100)), *range(100)):
            if find(key) is None:
                misses += 1
                table.keep(key, key + 1)
    assert misses == 2 * (100 - fitting)


def test_threads_share_a_table_of_weighed_results():
    table = caches.Weighed(__name__, "shared", 50, 1000, lambda key, result: result)

    def use(thread):
        for number in range(2000):
            found = table.find()(number % 61)
            assert found in (None, number % 61 + 1)
            table.keep(number % 61, number % 61 + 1)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(use, range(4)))
    assert table.weight == sum(table.values()) <= 1000
