"""Finds code that writes files: in syntax trees, without running it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import syntax

METHODS = frozenset({
    "copy", "copy2", "copyfile", "copyfileobj", "copytree", "dump_to_path", "hardlink_to", "link",
    "mkstemp", "move", "NamedTemporaryFile", "rename", "replace", "symlink", "symlink_to", "touch",
    "write_bytes", "write_text",
})  # fmt: skip
"""Names of functions that create, fill or rename files."""
OF_MODULES = frozenset({"os", "shutil", "tempfile"})
"""The modules in which the ambiguous ones of these names are about files."""
CERTAIN = frozenset({"write_bytes", "write_text", "hardlink_to", "symlink_to", "touch"})


def writers(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the lines and the texts of calls that write files."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _writes(node):
            yield node.lineno, ast.unparse(node)


def _writes(call: ast.Call) -> bool:
    name, owner = _name(call.func)
    if name == "open" and owner in ("", "io", "gzip", "lzma", "bz2"):
        return _is_writing_mode(call, 1)
    if name == "open" and owner == "os":
        flags = ast.unparse(call.args[1]) if len(call.args) > 1 else ""
        return any(each in flags for each in ("O_WRONLY", "O_RDWR", "O_CREAT", "flags"))
    if name == "open":
        return _is_writing_mode(call, 0, certain=True)
    return name in CERTAIN or (name in METHODS and owner in OF_MODULES)


def _name(function: ast.expr) -> tuple[str, str]:
    """Return the name of a function and of its owner, if that is a name."""
    if isinstance(function, ast.Attribute):
        owner = function.value
        return function.attr, owner.id if isinstance(owner, ast.Name) else "?"
    return (function.id, "") if isinstance(function, ast.Name) else ("", "")


def _is_writing_mode(call: ast.Call, position: int, *, certain: bool = False) -> bool:
    """Return whether the mode of an `open` writes. With `certain`, only if it is a literal: methods
    of other objects have the same name."""
    modes = [each.value for each in call.keywords if each.arg == "mode"]
    modes += call.args[position : position + 1]
    texts = [
        each.value if isinstance(each, ast.Constant) else "" if certain else "w" for each in modes
    ]
    return any(isinstance(text, str) and set(text) & set("wax+") for text in texts)


def of_folder(folder: Path) -> dict[str, list[str]]:
    """Return the calls in each module of a folder that has any."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        calls = [f"{line}: {text}" for line, text in writers(syntax.tree(path))]
        if calls:
            found[path.relative_to(folder.parent).as_posix()] = calls
    return found
