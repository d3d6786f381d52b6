"""Reference pages in Markdown, from the code: command line, options, fixtures, kinds, changes.

`pages()` returns name → text; `site.py` adds them to the site. A missing description in the code is
an error, so that the code contains all descriptions.
"""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import apireference
import click
import generate_modules

from inkube.apiserver import pytest_plugin
from inkube.apiserver.cli import main
from inkube.schemas import builtin
from inkube.schemas.definitions import Definition

ROOT = Path(__file__).parents[1]


def pages() -> dict[str, str]:
    """Return every page, by its name below docs/."""
    return {
        "reference/cli.md": "\n".join(command_line()),
        "reference/options.md": "\n".join(options()),
        "reference/fixtures.md": "\n".join(fixtures()),
        **apireference.pages(),
        "reference/kinds.md": "\n".join(kinds()),
        # it is next to docs/, and pages of docs/ link to it
        "reference/changelog.md": (ROOT / "CHANGELOG.md").read_text().replace("](docs/", "](../"),
    }


# The command line.


def command_line() -> Iterator[str]:
    yield from ("# Command line", "", inspect.cleandoc(main.help or ""), "")
    yield from ("| exit code | means |", "| --- | --- |")
    yield "| 0 | all is well; a server was stopped by a signal |"
    yield "| 1 | it cannot be done, or what was looked at is wrong: a bad object, a damaged file |"
    yield from ("| 2 | the command line is wrong |", "")
    yield "`inkube --version` tells the version. `inkube completion bash`, `zsh` or `fish` prints a"
    yield from ("script that completes commands and options in that shell.", "")
    for name, command in _commands(main, "inkube"):
        yield from _command(name, command)


def _commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):  # including those that are loaded late
        command = group.get_command(context, name)
        assert command is not None, "it is listed"
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def _context(command: click.Command, name: str) -> click.Context:
    return click.Context(command, info_name=name, max_content_width=100)


def _command(name: str, command: click.Command) -> Iterator[str]:
    context = _context(command, name)
    if not command.help:
        raise ValueError(f"{name} says nothing of itself: give it a docstring")
    usage = " ".join(command.collect_usage_pieces(context))
    yield from (f"## {name}", "", f"`{name} {usage}`", "", inspect.cleandoc(command.help), "")
    rows = [row for row in map(_option, command.params) if row]
    if rows:
        yield from ("| option | default | |", "| --- | --- | --- |", *rows, "")


def _option(parameter: click.Parameter) -> str:
    if not isinstance(parameter, click.Option):
        return ""
    names = ", ".join(f"`{name}`" for name in (*parameter.secondary_opts, *parameter.opts))
    if isinstance(parameter.type, click.Choice):
        names += " " + " \\| ".join(parameter.type.choices)
    elif parameter.metavar:
        names += " " + parameter.metavar.replace("|", "\\|")
    elif not parameter.is_flag and not parameter.count:
        names += f" {parameter.type.name.upper()}"
    if parameter.multiple:
        names += " (may be repeated)"
    default = parameter.default
    plain = (
        default in (None, "", (), False) or parameter.count or type(default).__name__ == "Sentinel"
    )
    shown = "" if plain else f"`{default}`"
    return f"| {names} | {shown} | {(parameter.help or '').replace('|', chr(92) + '|')} |"


# Options of APIServer.


def options() -> Iterator[str]:
    yield from ("# Options", "", "Of `inkube.APIServer(…)`, `inkube.Options(…)` and the marker")
    yield "`kube_options(…)`; `inkube serve` has most of them"
    yield from ("[by the same names](cli.md#inkube-serve).", "")
    yield from ("| option | type | default | |", "| --- | --- | --- | --- |")
    for each in generate_modules.options():
        kind = generate_modules.type_name(each)
        about = each.help.replace("|", "\\|")
        yield f"| `{each.name}` | `{kind}` | `{each.default!r}` | {about} |"
    yield ""


# Fixtures and markers.


def fixtures() -> Iterator[str]:
    yield from ("# Fixtures and markers", "", "What the pytest plugin offers; how it is used:")
    yield from ("[the server as a pytest fixture](../pytest.md).", "", "## Fixtures", "")
    yield from ("| fixture | scope | what it is |", "| --- | --- | --- |")
    for name, scope, text in sorted(_fixtures()):
        yield f"| `{name}` | {scope} | {text} |"
    yield from ("", "## Markers", "", "| marker | what it does |", "| --- | --- |")
    for marker in pytest_plugin.MARKERS:
        form, _, text = marker.partition(": ")
        yield f"| `{form}` | {text} |"
    yield ""


def _fixtures() -> Iterator[tuple[str, str, str]]:
    for node in ast.parse(inspect.getsource(pytest_plugin)).body:
        for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else []:
            if "fixture" not in ast.unparse(decorator):
                continue
            assert isinstance(node, ast.FunctionDef)
            text = ast.get_docstring(node)
            if not text:
                raise ValueError(f"the fixture {node.name} says nothing of itself")
            scope = "session" if "session" in ast.unparse(decorator) else "test"
            yield node.name, scope, " ".join(text.split("\n\n")[0].split())


# Kinds.


def kinds() -> Iterator[str]:
    yield from ("# Kinds", "", "## inkube's own", "", "| kind | |", "| --- | --- |")
    for page in sorted((ROOT / "docs" / "fields").glob("*.md")):
        title, _, about = page.read_text().split("\n")[:3]
        yield f"| [{title.lstrip('# ')}](../fields/{page.name}) | {about} |"
    yield from ("", "## Kubernetes'", "", "Groups and versions of Kubernetes 1.36, with the verbs,")
    yield "subresources, columns and checks of the reference. Kinds of one's own come by"
    yield from ("CustomResourceDefinitions or [from Python](../howto/kinds.md).", "")
    yield from ("| group | kind | resource | versions | scope |", "| --- | --- | --- | --- | --- |")
    yield from map(_kind, sorted(builtin.definitions(), key=_order))
    yield ""


def _order(definition: Definition) -> tuple[str, str]:
    return definition.group, definition.names.kind


def _kind(definition: Definition) -> str:
    names = definition.names
    short = f" ({', '.join(names.short_names)})" if names.short_names else ""
    versions = ", ".join(version.name for version in definition.versions if version.served)
    scope = "namespaced" if definition.namespaced else "cluster"
    group = definition.group or "core"
    return f"| {group} | {names.kind} | {names.plural}{short} | {versions} | {scope} |"
