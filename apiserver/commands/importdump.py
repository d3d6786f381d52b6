"""`inkube import`: a dump of a cluster as a data file."""

import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from inkube.apiserver.commands import failures, moments
from inkube.apiserver.commands.commonoptions import OUTPUT, data_option
from inkube.apiserver.dumps import DumpError, Imported, ImportOptions, import_dump
from inkube.schemas import meta

GIB = 2**30
_EXAMPLE = 80
"""The longest example in the table."""


def source_of(text: str) -> Path | None:
    """Return the path of a source, or None for standard input. Raises click.ClickException."""
    if text == "-":
        return None
    path = Path(text)
    if not path.exists():
        raise click.ClickException(f"{path}: no such file or folder")
    return path


@click.command("import")
@click.argument("source")
@data_option(help="The file to create.")
@click.option("--append", is_flag=True, help="Add a later dump to an existing file.")
@click.option("--secrets", is_flag=True, help="Also import Secrets.")
@click.option("--time", type=moments.Moment(), help="Its time; default: the newest in it.")
@click.option(
    "--max-size",
    type=click.IntRange(1),
    default=64,
    show_default=True,
    metavar="GIB",
    help="The largest size after decompression.",
)
@OUTPUT
def import_command(
    source: str,
    *,
    data: Path,
    append: bool,
    secrets: bool,
    time: int | datetime | None,
    max_size: int,
    output: str,
) -> None:
    """Import a dump of a cluster into a data file.

    SOURCE is a folder, a file or an archive (tar, zip, gzip, bzip2, xz), or `-` for standard input:
    lists of kubectl (YAML, JSON), `kubectl cluster-info dump`, must-gather, a support bundle of
    troubleshoot, a crust-gather archive, a Velero backup, an etcd snapshot, or a data file of
    inkube.

    Objects keep their uids, times, field managers and resource versions. The command lists each
    part that it cannot read.
    """
    if isinstance(time, int):
        raise click.BadParameter("a dump has a time, not a revision", param_hint="--time")
    options = ImportOptions(secrets=secrets, append=append, time=time, max_size=max_size * GIB)
    found = run(source_of(source), data, options)
    if output == "json":
        click.echo(json.dumps(_as_json(found), indent=2, ensure_ascii=False))
        return
    show(found)
    click.echo(f"{data} is at revision {found.dump.revision}")
    click.echo(f"to look at it: inkube serve --data {data} --at {found.dump.revision}")


def run(source: Path | None, file: Path, options: ImportOptions | None = None) -> Imported:
    """Import, and show the progress on a terminal. Raises click.ClickException."""
    with failures.reported(DumpError):
        try:
            return asyncio.run(
                import_dump(source, file, options or ImportOptions(), report=_progress())
            )
        except FileExistsError as error:
            raise click.ClickException(
                f"{file} exists already; --append adds a later dump of the same cluster"
            ) from error


def show(imported: Imported) -> None:
    """Print what was imported, and the table of what was not read."""
    counts, dump = imported.counts, imported.dump
    click.echo(
        f"{dump.tool} of {meta.format_time(dump.time)}: {sum(counts.by_kind.values())} objects of "
        f"{len(counts.by_kind)} kinds, {imported.logs} logs"
    )
    if counts.changed or counts.deleted or counts.unchanged or counts.kept:
        click.echo(
            f"{counts.added} added, {counts.changed} changed, {counts.deleted} deleted, "
            f"{counts.unchanged} unchanged, {counts.kept} kept that this dump does not cover"
        )
    if counts.renumbered:
        click.echo(f"{counts.renumbered} objects have other resource versions than in the cluster")
    if imported.generated:
        click.echo(f"without a definition, served as they are: {', '.join(imported.generated)}")
    if len(imported.findings):
        click.echo("not read:")
    for line in imported.findings:
        example = line.example if len(line.example) <= _EXAMPLE else f"…{line.example[-_EXAMPLE:]}"
        click.echo(f"  {line.parts:>7}  {line.reason}  ({example})")


def _as_json(imported: Imported) -> dict[str, Any]:
    counts, dump = imported.counts, imported.dump
    return {
        "tool": dump.tool,
        "time": meta.format_time(dump.time),
        "revision": dump.revision,
        "objects": counts.by_kind,
        "logs": imported.logs,
        **{name: number for name, number in asdict(counts).items() if name != "by_kind"},
        "withoutDefinition": list(imported.generated),
        "notRead": [line._asdict() for line in imported.findings],
    }


def _progress() -> Callable[[str, int], None]:
    if not sys.stderr.isatty():
        return lambda stage, count: None
    return lambda stage, count: click.echo(f"\r{stage} {count} objects", err=True, nl=False)
