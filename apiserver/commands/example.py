"""`inkube example`: writes the complete examples of the package to a folder."""

import filecmp
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import click

from inkube import storage

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
"""The folder with the examples. It is next to the other folders, in a clone and in the package."""
_BUILT = shutil.ignore_patterns("node_modules", "__pycache__", ".*")


@click.command("example")
@click.argument("name", required=False)
@click.argument("folder", required=False, type=click.Path(path_type=Path, file_okay=False))
def example_command(name: str | None, folder: Path | None) -> None:
    """Write the files of an example to FOLDER. Without NAME: list the examples.

    FOLDER is ./NAME unless you give one. It must be empty, or contain the same files.
    """
    if name is None:
        titles = {each: title(each) for each in names()}
        width = max(map(len, titles))
        for each, text in titles.items():
            click.echo(f"{each:{width}}  {text}")
        return
    if name not in names():
        raise click.BadParameter(
            f"there is no example {name!r}; the examples are {', '.join(names())}",
            param_hint="NAME",
        )
    target = folder or Path(name)
    source = EXAMPLES / name
    files = sorted(str(path.relative_to(source)) for path in _files(source))
    if target.exists() and any(target.iterdir()):
        _require_same(source, target, files)
    else:
        for file in files:
            _copy(source / file, target / file)
    for file in files:
        click.echo(target / file)


def _require_same(source: Path, target: Path, files: list[str]) -> None:
    """Raise ClickException if a file of the example is missing or different in `target`."""
    _, different, missing = filecmp.cmpfiles(source, target, files, shallow=False)
    if found := sorted(different + missing):
        state = "missing" if found[0] in missing else "different"
        raise click.ClickException(
            f"{target} is not empty, and {found[0]} is {state}\n"
            f"choose another folder: inkube example {source.name} FOLDER"
        )


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of an example, without those that its programs create."""
    children = {path.name: path for path in folder.iterdir()}
    for name in children.keys() - _BUILT(str(folder), list(children)):
        path = children[name]
        yield from _files(path) if path.is_dir() else [path]


def _copy(source: Path, target: Path) -> None:
    mode = storage.wholefiles.PROGRAM if os.access(source, os.X_OK) else storage.wholefiles.PUBLIC
    target.parent.mkdir(parents=True, exist_ok=True)
    storage.wholefiles.write(target, source.read_bytes(), mode=mode)


def names() -> list[str]:
    """Return the names of all examples, sorted."""
    return sorted(path.parent.name for path in EXAMPLES.glob("*/README.md"))


def title(name: str) -> str:
    """Return the heading of an example's README."""
    with (EXAMPLES / name / "README.md").open(encoding="utf-8") as readme:
        return readme.readline().removeprefix("# ").rstrip("\n")
