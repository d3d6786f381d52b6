"""Lazily loaded names of rooms are available on use, and no other imports are late."""

import ast
import importlib
from pathlib import Path
from typing import Any

import pytest
import syntax

from inkube.schemas import crds, lazy
from inkube.schemas.builtin import lookup, resources
from inkube.schemas.strategy import Strategy

ROOT = Path(__file__).parents[2]
FOLDERS = ("apiserver", "storage", "controllers", "schemas")
STUBS = [stub for folder in FOLDERS for stub in (ROOT / folder).rglob("__init__.pyi")]
PUBLIC = (
    "inkube",
    "inkube.client",
    "inkube.explore",
    "inkube.formats",
    "inkube.kinds",
    "inkube.testing",
)
ROOMS = [*PUBLIC, *(".".join(("inkube", *stub.relative_to(ROOT).parent.parts)) for stub in STUBS)]


@pytest.mark.parametrize("name", ROOMS)
def test_everything_a_room_offers_can_be_had(name: str) -> None:
    room: Any = importlib.import_module(name)
    offered = lazy.exports(name)("__all__")
    assert offered
    for each in offered:
        assert getattr(room, each) is not None


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: str(stub.parent.relative_to(ROOT)))
def test_no_name_of_a_room_is_the_name_of_another_module_of_it(stub: Path) -> None:
    """Otherwise, an import of the module would replace the name."""
    room = ".".join(("inkube", *stub.relative_to(ROOT).parent.parts))
    modules = {path.stem for path in stub.parent.glob("*.py")}
    modules |= {path.parent.name for path in stub.parent.glob("*/__init__.py")}
    hidden = [
        alias.asname
        for node in ast.parse(stub.read_text()).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname in modules and (node.module, alias.name) != (room, alias.asname)
    ]
    assert sorted(set(map(str, hidden)) - KNOWN.get(room, set())) == []


KNOWN = {
    "inkube.schemas.builtin": {"definitions"},  # the room itself imports the module first
    "inkube.schemas.patch": {"merge", "strategic"},  # nothing else imports the modules
}


def test_dir_shows_the_public_names_of_the_package() -> None:
    package: Any = importlib.import_module("inkube")
    assert {"APIServer", "Options", "StatusError", "Workloads", "pod"} <= set(dir(package))
    assert not [name for name in dir(package) if name != "__version__" and name.startswith("_")]


@pytest.mark.parametrize("name", ROOMS)
def test_a_stub_offers_exactly_what_it_imports(name: str) -> None:
    """`lazy` parses stubs without a syntax tree."""
    file = importlib.import_module(name).__file__
    assert file is not None
    tree = ast.parse(Path(file).with_suffix(".pyi").read_text())
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    named = [alias.asname or "" for node in imports for alias in node.names]
    assert lazy.exports(name)("__all__") == sorted(named)


def test_a_name_a_room_does_not_offer_is_an_attribute_error() -> None:
    room: Any = crds
    with pytest.raises(AttributeError, match=r"schemas\.crds' has no attribute 'nothing'"):
        _ = room.nothing


def _late(file: Path) -> list[str]:
    """Return imports inside functions, and those that only type checkers use."""
    tree = syntax.tree(file)
    nodes = list(ast.walk(tree))
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    branches = [
        n for n in nodes if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test)
    ]
    return [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for place in (*functions, *branches)
        for node in ast.walk(place)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]


def test_nothing_is_loaded_late_in_another_way() -> None:
    files = (file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))
    late = [place for file in files for place in _late(file)]
    assert late == []


BY_NAME = {
    "schemas/lazy.py": "the way itself",
    "apiserver/declared/exporting.py": "a module of the user's, by the name that was given",
    "apiserver/commands/importing.py": "a module of the user's, by the name that was given",
    "apiserver/commands/reloading.py": "a module of the user's, by the name that was given",
}


def _by_name(file: Path) -> list[str]:
    """Return places that import a module by its name, or use `functools.cached_property`, whose
    lock is shared by all instances."""
    return [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for node in ast.walk(syntax.tree(file))
        if (
            isinstance(node, ast.Name | ast.Attribute)
            and _name(node) in ("import_module", "__import__")
        )
        or (
            isinstance(node, ast.ImportFrom)
            and node.module == "functools"
            and "cached_property" in [alias.name for alias in node.names]
        )
    ]


def _name(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def test_no_table_of_strings_names_modules() -> None:
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")]
    found = {place.rpartition(":")[0] for file in files for place in _by_name(file)}
    assert found == BY_NAME.keys()


def test_a_name_in_data_leads_to_its_attribute() -> None:
    assert lazy.named("inkube.schemas.lazy", "Lazy") is lazy.Lazy
    with pytest.raises(AttributeError):
        lazy.named("inkube.schemas.lazy", "nothing_of_that_name")


@pytest.mark.parametrize("resource", resources.read(), ids=lambda r: f"{r.plural}.{r.group}")
def test_every_built_in_kind_has_its_strategy(resource: resources.Resource) -> None:
    assert isinstance(lookup.strategy_of(resource.group, resource.plural), Strategy)
