"""Regular expressions match alike in every Python that inkube supports.

Until 3.11.4, possessive quantifiers and atomic groups that contain alternatives can match wrongly
(https://github.com/python/cpython/issues/106052). Debian 12 has 3.11.2.
"""

import ast
import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import syntax

parser = pytest.importorskip("re._parser")
ROOT = Path(__file__).parents[1]
WRONG = {"POSSESSIVE_REPEAT", "ATOMIC_GROUP"}
FUNCTIONS = {"compile", "match", "fullmatch", "search", "sub", "split", "finditer", "findall"}


def literals() -> Iterator[tuple[str, str | bytes]]:
    """Yield the place and the text of each literal expression that the package gives to `re`."""
    for folder in ("apiserver", "controllers", "schemas", "storage"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(syntax.tree(path)):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                    first = node.args[0] if node.args else None
                    is_of_re = getattr(node.func.value, "id", "") == "re"
                    text = first.value if isinstance(first, ast.Constant) else None
                    if is_of_re and node.func.attr in FUNCTIONS and isinstance(text, (str, bytes)):
                        yield f"{path.relative_to(ROOT)}:{node.lineno}", text


def operations(parsed: object) -> Iterator[str]:
    """Yield the names of all operations in a parsed expression."""
    if isinstance(parsed, (list, tuple, parser.SubPattern)):
        for each in parsed:
            yield from operations(each)
    elif isinstance(parsed, int) and hasattr(parsed, "name"):
        yield parsed.name


def test_operations_on_regular_expressions_are_found() -> None:
    assert "ATOMIC_GROUP" in set(operations(parser.parse("a|(b(?>c))")))
    assert "POSSESSIVE_REPEAT" in set(operations(parser.parse("(?:a*+)?")))


def test_no_expression_uses_what_matches_wrongly() -> None:
    found = list(literals())
    assert len(found) > 50
    for place, text in found:
        for flags in (0, re.VERBOSE):  # a call passes them in many ways
            with contextlib.suppress(re.error):
                assert not WRONG & set(operations(parser.parse(text, flags))), place
