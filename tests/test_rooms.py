"""Separation of rooms that import-linter does not check: cycles, and checks of a kind's origin."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import syntax
from circles import circle

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("folder", ["apiserver", "storage", "controllers", "schemas"])
def test_no_modules_import_each_other_in_a_circle_not_even_for_their_types(folder: str) -> None:
    assert circle(f"inkube.{folder}") == []


def test_a_circle_that_type_checking_hides_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "ring"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ring.two import Two\n"
    )
    (package / "two.py").write_text("def made():\n    from ring import one\n    return one\n")
    monkeypatch.syspath_prepend(tmp_path)
    try:
        assert set(circle("ring")) == {"ring.one", "ring.two"}
    finally:
        sys.modules.pop("ring", None)


_MAY_ASK = {"schemas/wordings.py"}
"""Selects the texts of a kind by its origin, for all others."""
_OTHERS = "controllers/porch/"
"""There, an origin is a git repository."""
_CLASSES = re.compile(r"Strategy|Served|Wording|Definition")


def _said(node: ast.AST) -> ast.AST | None:
    """Return the part of a node that is not a check: an argument or default `origin`, a function, a
    path."""
    if isinstance(node, ast.keyword):
        return node.value if node.arg == "origin" else None
    if isinstance(node, ast.AnnAssign):
        return node.value if ast.unparse(node.target) == "origin" else None
    if isinstance(node, ast.Attribute) and node.attr not in ("origin", "builtin"):
        return node.value
    return node.func if isinstance(node, ast.Call) else None


_VALUE = re.compile(r"\b(EXTENSIONS|KUBERNETES|PYTHON)\b")
"""The origins of kinds. A comparison with one of them is a check of the origin."""
_READERS = ("isinstance", "issubclass", "getattr", "hasattr")


def _asks(node: ast.AST) -> bool:
    """Return whether code depends on a kind's origin, or on the class that serves it."""
    if isinstance(node, ast.Attribute):
        return node.attr in ("origin", "builtin") or ast.unparse(node.value) == "Origin"
    if isinstance(node, ast.MatchClass):
        return _CLASSES.search(ast.unparse(node.cls)) is not None
    if isinstance(node, ast.Compare):
        sides = [ast.unparse(each) for each in (node.left, *node.comparators)]
        by_class = any(re.search(r"^type\([^)]*\)$|__class__$", side) for side in sides)
        return any(map(_VALUE.search, sides)) or (by_class and any(map(_CLASSES.search, sides)))
    if not isinstance(node, ast.Call) or ast.unparse(node.func) not in _READERS:
        return False
    asked = ast.unparse(node.args[1])
    return _CLASSES.search(asked) is not None or asked.strip("'") in ("origin", "builtin")


def _questions(tree: ast.AST) -> list[ast.AST]:
    """Return places that check a kind's origin, except where a new kind is created with one."""
    said = set(map(_said, ast.walk(tree)))
    return [node for node in ast.walk(tree) if node not in said and _asks(node)]


def _asked() -> Iterator[str]:
    for folder in ("schemas", "controllers", "apiserver"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            name = file.relative_to(ROOT).as_posix()
            if name in _MAY_ASK or name.startswith(_OTHERS):
                continue
            for node in _questions(syntax.tree(file)):
                yield f"{name}:{getattr(node, 'lineno', 0)}: {ast.unparse(node)}"


def test_no_code_depends_on_the_origin_of_a_kind() -> None:
    assert list(_asked()) == []


@pytest.mark.parametrize(
    "text",
    [
        "if definition.origin is Origin.BUILTIN: pass",
        "found = {Origin.CUSTOM: 1}[kind.origin]",
        "if resource.builtin: pass",
        "if isinstance(resource.strategy, CustomStrategy): pass",
        "if isinstance(served, (BuiltinServed, int)): pass",
        "if type(resource.strategy) is CustomStrategy: pass",
        "if getattr(definition, 'origin'): pass",
        "if resource.wording is wordings.KUBERNETES: pass",
        "if order == EXTENSIONS.group_order: pass",
        "match strategy:\n    case CustomStrategy(): pass",
    ],
)
def test_a_comparison_with_the_origin_of_a_kind_is_found(text: str) -> None:
    assert list(_questions(ast.parse(text)))


def test_setting_the_origin_of_a_new_kind_is_not_reported() -> None:
    assert not list(_questions(ast.parse("Definition(group, names, origin=Origin.PYTHON)")))
