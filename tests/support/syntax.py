"""The syntax trees of the package, parsed once in a process for all tests that read them."""

import ast
import gc
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("apiserver", "controllers", "schemas", "storage")


def tree(path: Path) -> ast.Module:
    """Return the syntax tree of a file, which must not be changed."""
    found = trees().get(path.resolve())
    return ast.parse(path.read_text("utf-8")) if found is None else found


@cache
def trees() -> dict[Path, ast.Module]:
    """Return the syntax trees of all modules of the package, in the order of their paths."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()  # the trees live as long as the process: the collector would only visit them
    try:
        files = (file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py")))
        return {file: ast.parse(file.read_text("utf-8")) for file in files}
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
