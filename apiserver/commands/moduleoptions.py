"""Options of `inkube serve` that the modules of installed packages declare."""

from collections.abc import Iterator
from typing import Any

import click

from inkube.apiserver import modules
from inkube.apiserver.configuration import Options


def add(command: click.Command) -> tuple[str, ...]:
    """Add the options of all installed modules to the command; returns the names of the options.

    The help of `--modules` names modules that cannot be loaded, with the error.
    """
    known = {each.name for each in command.params}
    found, about = [], []
    for name in modules.installed.names():
        try:
            module = modules.installed.load(name)
        except ValueError as error:
            about.append(f"{name}, which cannot be loaded: {error}")
            continue
        about.append(name)
        found += [each for each in _click_options(module) if each.name not in known]
        known |= {each.name for each in found}
    command.params += found
    for each in command.params:
        if each.name == "modules" and isinstance(each, click.Option) and about:
            each.help = f"{each.help} Installed: {'; '.join(about)}."
    return tuple(each.name for each in found if each.name)


def _click_options(module: modules.DeclaredModule) -> Iterator[click.Option]:
    own = Options.__dataclass_fields__
    for each in module.options:
        if each.name in own:
            continue
        default = each.default
        several = isinstance(default, list | tuple)
        kind: Any = None if several or default is None else type(default)
        yield click.Option(
            [f"--{each.name.replace('_', '-')}"],
            type=click.Choice(each.choices) if each.choices else kind,
            default=default,
            is_flag=isinstance(default, bool),
            multiple=several,
            show_default=bool(default) and not several,
            help=each.help,
        )
