"""Finds private names of libraries that a module uses, from its syntax tree and its base classes.

Private names are those imported; those read from or set on any object, unless the module itself
defines the name; and those that a class has in common with a library class it inherits from,
whether called, set or overridden. Attributes that a library class sets on `self` are found in its
source.
"""

import ast
import contextlib
import importlib
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import ModuleType

OURS = "inkube"
PUBLIC = frozenset({"_replace", "_asdict", "_make", "_fields", "_field_defaults", "_exit"})
"""Documented in spite of the underscore: methods of named tuples, and `os._exit`."""
_READERS = frozenset({"getattr", "setattr", "hasattr", "delattr"})
_PLAIN = frozenset({"NamedTuple", "Protocol", "Exception", "ValueError", "StrEnum", "Enum"})
"""Base classes without private names."""
Class = type


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name not in PUBLIC and name != "_"


def used(tree: ast.AST, load: Callable[[], ModuleType]) -> set[str]:
    """Return the private names of libraries in the tree of a module. The module is loaded if it
    inherits from classes."""
    nodes = list(ast.walk(tree))
    others = {name for value, name in _read(nodes) if not _is_self(value)}
    if others:
        others -= set(_given(nodes))
        others -= {node.id for node in nodes if isinstance(node, ast.Name)}
    found = {*_imported(nodes), *others}
    for node in nodes:
        if isinstance(node, ast.ClassDef) and not _PLAIN.issuperset(map(ast.unparse, node.bases)):
            inherited = _inherited(node, load())
            if inherited:
                body = list(ast.walk(node))
                found |= inherited & {*_given(body), *(name for _, name in _read(body))}
    return found


def _imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [part for alias in node.names for part in alias.name.split(".")]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [*node.module.split("."), *(alias.name for alias in node.names)]
            if names[0] == OURS:
                continue
        else:
            continue
        yield from filter(is_private, names)


def _read(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.expr, str]]:
    """Yield each object with the name that is read from it or set on it."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            yield node.value, node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            match node.args:
                case [value, ast.Constant(value=str(name)), *_] if is_private(name):
                    if node.func.id in _READERS:
                        yield value, name


def _given(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that functions, classes, class variables, slots and attributes of `self`
    get."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.ClassDef):
            yield from _given_in_body(node)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield from (node.attr,) if _is_self(node.value) else ()


def _given_in_body(node: ast.ClassDef) -> Iterator[str]:
    for line in node.body:
        targets = line.targets if isinstance(line, ast.Assign) else ()
        for target in (line.target,) if isinstance(line, ast.AnnAssign) else targets:
            if isinstance(target, ast.Name):
                yield target.id
                if target.id == "__slots__":
                    yield from (str(n.value) for n in ast.walk(line) if isinstance(n, ast.Constant))


def _is_self(value: ast.expr) -> bool:
    named = value.func if isinstance(value, ast.Call) else value
    return isinstance(named, ast.Name) and named.id in ("self", "cls", "super")


def _inherited(node: ast.ClassDef, module: ModuleType) -> frozenset[str]:
    """Return the private names of the library classes that a class inherits from. For a class in a
    function, base classes are looked up in the module."""
    made = getattr(module, node.name, None)
    names = vars(module) | dict(inspect.getmembers(made))
    bases = [made] if isinstance(made, type) else [eval(ast.unparse(b), names) for b in node.bases]
    lines = [each.__mro__ for each in bases if isinstance(each, type)]
    foreign = {each for line in lines for each in line if each.__module__.split(".")[0] != OURS}
    return frozenset().union(*map(_privates, foreign))


@cache
def _privates(found: Class) -> frozenset[str]:
    """Return the private names of a class: its own, and those that its methods set."""
    if found.__module__ in ("builtins", "typing", "abc"):
        return frozenset()
    names = {*vars(found), *getattr(found, "__annotations__", ())}
    with contextlib.suppress(OSError, TypeError):  # written in C: `vars` has all
        tree = ast.parse(textwrap.dedent(inspect.getsource(found)))
        names |= set(_given(ast.walk(tree)))
    return frozenset(filter(is_private, names))


def module_of(path: str) -> ModuleType:
    """Return the module of a file such as `apiserver/app.py`."""
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return importlib.import_module(f"{OURS}.{name}")
