"""`inkube capture`: a live cluster as a file that `inkube serve` starts from, and plays again."""

import asyncio
import contextlib
import signal
from pathlib import Path

import click

from inkube.apiserver.capture import Cluster, ClusterError, Wanted, capture
from inkube.apiserver.http import logs
from inkube.storage import StorageError

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("capture")
@click.argument("file", type=_FILE)
@click.option("--kubeconfig", type=_FILE, help="Of the cluster; as kubectl finds it without.")
@click.option("--context", default="", help="A context of the kubeconfig.")
@click.option("-r", "--resource", multiple=True, help="A kind or plural; all kinds without.")
@click.option("-n", "--namespace", multiple=True, help="Of these namespaces alone.")
@click.option("--secrets", is_flag=True, help="Secrets, too.")
@click.option("--follow", is_flag=True, help="Go on with what happens until interrupted.")
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
    """Copy a live cluster into FILE, which must not be there yet.

    Namespaces and CRDs are always part of it; Secrets, webhook configurations and APIServices are
    not unless they are named. It takes kubectl on PATH.
    """
    if file.exists():
        raise click.ClickException(f"{file} is there already")
    logs.configure()
    wanted = Wanted(resources=resource, namespaces=namespace, secrets=secrets)

    async def run() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):  # Windows has no such handlers
                asyncio.get_running_loop().add_signal_handler(number, stop.set)
        async with Cluster(kubeconfig, context) as cluster:
            until = stop if follow else None
            await capture.capture(cluster, file, wanted, tell=click.echo, until=until)

    try:
        asyncio.run(run())
    except (ClusterError, StorageError, OSError) as error:
        raise click.ClickException(str(error)) from error
