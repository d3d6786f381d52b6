"""`inkube snapshot save` and `restore`: the state of a server in a file."""

import asyncio
from pathlib import Path

import click

from inkube.apiserver import root
from inkube.apiserver.configuration import LOCAL
from inkube.storage import StorageError

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group("snapshot")
def snapshot_command() -> None:
    """Keep the state of a server in a file, and begin with it again."""


@snapshot_command.command()
@click.argument("file", type=_FILE)
@click.option("--data", type=_FILE, default=LOCAL, show_default=True, help="The server's data.")
def save(file: Path, data: Path) -> None:
    """Copy a server's data to FILE, while it runs or not.

    Secret keys stay where they are, beside the data.
    """
    try:
        found = asyncio.run(root.snapshots.load(data))
        asyncio.run(found.save(file))
    except (OSError, StorageError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{file} holds revision {found.revision}; inkube serve --snapshot {file}")


@snapshot_command.command()
@click.argument("file", type=_FILE)
@click.option("--data", type=_FILE, default=LOCAL, show_default=True, help="A file to be made.")
def restore(file: Path, data: Path) -> None:
    """Make a server's data out of FILE; there must be none yet."""
    try:
        found = asyncio.run(root.snapshots.load(file))
        asyncio.run(found.save(data))
    except (OSError, StorageError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{data} is at revision {found.revision}")
