"""The names of modules that are served, with what they need, and the groups of their kinds."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from inkube.apiserver import modules

BUILT_IN = {
    "provisioning": ("provisioning.grafana.app",),
    "world": ("world.inkube.dev",),
    "porch": ("porch.kpt.dev", "config.porch.kpt.dev"),
}
"""Modules that come with inkube, by the groups they are in: known without loading them."""
DEFAULT = ("provisioning", "world")
_NEEDED = {"porch": ("world",)}
"""Packages lie in git, and offline there are scripted hosts only."""


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


def chosen(given: str | Sequence[str]) -> tuple[str, ...]:
    """The names of `Options.modules` with what they need, each after that; `default`, `all` and
    `none` may stand among names. Raises ValueError for unknown names, for packages that cannot be
    loaded and for modules that need each other."""
    found: dict[str, None] = {}
    for name in given.split(",") if isinstance(given, str) else given:
        for each in _meant(name):
            _add(each, found, ())
    own = [name for name in BUILT_IN if name in found]
    return (*own, *(name for name in found if name not in BUILT_IN))


def _meant(name: str) -> Sequence[str]:
    """The modules that a name stands for: those of a set, or the one of that name."""
    if name == "none":
        return ()
    if name == "default":
        return DEFAULT
    if name == "all":
        return (*BUILT_IN, *modules.installed.names())
    return (name,)


def _add(name: str, found: dict[str, None], path: tuple[str, ...]) -> None:
    """Add a module after those that it needs; `path` are those that need it."""
    if name in path:
        raise ValueError(f"modules need each other: {' → '.join((*path, name))}")
    if name in found:
        return
    for other in _needs(name):
        _add(other, found, (*path, name))
    found[name] = None


def _needs(name: str) -> Sequence[str]:
    if name in BUILT_IN:
        return _NEEDED.get(name, ())
    return modules.installed.load(name).needs


def groups(names: Sequence[str]) -> tuple[str, ...]:
    """The API groups of these modules."""
    return tuple(group for name in names for group in _groups(name))


def _groups(name: str) -> Iterator[str]:
    yield from BUILT_IN[name] if name in BUILT_IN else modules.installed.load(name).groups


def options(names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Name and declaration of each option of those modules that come from packages."""
    for name in names:
        if name not in BUILT_IN:
            for each in modules.installed.load(name).options:
                yield each.name, each
