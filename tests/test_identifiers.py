"""Functions, parameters and attributes have the terms of the field, not filler words or verbs.

A reader who meets `found`, `made` or `tell` in a list of members or in a signature does not know
what they contain or do. Local variables are free.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("apiserver", "controllers", "schemas", "storage")
_FILLERS = frozenset({"asked", "found", "given", "it", "made", "one", "told", "wanted", "what"})
_VERBS = frozenset({"ask", "asks", "hear", "hears", "say", "says", "tell", "tells"})


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
    """Whether a name is a filler word, or begins with a verb of speech."""
    plain = name.strip("_")
    return plain in _FILLERS or plain.split("_")[0] in _VERBS


def vague_names() -> set[str]:
    return {
        f"{path.relative_to(ROOT).as_posix()}: {name}"
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        for name in members(ast.parse(path.read_text()))
        if is_vague(name)
    }


def test_functions_and_attributes_have_names_that_say_what_they_are() -> None:
    assert vague_names() == set()


def test_a_vague_name_is_found() -> None:
    source = (
        "class A:\n    made: int\n    def tell(self, what): self._found = 1\n    def send(self): 1"
    )
    vague = {each for each in members(ast.parse(source)) if is_vague(each)}
    assert vague == {"made", "tell", "what", "_found"}
