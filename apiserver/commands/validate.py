"""`inkube validate`: the command line of the room `validate`."""

import asyncio
import os
import sys
import traceback
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

import click

from inkube.apiserver import validate
from inkube.apiserver.commands import failures, terminal
from inkube.apiserver.manifests import EditedFiles
from inkube.apiserver.validate import InputError, Plan, Result, reports
from inkube.schemas import releases

FINDINGS, USAGE, INTERNAL = 1, 2, 3
"""Exit codes."""


class _InputProblem(click.ClickException):
    exit_code = USAGE


@click.command(
    "validate",
    epilog="Exit codes: 0 there are no errors; 1 there are; 2 the command line or a file cannot "
    "be used; 3 inkube has a defect.",
)
@click.argument("files", nargs=-1, metavar="[FILE…]")
@click.option(
    "-d",
    "--definitions",
    multiple=True,
    metavar="PLACE",
    help="Read definitions of kinds from here: CRDs in a file or folder, schemas of a catalogue, "
    "an OpenAPI document, a snapshot or capture, a kubeconfig, or the address of a server.",
)
@click.option(
    "--old",
    multiple=True,
    metavar="FILE",
    help="Check objects as updates of the objects in this file or folder.",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="GLOB",
    help="Leave out files and folders that match this pattern.",
)
@click.option(
    "--skip",
    multiple=True,
    metavar="KIND",
    help="Leave out objects of this kind, such as Secret or apps/v1/Deployment.",
)
@click.option(
    "--ignore-missing-definitions", is_flag=True, help="Leave out objects whose kind is not known."
)
@click.option("--warn-unknown", is_flag=True, help="Only warn about unknown and repeated fields.")
@click.option(
    "--only-objects",
    is_flag=True,
    help="Leave out named files without objects, as in folders. Hooks use this.",
)
@click.option("--strict", is_flag=True, hidden=True, help="The default.")
@click.option(
    "--references",
    is_flag=True,
    help="Also report names and selectors that match no object of the set.",
)
@click.option(
    "--admission",
    is_flag=True,
    help="Also apply the policies, Pod Security labels, quotas and limit ranges of the set.",
)
@click.option(
    "--policies",
    multiple=True,
    metavar="PLACE",
    help="Also apply the policies in this file or folder, with their bindings and parameters.",
)
@click.option(
    "--user",
    default="",
    metavar="NAME[,GROUP…]",
    help="Judge policies as for this user; the default is an administrator.",
)
@click.option(
    "--operation",
    type=click.Choice(["create", "update", "delete"]),
    default="create",
    help="Judge policies as for this operation. Objects in --old are updated by default.",
)
@click.option(
    "--kubernetes-version",
    multiple=True,
    metavar="1.NN",
    help="Check as this version, or as each of several (1.31..1.36). The default is the newest.",
)
@click.option(
    "--removed-in",
    default="",
    metavar="1.NN",
    help="Report versions of kinds that Kubernetes removes up to this version.",
)
@click.option(
    "--modules",
    default="all",
    metavar="NAMES",
    help="Know the kinds of these modules, separated by commas; the default is all.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", *reports.FORMATS]),
    default="text",
    help="Write the findings in this format.",
)
@click.option("--summary", is_flag=True, help="Count the objects and findings at the end.")
@click.option(
    "--allow-empty", is_flag=True, help="Accept input without any object; it is an error otherwise."
)
@click.option(
    "--watch", is_flag=True, help="Check again after each change, until you interrupt it."
)
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(0),
    default=1,
    metavar="N",
    help="Check with this number of processes; 0 means one for each core.",
)
def validate_command(files: tuple[str, ...], **values: Any) -> None:
    """Check manifests as a server would, without a server.

    FILE is a file or a folder, or - for standard input; the default is this folder. Every finding
    has the words of kube-apiserver, and its file, line and field. Unknown fields are errors, as
    they are for kubectl. Files with other content, such as charts and kustomizations, are named and
    left out.

    Options can be kept in .inkube.yaml, or in the table [tool.inkube.validate] of pyproject.toml.
    """
    if values["strict"] and values["warn_unknown"]:
        raise click.UsageError("--strict is the default, and --warn-unknown turns it off")
    try:
        values = _with_settings(files, values)
        plan = _plan(files, values)
        edited = EditedFiles(lambda: validate.watched(plan)) if values["watch"] else None
        result = validate.run(plan, _progress())
        _check_empty(result, allowed=values["allow_empty"])
    except InputError as error:
        raise _InputProblem(str(error)) from error
    except click.ClickException:
        raise
    except Exception:  # noqa: BLE001 # a pipeline has to tell a defect from findings
        traceback.print_exc()
        click.echo("inkube validate has a defect: please report it with the lines above", err=True)
        sys.exit(INTERNAL)
    try:
        _show(result, values)
    except BrokenPipeError:
        raise
    except OSError as error:  # exit code 1 would say that there are findings
        why = failures.text(error)
        raise _InputProblem(f"the report cannot be written: {why}") from error
    if edited is not None:
        _watch(edited, plan, values)
    if result.errors:
        sys.exit(FINDINGS)


def _watch(edited: EditedFiles, plan: Plan, values: dict[str, Any]) -> NoReturn:
    """Check again after each change, until the user interrupts."""
    while True:
        try:
            asyncio.run(edited.wait_for_change())
            click.echo()
            _show(validate.run(plan), values)
        except InputError as error:  # the next change can repair it
            click.echo(f"Error: {error}", err=True)
        except KeyboardInterrupt:
            sys.exit(0)


def _with_settings(files: tuple[str, ...], values: dict[str, Any]) -> dict[str, Any]:
    """Replace defaults by the settings of the project. Raises InputError."""
    first = Path(files[0]) if files and files[0] != "-" else Path()
    found = validate.settings.find(first if first.is_dir() else first.parent)
    context, default = click.get_current_context(), click.core.ParameterSource.DEFAULT
    kept = {
        name: value
        for name, value in found.values.items()
        if context.get_parameter_source(name) is default
    }
    if "output" in kept and kept["output"] not in ("text", *reports.FORMATS):
        raise InputError(f"{found.file}: {kept['output']} is not an output format")
    return {**values, **kept}


def _plan(files: tuple[str, ...], values: dict[str, Any]) -> Plan:
    try:
        minors = tuple(sorted({minor for text in _texts(values) for minor in _minors(text)}))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--kubernetes-version") from error
    names = {field.name for field in fields(Plan)}
    given = {
        name: tuple(value) if isinstance(value, list | tuple) else value
        for name, value in values.items()
        if name in names
    }
    return Plan(
        **{
            **given,
            "paths": files or (".",),
            "minors": minors,
            "ignore_missing": values["ignore_missing_definitions"],
            "removed_in": _removed_in(values["removed_in"]),
            "jobs": values["jobs"] or os.cpu_count() or 1,
        }
    )


def _texts(values: dict[str, Any]) -> Iterable[str]:
    given = values["kubernetes_version"] or ("",)
    return (part for text in given for part in text.split(","))


def _minors(text: str) -> Iterable[int]:
    """Return the minors of `1.33` or `1.31..1.36`. Raises ValueError."""
    first, dots, last = text.partition("..")
    start = releases.parse(first).minor
    return range(start, (releases.parse(last).minor if dots else start) + 1)


def _removed_in(text: str) -> int:
    if not text:
        return 0
    major, dot, minor = text.removeprefix("v").partition(".")
    if major != "1" or not dot or not minor.isdecimal():
        raise click.BadParameter(
            f"{text!r} is not a version such as 1.37", param_hint="--removed-in"
        )
    return int(minor)


def _check_empty(result: Result, *, allowed: bool) -> None:
    """Raises InputError if nothing was checked."""
    if allowed or not result.is_empty:
        return
    what = reports.counts(result)
    raise InputError(
        f"no object was found ({what}): a gate that checks nothing passes everything; "
        "use --allow-empty if that is what you want"
    )


def _progress() -> validate.Progress:
    """Return a line with the progress, on terminals only."""
    if not sys.stderr.isatty():
        return lambda done, total: None

    def show(done: int, total: int) -> None:
        if done % 20 == 0 and total > 100:
            end = "\r\x1b[K" if done + 20 > total else ""
            click.echo(f"\r{done} of {total} files{end}", nl=False, err=True)

    return show


def _show(result: Result, values: dict[str, Any]) -> None:
    style = reports.Style(colours=terminal.has_colours(sys.stdout))
    for line in reports.render(result, values["output"], style):
        click.echo(line, color=True if style.colours else None)
    if values["summary"]:
        for line in reports.table(result):
            click.echo(line, err=True)
    click.echo(reports.counts(result), err=True)
