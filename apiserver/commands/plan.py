"""`inkube plan`: what would happen to a cluster if manifests were applied to it."""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from inkube.apiserver import manifests, plans, sources
from inkube.apiserver.capture import CaptureScope, Cluster, ClusterError, capture
from inkube.apiserver.capture import versions as captured
from inkube.apiserver.commands import failures
from inkube.apiserver.commands.commonoptions import CLUSTER_DATA, FILE, KUBECONFIG
from inkube.apiserver.manifests import Manifest, ManifestError
from inkube.apiserver.plans import Applied, Outcome, Plan, PlanError, PlanOptions, savedplans
from inkube.apiserver.validate import InputError, files

_OF_APPLY = frozenset({"saved", "target", "kubeconfig"})
"""The options that --apply takes."""


@click.command("plan")
@click.option(
    "-f",
    "--filename",
    "paths",
    multiple=True,
    metavar="FILE",
    help="A file or a folder of objects; `-` is standard input. Repeat it for more.",
)
@CLUSTER_DATA
@click.option(
    "--from-cluster",
    "context",
    metavar="CONTEXT",
    help="Read a live cluster instead, with kubectl and this context of its kubeconfig.",
)
@click.option("--kubeconfig", type=KUBECONFIG, help="The kubeconfig for it.")
@click.option("-n", "--namespace", default="default", help="The namespace of objects without one.")
@click.option("--as", "user", default="", metavar="USER", help="Check what RBAC permits this user.")
@click.option("--as-group", "groups", multiple=True, metavar="GROUP", help="A group of this user.")
@click.option(
    "--field-manager", default="", help="The manager of applied fields; by default, kubectl's."
)
@click.option("--client-side", is_flag=True, help="Apply as kubectl does without --server-side.")
@click.option(
    "--force-conflicts", "force", is_flag=True, help="Take fields from other field managers."
)
@click.option("--prune", default="", metavar="LABELS", help="Delete other objects with labels.")
@click.option(
    "--call-webhooks",
    is_flag=True,
    help="Send the objects to webhooks that permit dry runs. Only for data that you trust.",
)
@click.option(
    "--service-address",
    "service_addresses",
    multiple=True,
    metavar="NAMESPACE/NAME=HOST:PORT",
    help="With --call-webhooks: the address of a Service of webhooks. Repeat it for more.",
)
@click.option(
    "--workloads",
    is_flag=True,
    help="Also show what controllers would do: rollouts, pods that fit on no node, budgets.",
)
@click.option("--kubernetes-version", default="", metavar="1.NN", help="Apply as to that version.")
@click.option("--show-secrets", is_flag=True, help="Show the contents of Secrets.")
@click.option(
    "--out",
    type=FILE,
    help="Save the plan for --apply. The file contains the objects, also Secrets.",
)
@click.option(
    "--apply",
    "saved",
    type=FILE,
    metavar="PLAN",
    help="Apply a saved plan to the cluster, if nothing that it has read has changed.",
)
@click.option(
    "--context", "target", metavar="CONTEXT", help="With --apply: the context of another cluster."
)
@click.option("-o", "--output", type=click.Choice(["text", "json", "markdown"]), default="text")
@click.pass_context
def plan_command(
    called: click.Context,
    /,
    paths: tuple[str, ...],
    *,
    data: Path,
    context: str | None,
    kubeconfig: Path | None,
    workloads: bool,
    show_secrets: bool,
    out: Path | None,
    saved: Path | None,
    target: str | None,
    output: str,
    **members: Any,
) -> None:
    """Show what applying objects would change, without changing anything.

    The objects are applied to a copy of the data in memory: namespaces and definitions first, then
    the others, each with a server-side apply. The exit code is 0 if nothing would change, 1 if an
    object cannot be applied, and 2 if there are changes.

    --apply sends the requests of a saved plan to a cluster. Before, it compares the resource
    versions of all objects that the plan has read. The exit code is then 0 if everything was
    applied, and 1 otherwise.
    """
    if saved is not None:
        _check_alone(called)
        sys.exit(_apply(saved, kubeconfig, target))
    if not paths:
        raise click.UsageError("name the objects with -f, or a saved plan with --apply")
    options = PlanOptions(**members)
    if options.client_side and options.force:
        raise click.UsageError("--client-side finds no conflicts: leave out --force-conflicts")
    if target is not None:
        raise click.UsageError("--context belongs to --apply; use --from-cluster CONTEXT")
    if context is None and not data.exists():
        raise click.ClickException(
            f"{data}: no such file; name the cluster with --data FILE or --from-cluster CONTEXT"
        )
    with failures.reported(PlanError, ClusterError, ManifestError, InputError, ValueError):
        wanted = _read(paths)
        planned = partial(_plan, manifest_list=wanted, options=options, workloads=workloads)
        if context is None:
            found = asyncio.run(planned(data))
        else:
            found = asyncio.run(_plan_of_cluster(Cluster(kubeconfig, context), planned))
    texts = plans.texts
    show = {"text": texts.text, "json": texts.as_json, "markdown": texts.markdown}[output]
    click.echo(show(found, show_secrets=show_secrets).rstrip("\n"))
    if out is not None:
        _save(out, savedplans.SavedPlan(found, context))
    sys.exit(found.exit_code)


def _check_alone(called: click.Context) -> None:
    """A saved plan contains its objects and options. Raises UsageError for others."""
    for option in called.command.params:
        is_given = called.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if is_given and option.name not in _OF_APPLY:
            raise click.UsageError(f"{option.opts[-1]} is a part of the plan: plan again with it")


def _save(out: Path, saved: savedplans.SavedPlan) -> None:
    try:
        savedplans.save(out, saved)
    except OSError as error:
        raise click.ClickException(failures.text(error)) from error
    if saved.plan.exit_code != 1:
        click.echo(f"to apply it: inkube plan --apply {out}", err=True)


def _apply(file: Path, kubeconfig: Path | None, target: str | None) -> int:
    """Apply a saved plan, and return the exit code."""

    async def run() -> Applied:
        saved = savedplans.read(file)
        context = saved.context if target is None else target
        if context is None:
            raise PlanError("this plan was made with a file: name the cluster with --context")
        async with Cluster(kubeconfig, context) as cluster:
            return await plans.apply(saved.plan, cluster.session, _show_applied)

    with failures.reported(PlanError, ClusterError):
        applied = asyncio.run(run())
    click.echo(f"{len(applied.done)} of {len(applied.done) + len(applied.left)} objects applied.")
    if applied.problem:
        click.echo(f"Error: {applied.problem}", err=True)
        left = ", ".join(each.title for each in applied.left[1:]) or "none"
        click.echo(f"Not applied after it: {left}. Plan again for the rest.", err=True)
    return 1 if applied.problem else 0


def _show_applied(outcome: Outcome) -> None:
    click.echo(f"{outcome.title} {plans.texts.DONE[outcome.action]}")


async def _plan(
    data: Path, *, manifest_list: Sequence[Manifest], options: PlanOptions, workloads: bool
) -> Plan:
    snapshot = await sources.snapshots.load(data)
    versions = captured.read(data, snapshot.revision)
    known = None if versions is None else plans.Known(*versions)
    found = await plans.plan(snapshot, manifest_list, options, known)
    if not workloads:
        return found
    return found._replace(effects=await plans.forecast(snapshot, manifest_list, options))


async def _plan_of_cluster(cluster: Cluster, plan: Callable[[Path], Awaitable[Plan]]) -> Plan:
    """Plan with a copy of a live cluster, from which nothing else is asked."""
    with tempfile.TemporaryDirectory(prefix="inkube-plan-") as folder:
        data = Path(folder, "cluster.db")
        async with cluster:
            scope = CaptureScope(secrets=True, webhooks=True)
            await capture.capture(cluster, data, scope, report=partial(click.echo, err=True))
        return await plan(data)


def _read(paths: Sequence[str]) -> list[Manifest]:
    """Return the objects in files, as `inkube validate` reads these. Raises ManifestError,
    InputError."""
    return [
        each for file in files.find(paths) for each in manifests.parse(file.name, files.read(file))
    ]
