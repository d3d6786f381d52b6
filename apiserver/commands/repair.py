"""`inkube check` and `inkube repair`: find damage in a data file, and remove it."""

import sqlite3
from pathlib import Path

import click

from inkube.apiserver.registry import JSONCodec
from inkube.storage import repair as rows

MAX_PRINTED = 100
"""The number of damaged entries that are printed one by one."""
_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)


@click.command("check")
@click.argument("file", type=_FILE)
def check_command(file: Path) -> None:
    """Report damage in a data file. Exits with code 1 if there is any."""
    try:
        problems = [f"the file: {text}" for text in rows.structure(file)]
        problems += [str(each) for each in rows.breaks(file)]
        problems += [str(each) for each in rows.rows(file, JSONCodec().is_sound)]
    except (sqlite3.Error, OSError) as error:
        raise click.ClickException(f"{file} cannot be read: {error}") from error
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
    """Copy a data file, then remove damaged entries from the original.

    A damaged object returns to its newest intact state in the log. If
    revisions are missing or contradict each other, the earlier history is removed, and watching
    clients list again. Stop every server of the file first.
    """
    copy = file.with_name(f"{file.name}.before-repair")
    try:
        rows.copy(file, copy)
        found = rows.repair(file, JSONCodec().is_sound)
        left = rows.structure(file)
    except (sqlite3.Error, OSError) as error:
        raise click.ClickException(f"{file} cannot be repaired: {error}") from error
    for each in found.dropped[:MAX_PRINTED]:
        click.echo(f"dropped: {each}")
    if found.forgotten:
        click.echo(f"forgotten: what was before revision {found.forgotten}")
    click.echo(f"{len(found.dropped)} dropped; as it was: {copy}")
    if left:
        raise click.ClickException(f"the file itself is damaged, restore a copy: {left[0]}")
