"""`inkube explore`: find the bugs of a controller before its users do."""

import asyncio
import json
import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from inkube.apiserver import explore, manifests
from inkube.apiserver.explore import (
    Command,
    ExplorationError,
    Finding,
    Limits,
    Plan,
    Suite,
    replays,
    reports,
    scenarios,
)
from inkube.apiserver.testing import statepages
from inkube.storage import wholefiles

_PATH = click.Path(path_type=Path, exists=True)
_FORMATS = ("text", "json", "junit", "sarif", "pytest")
_CATEGORIES = ("crash", "error", "race", "away", "events", "stale", "user", "objects", "time")


@click.command("explore", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[SCENARIO] [-- COMMAND…]")
@click.option("--objects", multiple=True, type=_PATH, help="Objects to create and then delete.")
@click.option("--definitions", multiple=True, type=_PATH, help="CRDs and objects to begin with.")
@click.option("--suite", is_flag=True, help="COMMAND runs tests, and its exit code is the judge.")
@click.option("--agent", multiple=True, help="With --suite: user agents to disturb, as patterns.")
@click.option("--workloads", is_flag=True, help="Run Deployments and Pods on simulated nodes.")
@click.option("--budget", type=float, default=60.0, show_default=True, help="Seconds for all runs.")
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
            chosen = scenarios.read(Path(words[0]), words[1:])
        else:
            raise click.UsageError("give the file of a scenario, or --objects and a command")
        if not words:
            raise click.UsageError("give the command of the controller after `--`")
        limits["categories"] = frozenset(categories)
        found = explore.explore(chosen, Limits(**limits), _progress)
    except (explore.ScenarioError, manifests.ManifestError, ExplorationError, OSError) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)
    if output is not None:
        for finding in found.findings:
            _keep(finding, output)
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


def _progress(done: int, total: int, plan: Plan, finding: Finding | None) -> None:
    """Show on standard error how far the exploration is."""
    if sys.stderr.isatty() or finding is not None:
        mark = "ok" if finding is None else f"FAILED: {finding.text}"
        click.echo(f"[{done}/{total}] {plan.name}: {mark}", err=True)


def _keep(finding: Finding, folder: Path) -> None:
    """Save a finding: its end state as a snapshot and as a page, and what repeats it."""
    folder.mkdir(parents=True, exist_ok=True)
    name = replays.name(finding)
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
