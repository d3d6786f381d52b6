"""Documentation and examples import only public modules, which `help` describes."""

import ast
import importlib
import pydoc
from collections.abc import Iterator
from typing import Any

import pages
import pytest

PUBLIC = (
    "inkube",
    "inkube.client",
    "inkube.explore",
    "inkube.formats",
    "inkube.kinds",
    "inkube.testing",
)
PAGES = sorted(
    path
    for path in (*pages.ROOT.glob("*.md"), *(pages.ROOT / "docs").rglob("*.md"))
    if path.name != "CHANGELOG.md"
)
EXAMPLES = sorted(
    path
    for path in (pages.ROOT / "examples").rglob("*.py")
    if not {"build", "node_modules"} & set(path.parts)
)


def _programs() -> Iterator[tuple[str, str]]:
    """Yield every Python program in documentation and examples: its place and its text."""
    for page in PAGES:
        for block in pages.blocks(page.read_text()):
            if block.language == "python":
                yield f"{page.relative_to(pages.ROOT)}:{block.line}", block.text
    for path in EXAMPLES:
        yield str(path.relative_to(pages.ROOT)), path.read_text()


PROGRAMS = dict(_programs())


def private(text: str) -> list[str]:
    """Return the imports of a program from inkube that are not public."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
            found += [name for name in names if _is_ours(name) and name not in PUBLIC]
        elif isinstance(node, ast.ImportFrom) and _is_ours(node.module or ""):
            found += [
                f"{node.module}.{each.name}"
                for each in node.names
                if not _is_offered(node.module or "", each.name)
            ]
    return found


def _is_ours(module: str) -> bool:
    return module.split(".")[0] == "inkube"


def _is_offered(module: str, name: str) -> bool:
    if f"{module}.{name}" in PUBLIC:
        return True
    return module in PUBLIC and name in _offered(module)


def _offered(module: str) -> list[str]:
    room: Any = importlib.import_module(module)
    offered: list[str] = room.__all__
    return offered


@pytest.mark.parametrize("place", PROGRAMS)
def test_documentation_and_examples_import_what_is_public(place: str) -> None:
    assert private(PROGRAMS[place]) == []


@pytest.mark.parametrize(
    "text",
    [
        "from inkube.schemas import status",
        "from inkube.kinds import CheckReconciler",
        "import inkube.controllers.kinds",
        "from inkube import apiserver",
    ],
)
def test_an_import_of_something_private_is_found(text: str) -> None:
    assert private(text)


def test_programs_were_found_on_pages_and_in_files() -> None:
    assert any(place.startswith("README.md:") for place in PROGRAMS)
    assert "examples/probe/probe.py" in PROGRAMS


@pytest.mark.parametrize("module", PUBLIC)
def test_help_shows_every_name_with_a_description(module: str) -> None:
    shown = pydoc.plain(pydoc.render_doc(importlib.import_module(module)))
    for name in _offered(module):
        assert name in shown
    assert "DESCRIPTION" in shown


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_class_and_function_has_a_description(module: str) -> None:
    room = importlib.import_module(module)
    silent = [
        name
        for name in _offered(module)
        if callable(thing := getattr(room, name))
        and getattr(thing, "__module__", "").startswith("inkube.")
        and not _text_of(thing)
    ]
    assert silent == []


def _text_of(thing: Any) -> str:
    """Return its own docstring. A dataclass without one gets its signature, which does not
    count."""
    text = thing.__doc__ if not isinstance(thing, type) or "__doc__" in vars(thing) else ""
    return "" if not text or text.startswith(f"{thing.__name__}(") else text


@pytest.mark.parametrize(
    ("module", "name", "member", "about"),
    [
        ("inkube", "Options", "port: int = 0", "Port to listen on"),
        ("inkube", "Workloads", "nodes: int = 2", "nodes"),
        ("inkube.kinds", "KindModule", "checks: Sequence[Check[R]] = ()", "live checks"),
    ],
)
def test_help_describes_the_members_of_dataclasses(module, name, member, about) -> None:
    shown = pydoc.plain(pydoc.render_doc(getattr(importlib.import_module(module), name)))
    [_, text] = shown.split("Members:", 1)
    assert member in text
    assert about in text.split(member, 1)[1].split("\n |  \n", 1)[0]


def test_a_name_that_is_not_offered_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"inkube\.kinds' has no attribute 'Nothing'"):
        _ = importlib.import_module("inkube.kinds").Nothing
