"""`inkube upgrade`: what a cluster would meet as a later minor of Kubernetes."""

import asyncio
import sys
from pathlib import Path

import click

from inkube.apiserver import sources, upgrades
from inkube.apiserver.commands import failures
from inkube.apiserver.commands.commonoptions import CLUSTER_DATA, OUTPUT
from inkube.apiserver.plans import PlanError


@click.command("upgrade")
@CLUSTER_DATA
@click.option(
    "--from",
    "source",
    default="",
    metavar="1.NN",
    help="The minor of the cluster. By default, that of the data.",
)
@click.option("--to", "target", required=True, metavar="1.NN", help="The minor to upgrade to.")
@click.option(
    "--audit-log",
    "audit_logs",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="An audit log of the cluster, whose requests are judged too. Repeat it for more.",
)
@click.option(
    "--feature-gates",
    "gates",
    metavar="A=true,B=false",
    help="The feature gates that the cluster sets. By default, those of the data.",
)
@OUTPUT
def upgrade_command(
    *,
    data: Path,
    source: str,
    target: str,
    audit_logs: tuple[Path, ...],
    gates: str | None,
    output: str,
) -> None:
    """Rehearse an upgrade of a cluster to a later minor of Kubernetes.

    Each stored object is written to two copies of the data, one as each minor, as a dry run: as
    the next update of the object, and as a new object. The exit code is 0 if nothing differs, 1 if
    something does not work after the upgrade, and 2 for warnings and other defaults.
    """

    async def run() -> upgrades.Report:
        options = upgrades.RehearsalOptions(
            source=source,
            target=target,
            audit_logs=audit_logs,
            gates=None if gates is None else upgrades.parsed_gates(gates),
        )
        return await upgrades.rehearse(await sources.snapshots.load(data), options)

    with failures.reported(PlanError, ValueError):
        report = asyncio.run(run())
    show = upgrades.as_json if output == "json" else upgrades.text
    click.echo(show(report).rstrip("\n"))
    sys.exit(report.exit_code)
