"""The command line: `inkube serve`, `inkube validate`, `inkube definitions export`."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import click

from inkube.apiserver.configuration import Options

LOCAL = "./inkube.db"


@click.group()
@click.version_option(package_name="inkube")
def main() -> None:
    """A Kubernetes-style API server that lives inside a Python process."""


@main.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8001, show_default=True, help="0 takes a free port.")
@click.option("--data", type=click.Path(path_type=Path), help=f"SQLite file, {LOCAL} by default.")
@click.option("--in-memory", is_flag=True, help="Keep nothing.")
@click.option("--kubeconfig", type=click.Path(path_type=Path), help="Write a kubeconfig here.")
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text")
@click.option("-v", "--verbose", is_flag=True, help="Log bodies too, secrets left out.")
def serve(**arguments: Any) -> None:
    """Serve until interrupted."""
    from inkube.apiserver import logs

    logs.configure(style=arguments.pop("log_format"))
    target = arguments.pop("kubeconfig")
    in_memory, data = arguments.pop("in_memory"), arguments.pop("data")
    if in_memory and data:
        raise click.UsageError("--in-memory and --data exclude each other")
    options = Options(data=None if in_memory else data or Path(LOCAL), **arguments)
    _loop_factory()(_serve(options, target))


def _loop_factory() -> Any:
    """asyncio.run, on uvloop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run
    return uvloop.run


async def _serve(options: Options, target: Path | None) -> None:
    from inkube.apiserver.server import APIServer

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with APIServer(options) as server:
        path = target or Path("inkube.kubeconfig")
        path.write_text(server.kubeconfig())
        click.echo(f"inkube serves on {server.url}")
        click.echo(f"kubeconfig: {path}")
        click.echo(f"try: kubectl --kubeconfig {path} get namespaces")
        await stop.wait()
        click.echo("stopping")
