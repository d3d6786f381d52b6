"""The names of modules that are served, with what they need, and the groups of their kinds.

`builtin.json` describes the modules that come with inkube, so that a start does not load them.
`tools/generate_outlines.py` makes it from their entry points in pyproject.toml.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import orjson

from inkube.apiserver import modules
from inkube.schemas import caches
from inkube.schemas.objects import Object

FILE = Path(__file__).with_name("builtin.json")
DEFAULT = ("provisioning", "world")
OF_OPTIONS = ("workloads",)
"""Modules of which each is served if the server's option with its name is set."""


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """The description of a module that comes with inkube."""

    entry: str
    """The module and the name in it, as in an entry point."""
    groups: Sequence[str]
    needs: Sequence[str]
    roles: Sequence[Object]
    builds_at_start: bool


class Declared(Protocol):
    """The members of a module that are read before it is built; `controllers.modules.Module` has
    all members."""

    @property
    def groups(self) -> Sequence[str]:
        """The API groups of its kinds."""
        ...

    @property
    def needs(self) -> Sequence[str]:
        """The names of modules that are served before it."""
        ...

    @property
    def options(self) -> Sequence[Any]:
        """Its options, each with `name`, `default`, `help` and `choices`."""
        ...


@caches.of_values(1)
def built_in() -> Mapping[str, BuiltIn]:
    """The modules that come with inkube, by name, in the order in which they are built."""
    found = orjson.loads(FILE.read_bytes())
    return {name: BuiltIn(**members) for name, members in found.items()}


def choices() -> Sequence[str]:
    """The names of the modules of inkube that `Options.modules` can contain."""
    return [name for name in built_in() if name not in OF_OPTIONS]


def chosen(given: str | Sequence[str]) -> tuple[str, ...]:
    """The names of `Options.modules` with what they need, each after that; `default`, `all` and
    `none` may stand among names. Raises ValueError for unknown names, for packages that cannot be
    loaded and for modules that need each other."""
    found: dict[str, None] = {}
    for name in given.split(",") if isinstance(given, str) else given:
        for each in _meant(name):
            _add(each, found, ())
    own = [name for name in built_in() if name in found]
    return (*own, *(name for name in found if name not in built_in()))


def _meant(name: str) -> Sequence[str]:
    """The modules that a name stands for: those of a set, or the one of that name."""
    if name == "none":
        return ()
    if name == "default":
        return DEFAULT
    if name == "all":
        return (*choices(), *modules.installed.names())
    if name in OF_OPTIONS:
        raise ValueError(f"the option {name} selects the module {name}")
    return (name,)


def _add(name: str, found: dict[str, None], path: tuple[str, ...]) -> None:
    """Add a module after those that it needs; `path` are those that need it."""
    if name in path:
        raise ValueError(f"modules need each other: {' → '.join((*path, name))}")
    if name in found:
        return
    for other in _known(name).needs:
        _add(other, found, (*path, name))
    found[name] = None


def _known(name: str) -> Any:
    """The description of a module: from the file, or the module of a package itself."""
    return built_in().get(name) or modules.installed.load(name)


def groups(names: Sequence[str]) -> tuple[str, ...]:
    """The API groups of these modules."""
    return tuple(group for name in names for group in _known(name).groups)


def roles(names: Sequence[str]) -> list[Object]:
    """The ClusterRoles of these modules."""
    return [role for name in names for role in getattr(_known(name), "roles", ())]


def at_start(names: Sequence[str]) -> tuple[str, ...]:
    """Those of these modules that are built at the start of a server."""
    return tuple(name for name in names if getattr(_known(name), "builds_at_start", False))


def options(names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Name and declaration of each option of those modules that come from packages."""
    for name in names:
        if name not in built_in():
            for each in modules.installed.load(name).options:
                yield each.name, each
