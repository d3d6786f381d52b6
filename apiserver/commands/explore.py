"""`inkube explore`: find the bugs of a controller before its users do."""

import asyncio
import contextlib
import json
import math
import shlex
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from inkube.apiserver import explore, manifests, process
from inkube.apiserver.commands import failures
from inkube.apiserver.explore import (
    Command,
    Exploration,
    ExplorationError,
    Finding,
    Limits,
    Plan,
    Scenario,
    Suite,
    replays,
    reports,
    scenarios,
)
from inkube.apiserver.testing import statepages
from inkube.storage import wholefiles

_PATH = click.Path(path_type=Path, exists=True)
_PATH_OF_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_SCENARIO = click.Argument(["scenario"])
"""The first word without `--objects`, as errors call it."""
_FORMATS = ("text", "json", "junit", "sarif", "pytest")
_STOPS = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
"""Ctrl+C, the end of a job in CI, and a closed terminal. Controllers have sessions of their own, so
none of these reaches them."""
_CATEGORIES = ("crash", "error", "race", "away", "events", "stale", "user", "objects", "time")


class _Seconds(click.FloatRange):
    """A number of seconds, which can be infinite."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number. Raises click.BadParameter, also for nan, which is in no range."""
        found = super().convert(value, param, ctx)
        return self.fail(f"{value} is not a number.", param, ctx) if math.isnan(found) else found


@click.command("explore", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[SCENARIO] [-- COMMAND…]")
@click.option("--objects", multiple=True, type=_PATH, help="Objects to create and then delete.")
@click.option("--definitions", multiple=True, type=_PATH, help="CRDs and objects to begin with.")
@click.option("--suite", is_flag=True, help="COMMAND runs tests, and its exit code is the judge.")
@click.option("--agent", multiple=True, help="With --suite: user agents to disturb, as patterns.")
@click.option("--workloads", is_flag=True, help="Run Deployments and Pods on simulated nodes.")
@click.option(
    "--budget",
    type=_Seconds(0),
    default=60.0,
    show_default=True,
    help="Seconds for all runs.",
)
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True,
              help="Runs at the same time.")  # fmt: skip
@click.option("--only", multiple=True, help="Run the plans whose names match these patterns.")
@click.option(
    "--category",
    "categories",
    multiple=True,
    type=click.Choice(_CATEGORIES),
    help="Kinds of plans.",
)
@click.option(
    "-x", "--exitfirst", "exit_first", is_flag=True, help="Stop at the first certain finding."
)
@click.option("--seed", type=int, help="Run the plans in a random order.")
@click.option("--shrink", type=click.IntRange(0, 1000), default=8, show_default=True,
              help="The most smaller cases to try for a finding.")  # fmt: skip
@click.option("--format", "shape", type=click.Choice(_FORMATS), default="text", show_default=True)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="A folder for findings: each as a state, a page, a scenario, and a test.",
)
def explore_command(
    words: tuple[str, ...],
    *,
    objects: tuple[Path, ...],
    definitions: tuple[Path, ...],
    agent: tuple[str, ...],
    shape: str,
    output: Path | None,
    suite: bool,
    workloads: bool,
    categories: tuple[str, ...],
    **limits: Any,
) -> None:
    """Run a controller under crashes, faults and races, and compare where it ends.

    SCENARIO is a file that names the controller and the steps of a user. Without a file, give
    objects, and the command of the controller after `--`:

        inkube explore --definitions crd.yaml --objects boat.yaml -- python operator.py

    With --suite, an existing test suite runs under each disturbance, against the server of
    KUBECONFIG:

        inkube explore --suite -- pytest tests

    The exit code is 1 if a plan shows a fault, and 2 if the controller does not work without any.
    An interrupt ends the runs, and the report shows what was found before.
    """
    try:
        if suite:
            if objects or not words:
                raise click.UsageError("give the command of the suite after `--`, and no --objects")
            chosen = scenarios.of_suite(
                Suite(words, agents=agent), definitions, workloads=workloads
            )
        elif objects:
            chosen = scenarios.of_objects(objects, Command(words), definitions, workloads=workloads)
        elif words:
            chosen = scenarios.read(_PATH_OF_FILE.convert(words[0], _SCENARIO, None), words[1:])
        else:
            raise click.UsageError("give the file of a scenario, or --objects and a command")
        if not words:
            raise click.UsageError("give the command of the controller after `--`")
        limits["categories"] = frozenset(categories)
        found = asyncio.run(_explored(chosen, Limits(**limits)))
    except (explore.ScenarioError, manifests.ManifestError, ExplorationError, OSError) as error:
        click.echo(f"Error: {failures.text(error).rstrip()}", err=True)
        sys.exit(2)
    if output is not None:
        with failures.reported():
            for number, finding in enumerate(found.findings):
                _keep(finding, _name(finding, found.findings[:number]), output)
    if shape == "json":
        click.echo(json.dumps(reports.document(found), indent=2))
    elif shape == "junit":
        click.echo(reports.junit(found))
    elif shape == "sarif":
        click.echo(reports.sarif(found, str(objects[0]) if objects else words[0]))
    elif shape == "pytest":
        click.echo(replays.tests([each for each in found.findings if each.is_first]), nl=False)
    else:
        options = [*(["--suite"] if suite else []), *(["--workloads"] if workloads else [])]
        options += [part for each in agent for part in ("--agent", each)]
        again = partial(_again, words, objects, definitions, options)
        click.echo(reports.text(found, again))
    if found.findings:
        sys.exit(1)
    if found.is_interrupted:
        sys.exit(failures.INTERRUPTED)


async def _explored(scenario: Scenario, limits: Limits) -> Exploration:
    """Explore until the end, or until a signal: then the report contains what was found before, and
    no controller is left. Raises the errors of `explore`."""
    found = Exploration()
    stop = process.eventloop.Stop(_STOPS)
    work = asyncio.create_task(explore.explore_into(found, scenario, limits, _progress))
    await stop.or_done(work)
    if not work.done():
        found.is_interrupted = True
        click.echo("interrupted: ending the controllers", err=True)
        work.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await work
    return found


def _progress(done: int, total: int, plan: Plan, finding: Finding | None) -> None:
    """Show on standard error how far the exploration is."""
    if sys.stderr.isatty() or finding is not None:
        mark = "ok" if finding is None else f"FAILED: {finding.text}"
        click.echo(f"[{done}/{total}] {plan.name}: {mark}", err=True)


def _name(finding: Finding, before: Sequence[Finding]) -> str:
    """Return the name of a finding for files, which none of those before it has."""
    name = replays.name(finding)
    same = sum(replays.name(each) == name for each in before)
    return f"{name}_{same + 1}" if same else name


def _keep(finding: Finding, name: str, folder: Path) -> None:
    """Save a finding: its end state as a snapshot and as a page, and what repeats it."""
    folder.mkdir(parents=True, exist_ok=True)
    wholefiles.write(folder / f"{name}.yaml", replays.scenario(finding))
    wholefiles.write(folder / f"test_{name}.py", replays.tests([finding]))
    state = finding.result.snapshot if finding.result is not None else None
    if state is not None:
        (folder / f"{name}.db").unlink(missing_ok=True)
        asyncio.run(state.save(folder / f"{name}.db"))
        page = asyncio.run(statepages.of_file(state, finding.plan.name))
        wholefiles.write(folder / f"{name}.html", page)


def _again(
    words: tuple[str, ...],
    objects: tuple[Path, ...],
    definitions: tuple[Path, ...],
    options: Sequence[str],
    pattern: str,
) -> str:
    """Return the command that runs the plans with a pattern."""
    parts = ["inkube", "explore"]
    for option, paths in (("--definitions", definitions), ("--objects", objects)):
        parts += [part for path in paths for part in (option, str(path))]
    parts += [*options, "--only", pattern]
    is_command = objects or "--suite" in options
    scenario, command = ((), words) if is_command else (words[:1], words[1:])
    parts += [*scenario, *(("--", *command) if command else ())]
    return shlex.join(parts)
