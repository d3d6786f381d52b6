"""`inkube definitions export`: kinds declared in Python as CRDs, and maps of their fields."""

from pathlib import Path

import click

from inkube import storage
from inkube.apiserver import declared
from inkube.apiserver.commands import failures

HOMES = (
    "inkube.controllers.faults",
    "inkube.controllers.provisioning.types",
    "inkube.controllers.provisioning.outside.world_types",
)
"""Modules with the kinds of inkube itself."""


@click.group("definitions")
def definitions_command() -> None:
    """Look at the kinds that are declared in Python."""


@definitions_command.command()
@click.argument("modules", nargs=-1, metavar="[MODULE]…")
@click.option(
    "--docs",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write CRDs (.yaml) and field maps (.md, .json) into this folder.",
)
def export(modules: tuple[str, ...], docs: Path | None) -> None:
    """Print the CRDs of the kinds in Python modules; without any, of inkube's own kinds."""
    with failures.reported(ValueError):
        found = declared.exporting.kinds(modules or HOMES)
    if docs is None:
        click.echo(declared.exporting.yaml_of(*found), nl=False)
        return
    docs.mkdir(parents=True, exist_ok=True)
    for definition in found:
        for path, text in declared.exporting.pages(definition, docs):
            storage.wholefiles.write(path, text)
            click.echo(path)
