"""`inkube validate`: reports the errors that a server would return for files, without a server.

Reads files, folders and standard input. `schemas.offline` contains the checks.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import click

from inkube.apiserver import declared, manifests
from inkube.apiserver.configuration import Options
from inkube.schemas import documents, offline, releases
from inkube.schemas.documents import Document
from inkube.schemas.offline import Finding


@click.command("validate")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option("-d", "--definitions", multiple=True, metavar="DIR", help="Files or folders of CRDs.")
@click.option("--old", multiple=True, metavar="FILE", help="The objects as they are stored now.")
@click.option("--strict", is_flag=True, help="Unknown and repeated fields are errors.")
@click.option(
    "--kubernetes-version", default="", metavar="1.NN", help="Check as that version; the newest."
)
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text")
def validate_command(
    files: tuple[str, ...],
    definitions: tuple[str, ...],
    old: tuple[str, ...],
    output: str,
    kubernetes_version: str,
    *,
    strict: bool,
) -> None:
    """Check objects and CRDs in files and folders; `-` is standard input.

    Every error is shown with its file, line and field; the exit code is 1 when there are any.
    Like a server, it warns about unknown fields and drops them; `--strict` makes them errors.
    """
    kinds = offline.Kinds.builtin(_minor(kubernetes_version))
    options = Options(modules="all")
    kinds.declared_groups = frozenset(options.module_groups)
    kinds.declare = lambda: declared.judged_kinds(options)
    wanted = list(_read(files))
    found = [
        *kinds.remember(_read(old)),
        *kinds.define(_read(definitions)),
        *kinds.check(wanted),
    ]
    if strict:
        found = [replace(one, warns=False) for one in found]
    if output == "json":
        _show_json(_distinct(found), len(wanted))
    else:
        _show_text(_distinct(found), len(wanted))
    if any(not one.warns for one in found):
        sys.exit(1)


def _minor(text: str) -> int:
    try:
        return releases.parse(text).minor
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--kubernetes-version") from error


def _read(paths: Iterable[str]) -> Iterator[Document]:
    for path in paths:
        if path == "-":
            yield from documents.split("<stdin>", sys.stdin.buffer.read())
            continue
        try:
            files = manifests.files(Path(path))
        except FileNotFoundError as error:
            raise click.FileError(path, "no such file or folder") from error
        for file in files:
            yield from documents.split(str(file), file.read_bytes())


def _distinct(findings: list[Finding]) -> list[Finding]:
    """Return each finding one time, in the order of lines. A CRD can be in the definitions and in
    the files."""
    files = dict.fromkeys(finding.file for finding in findings)
    order = {file: at for at, file in enumerate(files)}
    return sorted(dict.fromkeys(findings), key=lambda one: (order[one.file], one.line))


def _show_text(findings: list[Finding], count: int) -> None:
    for finding in findings:
        click.echo(finding.text())
    warnings = sum(finding.warns for finding in findings)
    told = [_count_text(count, "document"), _count_text(len(findings) - warnings, "error")]
    if warnings:
        told.append(_count_text(warnings, "warning"))
    click.echo(", ".join(told), err=True)


def _count_text(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _show_json(findings: list[Finding], count: int) -> None:
    errors, warnings = (
        [_item(finding) for finding in findings if finding.warns is warns]
        for warns in (False, True)
    )
    shown = {"documents": count, "errors": errors, "warnings": warnings}
    click.echo(json.dumps(shown, indent=2, ensure_ascii=False))


def _item(finding: Finding) -> dict[str, object]:
    item = asdict(finding)
    del item["warns"]
    return item
