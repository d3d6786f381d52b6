"""`inkube example`: writes the complete examples of the package to a folder."""

import shutil
from pathlib import Path

import click

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
"""The folder with the examples. It is next to the other folders, in a clone and in the package."""
_BUILT = shutil.ignore_patterns("node_modules", "__pycache__", ".*")


@click.command("example")
@click.argument("name", required=False)
@click.argument("folder", required=False, type=click.Path(path_type=Path, file_okay=False))
def example_command(name: str | None, folder: Path | None) -> None:
    """Write the files of an example to FOLDER. Without NAME: list the examples.

    FOLDER is ./NAME unless you give one. Files that exist are never overwritten.
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
    if target.exists() and any(target.iterdir()):
        raise click.ClickException(
            f"{target} is not empty\nchoose another folder: inkube example {name} FOLDER"
        )
    shutil.copytree(EXAMPLES / name, target, ignore=_BUILT, dirs_exist_ok=True)
    for path in sorted(target.rglob("*")):
        if path.is_file():
            click.echo(path)


def names() -> list[str]:
    """The names of all examples, sorted."""
    return sorted(path.parent.name for path in EXAMPLES.glob("*/README.md"))


def title(name: str) -> str:
    """The heading of an example's README."""
    with (EXAMPLES / name / "README.md").open(encoding="utf-8") as readme:
        return readme.readline().removeprefix("# ").rstrip("\n")
