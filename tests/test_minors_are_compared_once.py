"""Code that serves requests does not compare versions; that is done once, when parts are built."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import syntax

ROOT = Path(__file__).parent.parent
BUILT_ONCE = ("cache", "of_values", "cached_property")
"""Decorators whose functions run once."""
BUILDERS = {
    "apiserver/admission/pods.py": {
        "handles"
    },  # called once for each kind: `Chain` caches the result
    "apiserver/discovery/health.py": {"_of_minor"},
    "apiserver/declared/serveraccess.py": {"of"},
    "apiserver/defaults/contents/roles.py": {"_in_namespaces", "_read"},
    "apiserver/access/security.py": {"build"},
    "apiserver/sources/earlier/compatibility.py": {"_serves"},
    "apiserver/root/plugins.py": {"in_order"},
    "apiserver/root/reconcilers.py": {"add"},
    "apiserver/sources/foundation.py": {"open_foundation"},
    "apiserver/subresources/table.py": {"table"},
    "schemas/builtin/kinddefinitions.py": {"_version"},
    "schemas/builtin/resources.py": {"_in_range"},
    "schemas/builtin/rules/filling.py": {"_compile", "_gated_lines"},
    "schemas/builtin/rules/gates.py": {"default"},
    "schemas/builtin/rules/shapes.py": {"_has"},
    "schemas/builtin/rules/table.py": {"holds"},
    "schemas/cel/library/__init__.py": {"of"},
    "schemas/cel/running/libraries.py": {"restricted"},
    "schemas/dialects.py": {"_changes"},
    "schemas/gotypes/table.py": {"_component"},
    "schemas/gotypes/types.py": {"_field"},
    "schemas/offline/removed.py": {"hint", "is_between"},  # of findings, which no server has
    "schemas/offline/unmatched.py": {"_other_minors", "removed_until"},
    "schemas/ownership/resetfields.py": {"of_builtin", "of_custom"},
    "schemas/releases.py": {"holds"},
    "schemas/structural/formats.py": {"checked_in"},
    "schemas/wordings.py": {"of"},
    "schemas/builtin/decoding.py": {
        "_other_type",
        "_read_in_own_version",
    },  # the table of its minor
}
"""Builders of tables, types, rules, definitions and handlers, called once per part."""


def asked(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield each comparison with a version: the function ("" outside) and the line."""
    yield from _asked(tree, "", kept=True)


def _asked(node: ast.AST, function: str, *, kept: bool) -> Iterator[tuple[str, int]]:
    for child in ast.iter_child_nodes(node):
        inside, is_kept = function, kept
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = " ".join(map(ast.unparse, child.decorator_list))
            inside = child.name
            is_kept = inside == "__init__" or any(word in decorators for word in BUILT_ONCE)
        if _asks(child) and not is_kept:
            yield inside, child.lineno  # type: ignore[attr-defined]  # of a comparison or a call
        yield from _asked(child, inside, kept=is_kept)


def _asks(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        return any(_is_minor(part) for part in ast.walk(node))
    return (
        isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith((".is_on", ".holds"))
        and (any(_is_minor(part) for argument in node.args for part in ast.walk(argument)))
    )


def _is_minor(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return node.id == "minor"
    return isinstance(node, ast.Attribute) and node.attr in ("minor", "_minor")


def test_only_code_that_builds_parts_compares_versions() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {function} asks for a version"
        for room in ("apiserver", "controllers", "schemas", "storage")
        for path in sorted((ROOT / room).rglob("*.py"))
        for function, line in asked(syntax.tree(path))
        if function not in BUILDERS.get(str(path.relative_to(ROOT)), ())
    ]
    assert not found, "decide it when the part is built, or put it into a range:\n" + "\n".join(
        found
    )


def test_no_builder_is_named_in_vain() -> None:
    for name, functions in BUILDERS.items():
        tree = syntax.tree(ROOT / name)
        assert functions <= {function for function, _ in asked(tree)}, name


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def f(minor):\n return minor >= 3", ["f"]),
        ("class C:\n def f(self):\n  return self._minor == 3", ["f"]),
        ("def f(d):\n return gates.is_on('A', d.minor)", ["f"]),
        ("class C:\n def __init__(self, minor):\n  self.a = minor > 3", []),
        ("@caches.of_values(6)\ndef f(minor):\n return minor > 3", []),
        ("def f(minor):\n return g(minor)", []),
        ("NEW = minor > 3", []),
    ],
)
def test_a_question_is_found(text: str, found: list[str]) -> None:
    assert [function for function, _ in asked(ast.parse(text))] == found
