"""`inkube capture`: a live cluster as a file that `inkube serve` starts from, and plays again."""

import asyncio
import sys
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

    async def run() -> bool:
        """Return whether the capture is complete."""
        stop = process.eventloop.Stop()
        async with Cluster(kubeconfig, context) as cluster:
            until = stop.requested if follow else None
            capturing = capture.capture(cluster, file, wanted, report=click.echo, until=until)
            work = asyncio.create_task(capturing)
            await stop.or_done(work)
            # once the file exists, changes are recorded
            if not work.done() and not await asyncio.to_thread(file.exists):
                work.cancel()
                await asyncio.wait([work])
                return False
            await work
            return True

    with failures.reported(ClusterError):
        is_complete = asyncio.run(run())
    if not is_complete:
        click.echo(f"interrupted: {file} is not written", err=True)
        sys.exit(failures.INTERRUPTED)
