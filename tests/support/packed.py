"""Run inside the executable of `make binary`: how much was looked for, and what is missing.

`$TREE` is the tree that it was made from. A line is a count, those after it what is not there.
"""

import importlib
import os
from pathlib import Path

import inkube

TREE = Path(os.environ.get("TREE", ""))
FOLDERS = ("apiserver", "controllers", "schemas", "storage")


def is_elsewhere(path: Path) -> bool:
    """Whether a file has another place in the package: the public modules and what marks types."""
    return path.parent == TREE / "apiserver" and (
        path.name == "py.typed" or (path.name[0] == "_" and path.stem != "__init__")
    )


def files() -> list[Path]:
    found = [path for folder in FOLDERS for path in (TREE / folder).rglob("*") if path.is_file()]
    return [
        path.relative_to(TREE) for path in found if path.suffix != ".pyc" and not is_elsewhere(path)
    ]


def missing(file: Path) -> list[str]:
    """What of a file of the tree is not in the package."""
    if file.suffix == ".py":
        parts = file.parent.parts if file.stem == "__init__" else file.with_suffix("").parts
        return _refused(".".join(("inkube", *parts)), "")
    if file.suffix == ".pyi":
        room = ".".join(("inkube", *file.parent.parts))
        offered = importlib.import_module(room).__all__
        return [each for name in offered for each in _refused(room, name)]
    assert inkube.__file__ is not None
    return [] if (Path(inkube.__file__).parent / file).is_file() else [f"{file}: no file"]


def _refused(module: str, name: str) -> list[str]:
    try:
        found = importlib.import_module(module)
        if name:
            getattr(found, name)
    except ImportError as error:
        return [f"{module} {name}: no {error.name}"]
    return []


if os.environ.get("TREE"):
    FOUND = files()
    print(len(FOUND), *(each for file in FOUND for each in missing(file)), sep="\n")
