"""Runs inside the executable of `make binary`, and prints files missing in it.

`$TREE` is the source tree of the executable. Each line with a count of checked files is followed by
lines with the missing ones.
"""

import importlib
import os
from pathlib import Path

import inkube

TREE = Path(os.environ.get("TREE", ""))
FOLDERS = ("apiserver", "controllers", "schemas", "storage")


def is_elsewhere(path: Path) -> bool:
    """Return whether a file is somewhere else in the package: the public modules and the marker of
    types."""
    return path.parent == TREE / "apiserver" and (
        path.name == "py.typed" or (path.name[0] == "_" and path.stem != "__init__")
    )


def files() -> list[Path]:
    found = [path for folder in FOLDERS for path in (TREE / folder).rglob("*") if path.is_file()]
    return [
        path.relative_to(TREE) for path in found if path.suffix != ".pyc" and not is_elsewhere(path)
    ]


def missing(file: Path) -> list[str]:
    """Return parts of a file of the source tree that the package lacks."""
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
