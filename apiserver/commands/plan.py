"""`inkube plan`: what would happen to a cluster if manifests were applied to it."""

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from inkube.apiserver import manifests, plans, sources
from inkube.apiserver.capture import CaptureScope, Cluster, ClusterError, capture
from inkube.apiserver.configuration import LOCAL
from inkube.apiserver.manifests import Manifest, ManifestError
from inkube.apiserver.plans import Plan, PlanError, PlanOptions
from inkube.storage import StorageError, wholefiles


@click.command("plan")
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    required=True,
    metavar="FILE",
    help="A file or a folder of objects; `-` is standard input. Repeat it for more.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, dir_okay=False),
    default=LOCAL,
    show_default=True,
    help="The data of the cluster: of inkube import, capture or serve.",
)
@click.option(
    "--from-cluster",
    "context",
    metavar="CONTEXT",
    help="Read a live cluster instead, with kubectl and this context of its kubeconfig.",
)
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path, dir_okay=False), help="The kubeconfig for it."
)
@click.option("-n", "--namespace", default="default", help="The namespace of objects without one.")
@click.option("--as", "user", default="", metavar="USER", help="Check what RBAC permits this user.")
@click.option("--as-group", "groups", multiple=True, metavar="GROUP", help="A group of this user.")
@click.option(
    "--field-manager", default="kubectl", show_default=True, help="The manager of applied fields."
)
@click.option("--force-conflicts", is_flag=True, help="Take fields from other field managers.")
@click.option("--prune", default="", metavar="LABELS", help="Delete other objects with labels.")
@click.option("--kubernetes-version", default="", metavar="1.NN", help="Apply as to that version.")
@click.option("--show-secrets", is_flag=True, help="Show the contents of Secrets.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Save the plan.")
@click.option("-o", "--output", type=click.Choice(["text", "json", "markdown"]), default="text")
def plan_command(
    files: tuple[str, ...],
    *,
    data: Path,
    context: str | None,
    kubeconfig: Path | None,
    namespace: str,
    user: str,
    groups: tuple[str, ...],
    field_manager: str,
    force_conflicts: bool,
    prune: str,
    kubernetes_version: str,
    show_secrets: bool,
    out: Path | None,
    output: str,
) -> None:
    """Show what applying objects would change, without changing anything.

    The objects are applied to a copy of the data in memory: namespaces and definitions first, then
    the others, each with a server-side apply. The exit code is 0 if nothing would change, 1 if an
    object cannot be applied, and 2 if there are changes.
    """
    options = PlanOptions(
        field_manager=field_manager,
        namespace=namespace,
        force=force_conflicts,
        user=user,
        groups=groups,
        prune=prune,
        kubernetes_version=kubernetes_version,
    )
    try:
        wanted = _read(files)
        if context is None:
            found = asyncio.run(_plan(data, wanted, options))
        else:
            found = asyncio.run(_plan_of_cluster(Cluster(kubeconfig, context), wanted, options))
    except (PlanError, ClusterError, ManifestError, StorageError, OSError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    texts = plans.texts
    show = {"text": texts.text, "json": texts.as_json, "markdown": texts.markdown}[output]
    click.echo(show(found, show_secrets=show_secrets).rstrip("\n"))
    if out is not None:
        wholefiles.write(out, texts.as_json(found), mode=wholefiles.PRIVATE)
    sys.exit(found.exit_code)


async def _plan(data: Path, found: Sequence[Manifest], options: PlanOptions) -> Plan:
    return await plans.plan(await sources.snapshots.load(data), found, options)


async def _plan_of_cluster(
    cluster: Cluster, found: Sequence[Manifest], options: PlanOptions
) -> Plan:
    """Plan with a copy of a live cluster, from which nothing else is asked."""
    with tempfile.TemporaryDirectory(prefix="inkube-plan-") as folder:
        data = Path(folder, "cluster.db")
        async with cluster:
            await capture.capture(
                cluster, data, CaptureScope(secrets=True), report=partial(click.echo, err=True)
            )
        return await _plan(data, found, options)


def _read(files: Sequence[str]) -> list[Manifest]:
    """Return the objects in the files. Raises ManifestError, OSError."""
    found: list[Manifest] = []
    for file in files:
        if file == "-":
            found += manifests.parse("<stdin>", sys.stdin.buffer.read())
        else:
            found += manifests.read([file])
    return found
