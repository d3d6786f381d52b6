"""The options of `inkube serve`: those of `Options`, those of modules, and those of the command.

The fields of `Options` describe most of them (`schemas.options`). The options below have no meaning
in Python, or another type.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import click

from inkube.apiserver import configuration, modules
from inkube.apiserver.commands.moments import Moment
from inkube.schemas import releases
from inkube.schemas.options import Option

OF_MODULES = "Options of modules"
"""The heading of the options of installed packages."""
_FILE = click.Path(path_type=Path, dir_okay=False)
_PATH = click.Path(path_type=Path)
_OLDEST, _NEWEST = (f"1.{releases.RECORDED[index].minor}" for index in (0, -1))
_TYPES: dict[str, Any] = {
    "at": Moment(),
    "definitions": _PATH,
    "pods": _FILE,
    "authentication_config": _FILE,
    "authorization_config": _FILE,
    "snapshot": _FILE,
    "workloads": bool,
}
"""Options with more types in Python than on the command line."""
_DEFAULTS = {"port": 8001}
"""Defaults that differ from those in Python."""
_SHOWN = {"data": str(configuration.LOCAL), "kubernetes_version": _NEWEST}
"""Defaults that the help shows in other words."""


class GroupedOption(click.Option):
    """An option below a heading of the help."""

    def __init__(self, *names: str, group: str, **members: Any) -> None:
        super().__init__(names, **members)
        self.group = group


class _Workers(click.IntRange):
    """A number of processes. 0 stands for `auto`."""

    name = "number of processes, or auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number of processes; 0 for `auto`. Raises click.BadParameter."""
        return 0 if value == "auto" else super().convert(value, param, ctx)


def every() -> list[click.Parameter]:
    """Return all options except those of installed packages."""
    own = {**configuration.OWN, **modules.own_options()}.values()
    described = (_click_option(each, each.group) for each in (*own, *of_workloads()) if each.group)
    return [*described, *_others()]


def of_workloads() -> Sequence[Option]:
    """Return the options of the command line that are members of `inkube.Workloads`."""
    workloads = modules.built_in().get("workloads")
    return workloads.members if workloads else ()


def flag(name: str) -> str:
    """Return the name on the command line of an option with this name in Python."""
    return {**configuration.OWN, **modules.own_options()}.get(name, Option(name)).flag_name


def turn_off(arguments: dict[str, Any]) -> None:
    """Replace the flags that turn an option off by the option."""
    for each in configuration.OWN.values():
        if each.is_turned_off:
            name = each.flag_name.removeprefix("--").replace("-", "_")
            arguments[each.name] = not arguments.pop(name)


def add_installed(command: click.Command) -> tuple[str, ...]:
    """Add the options of all installed modules to the command; returns the names of the options.

    The help of `--modules` names modules that cannot be loaded, with the error.
    """
    known = {each.name for each in command.params} | configuration.OWN.keys()
    added, about = [], []
    for name in modules.installed.names():
        try:
            module = modules.installed.load(name)
        except ValueError as error:
            about.append(f"{name}, which cannot be loaded: {error}")
            continue
        about.append(name)
        added += [
            _click_option(each, OF_MODULES) for each in module.options if each.name not in known
        ]
        known |= {each.name for each in added}
    command.params += added
    for each in command.params:
        if each.name == "modules" and isinstance(each, click.Option) and about:
            each.help = f"{each.help} Installed: {'; '.join(about)}."
    return tuple(each.name for each in added if each.name)


def _click_option(option: Option, group: str) -> GroupedOption:
    kind, several = _type(option)
    default = _DEFAULTS.get(option.name, option.default)
    other = f"  [default: {_SHOWN[option.name]}]" if option.name in _SHOWN else ""
    return GroupedOption(
        option.flag_name,
        *(() if option.is_turned_off else (option.name,)),
        group=group,
        type=None if kind is bool else kind,
        default=False if kind is bool else () if several else default,
        is_flag=kind is bool,
        multiple=several,
        show_default=bool(default) and not several and kind is not bool,
        metavar=option.metavar or None,
        help=option.summary + other,
    )


def _type(option: Option) -> tuple[Any, bool]:
    """Return the type on the command line, and whether the option can be repeated."""
    kind = option.type or type(option.default)
    several = get_origin(kind) is Sequence or isinstance(option.default, list | tuple)
    if option.name in _TYPES:
        return _TYPES[option.name], several
    if option.choices:
        return click.Choice(option.choices), several
    if kind in (bool, int, float, str):
        return kind, several
    if Path in get_args(kind):
        return (_PATH if several else _FILE), several
    return (int if int in get_args(kind) else str), several


def _others() -> Iterator[GroupedOption]:
    """Yield the options that have no meaning in Python."""
    address, data, logs = configuration.ADDRESS, configuration.DATA, configuration.LOGS
    yield GroupedOption(
        "--workers", group=address, type=_Workers(1, 64), metavar="N|auto", default="1",
        show_default=True, help="Number of processes; auto: one for each CPU core.",
    )  # fmt: skip
    yield GroupedOption(
        "--kubeconfig", group=address, type=_FILE, help="Write the kubeconfig to this file."
    )
    yield GroupedOption("--in-memory", group=data, is_flag=True, help="Keep data in memory only.")
    yield GroupedOption(
        "--reload", group=data, default="", metavar="MODULE",
        help="Serve the kinds of a Python module, and restart with the same data if its code "
        "changes.",
    )  # fmt: skip
    yield GroupedOption(
        "--log-format", group=logs, type=click.Choice(["text", "json"]), default="text",
        help="Format of the log.",
    )  # fmt: skip
    yield GroupedOption(
        "-q", "--quiet", group=logs, is_flag=True, help="Log warnings and errors only."
    )
    yield GroupedOption(
        "-v", "--verbose", group=logs, count=True,
        help="Log each request; -vv also logs controllers.",
    )  # fmt: skip
