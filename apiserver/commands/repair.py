"""`inkube check` and `inkube repair`: find damage in a data file, and remove it."""

import sqlite3
from pathlib import Path

import click

from inkube import storage
from inkube.apiserver.commands import failures
from inkube.apiserver.registry import JSONCodec
from inkube.storage import repair as rows

MAX_PRINTED = 100
"""The number of damaged entries that are printed one by one."""
_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)


@click.command("check")
@click.argument("file", type=_FILE)
def check_command(file: Path) -> None:
    """Report damage in a data file. Exits with code 1 if there is any."""
    with (
        failures.reported(sqlite3.Error, about=f"{file} cannot be read"),
        storage.readable(file) as found,
    ):
        problems = rows.problems(found, JSONCodec().is_sound)
        notice = rows.notice(found)
    if notice:
        click.echo(f"note: {notice}; clients of the next server list again")
    for text in problems[:MAX_PRINTED]:
        click.echo(f"damaged: {text}")
    if problems:
        raise click.ClickException(
            f"{len(problems)} damaged. Stop every server of {file}, then: inkube repair {file}"
        )
    click.echo(f"{file} is sound")


@click.command("repair")
@click.argument("file", type=_FILE)
def repair_command(file: Path) -> None:
    """Keep a data file under another name, and replace it by one with everything that can be read.

    A damaged object returns to its newest intact state in the log. If
    revisions are missing or contradict each other, the earlier history is removed, and watching
    clients list again. Stop every server of the file first.
    """
    with failures.reported(sqlite3.Error, about=f"{file} cannot be repaired"):
        found = rows.repair(file, JSONCodec().is_sound)
    for each in found.dropped[:MAX_PRINTED]:
        click.echo(f"dropped: {each}")
    if found.forgotten:
        click.echo(f"forgotten: what was before revision {found.forgotten}")
    click.echo(f"{found.kept} kept, {len(found.dropped)} dropped; as it was: {found.copy}")
    if found.left:
        raise click.ClickException(f"the repaired file is damaged: {found.left[0]}")
