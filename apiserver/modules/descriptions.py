"""The descriptions of modules: groups, requirements, options and roles.

The files in `builtin` describe the modules of inkube, so a start does not load them.
`tools/generate_modules.py` creates them from their entry points in pyproject.toml.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import orjson

from inkube.schemas import caches
from inkube.schemas.objects import Object
from inkube.schemas.options import TYPES, Option

FOLDER = Path(__file__).with_name("builtin")
ORDER = ("workloads", "provisioning", "world", "porch")
"""The modules of inkube, in the order in which they are built."""
OF_OPTIONS = ("workloads",)
"""Modules that are not selected by name: each is served if the option with its name is set."""


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """The description of a module that comes with inkube."""

    entry: str
    """The module and the name in it, in the format of an entry point."""
    about: str
    """What its kinds are for, in a few words."""
    groups: Sequence[str]
    needs: Sequence[str]
    roles: Sequence[Object]
    builds_at_start: bool
    options: Sequence[Option]
    """Those that the server does not have itself."""
    members: Sequence[Option]
    """The members of the option that selects the module (`OF_OPTIONS`), as options of the command
    line."""
    kinds: Sequence[Object]
    """The kinds of a module that is built late (`outlines`)."""


class DeclaredModule(Protocol):
    """The members of a module that are read before it is built. `controllers.modules.Module` has
    all members."""

    @property
    def groups(self) -> Sequence[str]:
        """The API groups of the module's kinds."""
        ...

    @property
    def needs(self) -> Sequence[str]:
        """The names of the modules that must be served before this one."""
        ...

    @property
    def options(self) -> Sequence[Option]:
        """The options of the module."""
        ...


@caches.of_values(1)
def built_in() -> Mapping[str, BuiltIn]:
    """Return the modules of inkube that are installed, by name, in the order in which they are
    built."""
    files = {name: FOLDER / f"{name}.json" for name in ORDER}
    return {name: _read(file) for name, file in files.items() if file.exists()}


def _read(file: Path) -> BuiltIn:
    described = orjson.loads(file.read_bytes())
    described |= {name: tuple(map(_option, described[name])) for name in ("options", "members")}
    return BuiltIn(**described)


def _option(members: Object) -> Option:
    default, kind = members["default"], TYPES[members["type"]]
    members |= {"default": tuple(default) if isinstance(default, list) else default, "type": kind}
    return Option(**members)


@caches.of_values(1)
def own_options() -> Mapping[str, Option]:
    """Return the options of inkube's modules by name. Several modules can have the same one."""
    return {each.name: each for module in built_in().values() for each in module.options}


def choices() -> Sequence[str]:
    """Return the names of inkube's modules that `Options.modules` can contain."""
    return [name for name in built_in() if name not in OF_OPTIONS]
