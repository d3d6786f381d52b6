"""Functions, parameters and attributes have the terms of the field, not filler words or verbs;
docstrings have one form, and names of tests have a subject. No name is without use, and no code
stands in two places.

A reader who meets `found`, `made` or `tell` in a list of members or in a signature does not know
what they contain or do. Local variables are free.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import syntax

ROOT = Path(__file__).parent.parent
FOLDERS = ("apiserver", "controllers", "schemas", "storage", "tools", "benchmarks")
_FILLERS = frozenset({"asked", "found", "given", "it", "made", "one", "told", "wanted", "what"})
_VERBS = frozenset({"ask", "asks", "hear", "hears", "say", "says", "tell", "tells"})
_NOUNS = frozenset({
    "A", "All", "An", "Each", "Every", "How", "Its", "One", "The", "What", "Whether", "Why",
})  # fmt: skip
"""Words that begin a description of a value, not of an action."""
_RULES = frozenset({"check", "group", "validator"})
"""Decorators of functions whose docstring is a rule, or a text that users read."""


@cache
def trees() -> dict[str, ast.Module]:
    """Return the modules of the package by path."""
    return {
        path.relative_to(ROOT).as_posix(): syntax.tree(path)
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
    }


def members(tree: ast.AST) -> Iterator[str]:
    """Yield the names of functions, of parameters, and of attributes that classes declare or
    assign."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                    yield each.target.id


def is_vague(name: str) -> bool:
    """Return whether a name is a filler word, or begins with a verb of speech."""
    plain = name.strip("_")
    return plain in _FILLERS or plain.split("_")[0] in _VERBS


def vague_names() -> set[str]:
    return {
        f"{path}: {name}"
        for path, tree in trees().items()
        if not path.startswith(("tools/", "benchmarks/"))
        for name in members(tree)
        if is_vague(name)
    }


def odd_docstrings(tree: ast.AST) -> Iterator[str]:
    """Yield the first lines of docstrings in the other form: functions that return a value begin
    with a verb (`Return the …`, `Yield the …`), properties with a noun (`The …`)."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        text = ast.get_docstring(node) or " "
        first = text.split(maxsplit=1)[0] if text.strip() else ""
        names = {ast.unparse(each).partition("(")[0].split(".")[-1] for each in node.decorator_list}
        if any("property" in name for name in names):
            is_odd = first in {"Return", "Returns"}
        elif names & _RULES or {"contextmanager", "asynccontextmanager", "fixture"} & names:
            is_odd = False
        else:
            returns = ast.unparse(node.returns) if node.returns else "None"
            is_odd = first in {"Returns", "Yields"} or (first in _NOUNS and returns != "None")
        if is_odd:
            yield f"{node.name}: {text.splitlines()[0]}"


_WITHOUT_SUBJECT = frozenset({
    "even", "it", "its", "neither", "nobody", "so", "somebody", "such", "their", "they", "those",
    "who", "whoever",
})  # fmt: skip
"""Words with which the name of a test begins that does not say what it is about."""


def unclear_tests(source: str) -> list[str]:
    """Return the names of tests that begin without a subject."""
    names = re.findall(r"^(?:async )?def test_(\w+_\w+)\(", source, re.MULTILINE)
    return [name for name in names if name.split("_")[0] in _WITHOUT_SUBJECT]


def test_no_function_or_attribute_has_a_vague_name() -> None:
    assert vague_names() == set()


def test_a_vague_name_is_found() -> None:
    source = (
        "class A:\n    made: int\n    def tell(self, what): self._found = 1\n    def send(self): 1"
    )
    vague = {each for each in members(ast.parse(source)) if is_vague(each)}
    assert vague == {"made", "tell", "what", "_found"}


def test_docstrings_of_functions_begin_with_a_verb_and_those_of_properties_with_a_noun() -> None:
    assert [
        f"{path}: {odd}" for path, tree in trees().items() for odd in odd_docstrings(tree)
    ] == []


def test_an_odd_docstring_is_found() -> None:
    source = '''
def age() -> int:
    """The age."""

@property
def size() -> int:
    """Return the size."""

def names() -> list[str]:
    """Return the names."""
'''
    assert [*odd_docstrings(ast.parse(source))] == ["age: The age.", "size: Return the size."]


def test_no_test_has_an_unclear_name() -> None:
    files = (ROOT / "tests").rglob("test_*.py")
    assert [name for path in files for name in unclear_tests(path.read_text())] == []


def test_a_name_without_a_subject_is_found() -> None:
    source = "def test_it_works():\n    1\n\nasync def test_a_pod_starts(kube):\n    1\n"
    assert unclear_tests(source) == ["it_works"]


_PRODUCT = FOLDERS[:4]
_DATA = frozenset({".json", ".pyi", ".rules", ".txt"})
_PLAIN = frozenset({
    "abstractmethod", "asynccontextmanager", "cache", "cached_property", "classmethod",
    "contextmanager", "override", "property", "staticmethod",
})  # fmt: skip
"""Decorators that register nothing."""
_CALLED_BY_OTHERS = {
    "_new_conn": "urllib3",
    "SWITCHES": "a table that a test compares with the options",
    "field_title_should_be_set": "pydantic",
    "format_message": "click",
    "format_options": "click",
    "ignore_aliases": "PyYAML",
    "needless_writes": "tests of users",
    "next_size": "commands of pods",
    "pre_shutdown": "aiohttp",
    "readinto": "io",
    "sleeping": "tests of users",
    "writelines": "io",
}
EQUAL_LINES = 12


def definitions(tree: ast.Module) -> Iterator[str]:
    """Yield the names of functions, classes and constants of a module, and of methods."""
    for node in [*tree.body, *(each for top in tree.body for each in getattr(top, "body", ()))]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = (ast.unparse(each).partition("(")[0] for each in node.decorator_list)
            if all(name.rpartition(".")[2] in _PLAIN for name in names):
                yield node.name
        elif isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign) and node in tree.body:
            yield from (each.id for each in node.targets if isinstance(each, ast.Name))


def uses(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a module reads, also in short texts, which can name what is loaded."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias) and node.asname not in (None, node.name):
            yield node.name
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 80
        ):
            yield from re.findall(r"\w+", node.value)


def unused(modules: Iterable[ast.Module], known: frozenset[str] = frozenset()) -> set[str]:
    """Return the names that no module reads, except those that Python or pytest call."""
    modules = list(modules)
    used = known.union(*map(uses, modules))
    names = {name for tree in modules for name in definitions(tree)} - used
    return {name for name in names if not name.startswith(("__", "pytest_"))}


def equal_code(sources: Iterable[tuple[str, str]]) -> list[str]:
    """Return the places of code that stands in an earlier place too, without its imports."""
    places: dict[tuple[str, ...], str] = {}
    equal = []
    for path, source in sources:
        numbered = enumerate(map(str.strip, source.splitlines()), 1)
        code = [
            (number, line)
            for number, line in numbered
            if len(line) > 3 and not line.startswith(("#", '"', "from ", "import "))
        ]
        for start in range(len(code) - EQUAL_LINES + 1):
            numbers, lines = zip(*code[start : start + EQUAL_LINES], strict=True)
            place = places.setdefault(lines, f"{path}:{numbers[0]}")
            if place != f"{path}:{numbers[0]}":
                equal.append(f"{place} and {path}:{numbers[0]}")
    return equal


def test_no_name_is_without_use() -> None:
    paths = [ROOT / "pyproject.toml"]
    paths += [
        path
        for folder in _PRODUCT
        for path in (ROOT / folder).rglob("*")
        # the stubs of public modules are the names that users use; those of rooms use nothing
        if path.suffix in _DATA and path.name != "__init__.pyi"
    ]
    known = {word for path in paths for word in re.findall(r"\w+", path.read_text())}
    product = [tree for path, tree in trees().items() if path.startswith(_PRODUCT)]
    assert unused(product, frozenset(known)) == set(_CALLED_BY_OTHERS)


def test_a_name_without_use_is_found() -> None:
    source = "A = B = 1\ndef used(): return B\nclass C:\n    def left(self): used()\nC()"
    assert unused([ast.parse(source)]) == {"A", "left"}


def test_no_code_stands_in_two_places() -> None:
    texts = [(path, (ROOT / path).read_text()) for path in trees() if path.startswith(_PRODUCT)]
    assert equal_code(texts) == []


def test_code_in_two_places_is_found() -> None:
    code = "".join(f"line({number})\n\n" for number in range(EQUAL_LINES))
    assert equal_code([("a.py", code), ("b.py", f"import a\n{code}")]) == ["a.py:1 and b.py:2"]
