"""`inkube snapshot save`, `restore` and `page`: the state of a server in a file."""

import asyncio
from pathlib import Path

import click

from inkube.apiserver import sources, testing
from inkube.apiserver.commands import failures
from inkube.apiserver.commands.commonoptions import FILE, data_option
from inkube.storage import Attachments, wholefiles


@click.group("snapshot")
def snapshot_command() -> None:
    """Save the state of a server to a file, and restore it."""


@snapshot_command.command()
@click.argument("file", type=FILE)
@data_option(help="The server's data.")
def save(file: Path, data: Path) -> None:
    """Copy the data of a server to FILE, whether it runs or not.

    Secret keys are in other files and are not copied.
    """
    if not data.exists():
        raise click.ClickException(f"{data} does not exist; name the data with --data FILE")
    with failures.reported():
        found = _copied(data, file)
    click.echo(f"{file} holds revision {found.revision}; inkube serve --snapshot {file}")


@snapshot_command.command()
@click.argument("file", type=FILE)
@data_option(help="The file to create.")
def restore(file: Path, data: Path) -> None:
    """Create the data of a server from FILE. The data file must not exist."""
    with failures.reported():
        found = _copied(file, data)
    click.echo(f"{data} is at revision {found.revision}")


def _copied(source: Path, target: Path) -> sources.Snapshot:
    """Copy the objects and the logs of a data file to a new one. Raises OSError, StorageError."""
    found = asyncio.run(sources.snapshots.load(source))
    asyncio.run(found.save(target))
    Attachments(source).copy(Attachments(target))
    return found


@snapshot_command.command()
@click.argument("file", type=FILE)
@click.argument("html", type=FILE)
def page(file: Path, html: Path) -> None:
    """Write the state in FILE to the page HTML, which a browser opens without a server.

    The page contains the console, and secrets as they are stored. Nothing can be changed on it.
    """
    with failures.reported(ValueError):
        found = asyncio.run(sources.snapshots.load(file))
        text = asyncio.run(testing.statepages.of_file(found, file.name))
        wholefiles.write(html, text, mode=wholefiles.PRIVATE)
    click.echo(html)
