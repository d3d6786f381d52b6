"""The recipes in CONTRIBUTING.md name the files that a change touches: no more and no other."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import rooms

from inkube.schemas import releases

ROOT = Path(__file__).parent.parent
FOLDERS = ("apiserver", "controllers", "schemas", "storage")
_RECIPE = re.compile(r"^- \*\*(.*?)\*\*(.*?)(?=^- |\Z)", re.MULTILINE | re.DOTALL)
RECIPES = dict(_RECIPE.findall((ROOT / "CONTRIBUTING.md").read_text()))
DOOR = "apiserver/admission/__init__.pyi"
LIST = "apiserver/root/plugins.py"


def recipe(name: str) -> str:
    return " ".join(RECIPES[name].split())


def number(name: str, noun: str) -> int:
    found = re.search(rf"touches (\d+) {noun}", recipe(name))
    assert found is not None
    return int(found[1])


def files(name: str) -> set[str]:
    return {each for each in re.findall(r"`([\w/.]+)`", recipe(name)) if "/" in each}


def code(*suffixes: str) -> Iterator[tuple[str, str]]:
    """Yield every file of code: its path and its text."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in suffixes:
                yield path.relative_to(ROOT).as_posix(), path.read_text()


def users(name: str) -> set[str]:
    """Return the files that define or use a name."""
    found = set()
    for path, text in code(".py", ".pyi"):
        if name in text:
            for node in ast.walk(ast.parse(text)):
                words = (getattr(node, each, None) for each in ("id", "attr", "name", "arg"))
                if name in words:
                    found.add(path)
    return found


def plugins() -> list[str]:
    """Return the classes of plugins that are created with the first object they are for."""
    text = (ROOT / LIST).read_text()
    return sorted(set(re.findall(r"lambda: admission\.(\w+)\(", text)) - {"PodTopologyLabels"})


@pytest.mark.parametrize("plugin", plugins())
def test_an_admission_plugin_touches_three_files(plugin: str) -> None:
    touched = users(plugin)
    assert len(touched) == number("An admission plugin", "files")
    assert {DOOR, LIST} <= touched & files("An admission plugin")


def test_a_metric_touches_two_files() -> None:
    other = "apiserver/workers/siblings.py"  # has a type with the same name
    assert users("Figures") - {other} == files("A metric")
    assert len(files("A metric")) == number("A metric", "files")


def test_a_log_is_a_folder_and_a_registration() -> None:
    assert number("A third log", "folder") == number("A third log", "registration") == 1
    outside = {path for path in users("postgresql_log") if not path.startswith("storage/sql/")}
    assert outside == {each for each in files("A third log") if (ROOT / each).is_file()}


def test_a_minor_touches_the_files_that_its_recipe_names() -> None:
    minor = releases.NEWEST.minor
    named = rf"\[1\.{minor}\.\.|since=1\.{minor}\b|^\w+ = {minor}$|Release\({minor},"
    touched = {
        path for path, text in code(".py", ".txt", ".rules") if re.search(named, text, re.MULTILINE)
    }
    places = files("A new minor")
    assert touched
    assert [path for path in sorted(touched) if not any(map(path.startswith, places))] == []


def test_a_kind_of_a_new_minor_is_data() -> None:
    lines = (ROOT / "schemas/builtin/resources.txt").read_text().splitlines()
    newest = [line.split() for line in lines if f" v1[1.{releases.NEWEST.minor}..]" in line]
    assert newest
    for _, _, plural, kind, *_ in newest:
        places = files("A kind of a new minor")
        touched = {path for path, text in code(".txt", ".rules") if re.search(rf"\b{kind}\b", text)}
        assert [path for path in touched if not any(map(path.startswith, places))] == []
        assert plural


def test_the_picture_of_rooms_is_that_of_the_code() -> None:
    assert rooms.PAGE.read_text() == rooms.page(), "run python tools/rooms.py"
