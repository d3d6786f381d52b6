"""Equality of values: Go's reflect.DeepEqual, and apimachinery's semantic equality."""

import ast
from pathlib import Path
from typing import Any

import pytest
import syntax

import inkube
from inkube.schemas.objects import NoEntries, same, semantically_same

PACKAGE = Path(inkube.__file__).parent
ROOTS = ("apiserver", "controllers", "schemas")


@pytest.mark.parametrize(
    ("one", "other", "is_same", "is_semantically_same"),
    [
        ({"a": 1, "b": [1]}, {"b": [1], "a": 1}, True, True),
        ([1, 2], [2, 1], False, False),
        (1, 1.0, False, False),
        (1, True, False, False),
        ({"a": [1]}, {"a": [True]}, False, False),
        ({}, {}, True, True),
        ({}, None, False, False),
        (NoEntries(), None, False, True),
        ([], None, False, True),
        (NoEntries(), [], False, True),
        ("", None, False, False),
        (0, None, False, False),
        (False, None, False, False),
        (0, False, False, False),
        (0.0, None, False, False),
        ({"a": {}}, {}, False, False),
        ({"a": NoEntries()}, {}, False, True),
        ({"a": {"b": NoEntries()}}, {"a": {}}, False, True),
        ({"a": {"b": []}}, None, False, False),
        ({"a": {"b": []}}, {"a": None}, False, False),
        ({"a": {"b": []}}, {"a": {}}, False, True),
        ([{"a": []}], [{}], False, True),
        ([{}], [], False, False),
        ({"a": ""}, {}, False, False),
        ({"a": NoEntries()}, {"a": {}}, False, True),
        ({"a": 2**70}, {"a": 2**70}, True, True),
        ({"a": [0.0]}, {"a": [-0.0]}, True, True),
    ],
)
def test_values_are_the_same(
    one: Any, other: Any, is_same: bool, is_semantically_same: bool
) -> None:
    assert same(one, other) is same(other, one) is is_same
    assert semantically_same(one, other) is semantically_same(other, one) is is_semantically_same


def test_there_is_one_word_for_an_object_and_one_meaning_of_same() -> None:
    found = {
        (path.relative_to(PACKAGE.joinpath("schemas").resolve().parent).as_posix(), name)
        for root in ROOTS
        for path in (PACKAGE / root).resolve().rglob("*.py")
        for name in _defined(syntax.tree(path))
        if name in ("Object", "same", "semantically_same")
    }
    assert found == {
        ("schemas/objects.py", each) for each in ("Object", "same", "semantically_same")
    }


def _defined(tree: ast.Module) -> list[str]:
    """Return names of the functions of a module, and of aliases of `dict[…]`."""
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    words = [
        ast.unparse(node.targets[0])
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript)
    ]
    return functions + words
