"""`inkube envtest-assets`, and the programs that it writes: `inkube kube-apiserver`, `inkube etcd`.

The programs pass all arguments to `envtest`, because they are those of kube-apiserver and etcd.
envtest requests the help of both at every start, so the help does not load a server.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import click

from inkube.apiserver import envtest
from inkube.apiserver.commands import failures
from inkube.apiserver.envtest import Arguments, Flag, FlagError, assets, etcd, flags, kubeflags
from inkube.schemas import releases
from inkube.schemas.golang import gotext

_WHOLE = {"ignore_unknown_options": True, "help_option_names": []}


@click.command("envtest-assets")
@click.argument("folder", required=False, type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--kubernetes-version", default="", metavar="1.NN", help="Kubernetes to serve; the newest."
)
def envtest_assets_command(folder: Path | None, kubernetes_version: str) -> None:
    """Write kube-apiserver, etcd and kubectl for KUBEBUILDER_ASSETS; print the folder.

    Go and Java test suites that start them (envtest, jenvtest, kube-api-test) start inkube.
    """
    folder = (folder or assets.default_folder(kubernetes_version)).absolute()
    try:
        releases.parse(kubernetes_version)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--kubernetes-version") from error
    with failures.reported(assets.AssetsError):
        assets.write(folder, kubernetes_version)
    if not assets.has_kubectl(folder):
        click.echo("there is no kubectl on PATH; what calls it will fail", err=True)
    click.echo(folder)


@click.command("kube-apiserver", context_settings=_WHOLE)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def kube_apiserver_command(arguments: tuple[str, ...]) -> None:
    """Serve as kube-apiserver does, with its flags (see --help)."""
    given = _parse("kube-apiserver", arguments, kubeflags.FLAGS)
    if given is None:
        return
    with failures.reported(FlagError, etcd.EtcdError, ValueError):
        try:
            envtest.kubeapi.run(given)
        except OSError as error:
            if error.filename is None:
                raise
            raise click.ClickException(gotext.open_error(error.filename, error)) from error


@click.command("etcd", context_settings=_WHOLE)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def etcd_command(arguments: tuple[str, ...]) -> None:
    """Replace etcd in a folder of assets: report where kube-apiserver stores its data."""
    given = _parse("etcd", arguments, etcd.FLAGS, single=True)
    if given is None:
        return
    if given.truth("version"):
        click.echo(f"etcd Version: {etcd.VERSION}\nGit SHA: inkube")
        return
    with failures.reported(FlagError):
        asyncio.run(etcd.serve(given, etcd.prepare(given)))


def _parse(
    program: str, arguments: tuple[str, ...], known: Mapping[str, Flag], *, single: bool = False
) -> Arguments | None:
    """Return the parsed flags, or None if they requested help, which is printed. Raises
    click.ClickException."""
    try:
        given = flags.parse(program, arguments, known, single=single)
    except FlagError as error:
        raise click.ClickException(str(error)) from error
    if not given.truth("help") and "h" not in given.values:
        return given
    click.echo(f"Usage:\n  {program} [flags]\n\nFlags:\n{flags.help_text(known)}")
    return None
