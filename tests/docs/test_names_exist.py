"""Names in backticks exist: in docstrings and comments of the code, and on pages about the code.

Three sorts are checked: paths of files, constants in capitals, and `module.name` where `module` is
one of inkube. Everything else in backticks can be a name of Kubernetes, Go or a library.
"""

import ast
import io
import re
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import syntax

ROOT = Path(__file__).parents[2]
FOLDERS = ("apiserver", "controllers", "schemas", "storage", "tools", "benchmarks", "tests")
PAGES = ("CONTRIBUTING.md", *(f"docs/{name}.md" for name in (
    "architecture", "bounds", "builtin-kinds", "new-versions", "rules", "security",
)))  # fmt: skip
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_COMMENT_WITH_CODE = re.compile(r"#.*`")
_SUFFIXES = (".py", ".pyi", ".txt", ".json", ".rules", ".md", ".toml", ".js")
_PATH = re.compile(rf"[\w.-]+(?:/[\w.-]+)*(?:{'|'.join(map(re.escape, _SUFFIXES))})")
_CONSTANT = re.compile(r"_?[A-Z]{2,}(?:_[A-Z0-9]+)+")
_DOTTED = re.compile(r"([a-z]\w+)\.([A-Za-z_]\w*)")
_OTHERS = frozenset({
    "cel", "core", "deployments", "example", "health", "json", "metadata", "netip", "rest",
    "secure", "semver", "spec", "status", "strategy", "strconv", "url", "variables",
})  # fmt: skip
"""Members of objects, resources and packages of Go that are also modules of inkube."""
_NOWHERE = frozenset({"harbour.py"})
"""Files of users in examples."""


def files(*suffixes: str) -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in suffixes and "node_modules" not in path.parts:
                yield path


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the docstrings, strings below attributes, and comments of a module, with their
    lines."""
    yield from _parsed(path).documentation
    source = path.read_text()
    if _COMMENT_WITH_CODE.search(source):
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


class Parsed(NamedTuple):
    """What the tests need of a module."""

    documentation: Sequence[tuple[int, str]]
    """Docstrings and strings below attributes, with their lines."""
    identifiers: frozenset[str]
    words: frozenset[str]
    """The words of other strings."""


@cache
def _parsed(path: Path) -> Parsed:
    documentation: list[tuple[int, str]] = []
    documented: set[int] = set()
    strings: list[str] = []
    identifiers: set[str] = set()
    for node in ast.walk(syntax.tree(path)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            documented.add(id(node.value))  # comes before the value itself
            documentation.append((node.lineno, str(node.value.value)))
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str | bytes) and id(node) not in documented:
                strings.append(str(node.value))
        else:
            identifiers.update(_identifiers(node))
    words = frozenset(re.findall(r"\w+", "\n".join(strings)))
    return Parsed(documentation, frozenset(map(sys.intern, identifiers)), words)


@cache
def file_names() -> frozenset[str]:
    return frozenset(path.name for path in files(*_SUFFIXES))


@cache
def words() -> frozenset[str]:
    """Return every identifier in the code, and every word of strings that are not documentation."""
    found: set[str] = set()
    for path in files(".py", ".pyi"):
        found |= _parsed(path).identifiers | _parsed(path).words
    for path in (
        *files(".txt", ".json", ".js", ".rules"),
        ROOT / "Makefile",
        ROOT / "pyproject.toml",
    ):
        found.update(re.findall(r"[A-Z_]{3,}[A-Z0-9_]*", path.read_text()))
    return frozenset(found)


def _identifiers(node: ast.AST) -> Iterator[str]:
    for member in ("id", "attr", "name", "arg", "asname"):
        if isinstance(value := getattr(node, member, None), str):
            yield value


@cache
def modules() -> dict[str, set[str]]:
    """Name of a module or room → the identifiers in its files, and its modules."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in files(".py", ".pyi"):
        if path.relative_to(ROOT).parts[0] in ("tests", "tools", "benchmarks"):
            continue
        own = _parsed(path).identifiers
        parts = path.relative_to(ROOT).with_suffix("").parts
        for depth, part in enumerate(parts):
            name = part if part != "__init__" else parts[depth - 1]
            found[name] |= own | set(parts[depth + 1 :])
    return dict(found)


def _is_file(name: str, near: Path) -> bool:
    """Return whether a file exists, or is none of this project."""
    bases = (near, *near.parents, ROOT / "apiserver", ROOT / "docs", ROOT / "tests")
    is_ours = "/" not in name or name.split("/")[0] in (*FOLDERS, "docs", "examples", "deploy")
    known = name in file_names() or name in _NOWHERE
    return not is_ours or known or any((base / name).exists() for base in bases)


def missing(text: str, near: Path) -> Iterator[str]:
    """Yield the names in a text that do not exist. `near` is the folder of its file."""
    for name in _CODE.findall(text):
        dotted = _DOTTED.fullmatch(name)
        if dotted is not None and dotted[2] in modules().get(dotted[1], ()):
            continue
        if _PATH.fullmatch(name):
            if not _is_file(name, near):
                yield name
        elif _CONSTANT.fullmatch(name):
            if name not in words() and name.removeprefix("_") not in words():
                yield name
        elif dotted and dotted[2] != "go" and dotted[1] in modules().keys() - _OTHERS:
            yield name


_UNNAMED = re.compile(r"\([A-Z]\d+\)|\bsections? \d+(?!.*\b(?:of|in) (?:the format|its|RFC|SPDY))")
"""A requirement or a section, without the document that contains it."""


def test_sections_are_those_of_a_document_that_is_named() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for folder in ("apiserver", "controllers", "schemas", "storage")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, text in texts(path)
        if "specification" not in text and "sqlite.org" not in text and _UNNAMED.search(text)
    ]
    assert found == []


def test_names_in_documentation_of_the_code_exist() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in files(".py")
        for line, text in texts(path)
        if "`" in text
        for name in missing(text, path.parent)
    ]
    assert found == []


@pytest.mark.parametrize("page", PAGES)
def test_names_on_pages_about_the_code_exist(page: str) -> None:
    path = ROOT / page
    assert list(missing(path.read_text(), path.parent)) == []


@pytest.mark.parametrize(
    "text",
    [
        "the bound `AT_ONCE_" + "MORE`",
        "`controllers/porch/porch.py`",
        "`storage.nothing`",
        "`nobody.py`",
    ],
)
def test_a_name_that_does_not_exist_is_found(text: str) -> None:
    assert list(missing(text, ROOT / "apiserver"))


@pytest.mark.parametrize(
    "text",
    [
        "`MAX_SERIES` sets of labels",
        "`storage/log.py`",
        "`storage.Log`",
        "`spec.replicas`",
        "`PATH`",
    ],
)
def test_existing_names_are_not_reported(text: str) -> None:
    assert not list(missing(text, ROOT / "apiserver"))
