"""`inkube capture`: a live cluster as a file that `inkube serve` starts from, and plays again."""

import asyncio
from pathlib import Path

import click

from inkube.apiserver import process
from inkube.apiserver.capture import CaptureScope, Cluster, ClusterError, capture
from inkube.apiserver.commands import failures
from inkube.apiserver.commands.commonoptions import FILE, KUBECONFIG
from inkube.apiserver.http import logs


@click.command("capture")
@click.argument("file", type=FILE)
@click.option(
    "--kubeconfig", type=KUBECONFIG, help="Kubeconfig of the cluster; default: as for kubectl."
)
@click.option("--context", default="", help="A context of the kubeconfig.")
@click.option("-r", "--resource", multiple=True, help="A kind or plural to copy; default: all.")
@click.option("-n", "--namespace", multiple=True, help="Copy only these namespaces.")
@click.option("--secrets", is_flag=True, help="Also copy Secrets.")
@click.option("--follow", is_flag=True, help="Keep copying changes until you interrupt it.")
def capture_command(
    file: Path,
    *,
    kubeconfig: Path | None,
    context: str,
    resource: tuple[str, ...],
    namespace: tuple[str, ...],
    secrets: bool,
    follow: bool,
) -> None:
    """Copy a live cluster into FILE, which must not exist yet.

    Namespaces and CRDs are always copied. Secrets, webhook configurations and APIServices are
    copied only if you name them. kubectl must be in PATH.
    """
    if file.exists():
        raise click.ClickException(f"{file} exists already")
    logs.configure()
    wanted = CaptureScope(resources=resource, namespaces=namespace, secrets=secrets)

    async def run() -> None:
        stop = process.eventloop.Stop()
        async with Cluster(kubeconfig, context) as cluster:
            until = stop.requested if follow else None
            await capture.capture(cluster, file, wanted, report=click.echo, until=until)

    with failures.reported(ClusterError):
        asyncio.run(run())
