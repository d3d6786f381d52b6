"""The command line: `inkube serve`, `inkube validate`, `inkube definitions export`."""

import asyncio
import contextlib
import gc
import logging
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import click

from inkube.apiserver.commands.export import definitions
from inkube.apiserver.commands.validate import validate
from inkube.apiserver.configuration import Options

LOCAL = Path("inkube.db")
# Young objects are looked at after so many allocations. What a server keeps is bytes, which are no
# work for the collector, and what requests make is freed by counting references.
COLLECT_AFTER = (25_000, 25, 100)
_FILE = click.Path(path_type=Path, dir_okay=False)
_PATH = click.Path(path_type=Path)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="inkube")
def main() -> None:
    """A Kubernetes-style API server that lives inside a Python process."""


main.add_command(validate)
main.add_command(definitions)


@main.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8001, show_default=True, help="0 takes a free port.")
@click.option("--data", type=_FILE, help=f"SQLite file that keeps everything.  [default: {LOCAL}]")
@click.option("--in-memory", is_flag=True, help="Keep nothing.")
@click.option("--no-fsync", is_flag=True, help="Faster writes that a power cut may lose.")
@click.option("--definitions", type=_PATH, multiple=True, help="CRDs and objects to begin with.")
@click.option("--kubeconfig", type=_FILE, help="Where to write the kubeconfig.")
@click.option("--token-auth-file", type=_FILE, help="CSV: token,user,uid,groups.")
@click.option("--client-ca-file", type=_FILE, help="Accept client certificates of this authority.")
@click.option("--tls", is_flag=True, help="Serve TLS with a certificate made on the spot.")
@click.option("--tls-cert-file", type=_FILE)
@click.option("--tls-private-key-file", type=_FILE)
@click.option(
    "--authorization-mode", type=click.Choice(["AlwaysAllow", "RBAC"]), default="AlwaysAllow"
)
@click.option("--audit-log", type=_FILE, help="Append audit events to this file.")
@click.option("--audit-policy-file", type=_FILE, help="Which requests the audit log tells of.")
@click.option("--allow-origin", multiple=True, help="Origin of web pages that may ask (CORS).")
@click.option("--offline", is_flag=True, help="Outside systems are those of the world's kinds.")
@click.option("--recheck-healthy", default=300.0, show_default=True, help="Seconds.")
@click.option("--recheck-unhealthy", default=60.0, show_default=True, help="Seconds.")
@click.option("--allow-private-hosts", is_flag=True, help="Checks may reach private addresses.")
@click.option("--local-path-prefix", type=_PATH, multiple=True, help="Where local paths may lie.")
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text")
@click.option("-q", "--quiet", is_flag=True, help="Log warnings and errors only.")
@click.option("-v", "--verbose", is_flag=True, help="Log what controllers do, too.")
def serve(**arguments: Any) -> None:
    """Serve until interrupted."""
    from inkube.apiserver.http import logs

    level = logging.DEBUG if arguments.pop("verbose") else logging.INFO
    level = logging.WARNING if arguments.pop("quiet") else level
    logs.configure(style=arguments.pop("log_format"), level=level)
    target = arguments.pop("kubeconfig")
    options = Options(**_named(arguments))
    from inkube.storage.errors import StorageError

    try:
        _runner()(_serve(options, target))
    except (StorageError, OSError, ValueError) as error:
        raise click.ClickException(str(error)) from error


def _named(arguments: dict[str, Any]) -> dict[str, Any]:
    """Command-line names as `Options` has them."""
    in_memory, data = arguments.pop("in_memory"), arguments.pop("data")
    if in_memory and data:
        raise click.UsageError("--in-memory and --data exclude each other")
    arguments["data"] = None if in_memory else data or LOCAL
    arguments["durable"] = not arguments.pop("no_fsync")
    arguments["allow_origins"] = arguments.pop("allow_origin")
    arguments["local_path_prefixes"] = arguments.pop("local_path_prefix")
    return arguments


def _runner() -> Callable[[Coroutine[Any, Any, None]], None]:
    """asyncio.run, on uvloop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run
    return uvloop.run


async def _serve(options: Options, target: Path | None) -> None:
    from inkube.apiserver.root import kubeconfig
    from inkube.apiserver.server import APIServer

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows has no such handlers
            loop.add_signal_handler(number, stop.set)
    async with APIServer(options) as server:
        _calm_collector()
        path = target or Path("inkube.kubeconfig")
        kubeconfig.write(path, server.kubeconfig())
        click.echo(f"inkube serves on {server.url}")
        click.echo(f"kubeconfig: {path}")
        click.echo("try next:")
        click.echo(f"  kubectl --kubeconfig {path} get namespaces")
        click.echo(f"  curl {server.url}/apis")
        await stop.wait()
        click.echo("stopping")


def _calm_collector() -> None:
    """Let full collections, which stop everything, look at less and be rare."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)


if __name__ == "__main__":
    main()
