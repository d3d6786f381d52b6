"""The names of served modules with the modules that they require, and the groups of their kinds.

A name stands for a module of inkube, of a package, or for one that was given as an object.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inkube.apiserver.modules import installed
from inkube.apiserver.modules.descriptions import OF_OPTIONS, DeclaredModule, built_in, choices
from inkube.schemas.objects import Object
from inkube.schemas.options import Option

DEFAULT = ("provisioning", "world")
_SETS = ("none", "default", "all")


class GivenModule(str):
    """The name of a module that was given as an object, with the module."""

    __slots__ = ("module",)
    module: DeclaredModule


def selected(selection: str | Sequence[str | DeclaredModule]) -> tuple[str, ...]:
    """Return the names in `Options.modules`, each after the modules that it requires.

    `default`, `all` and `none` can be among the names. The name of a module that is given as an
    object is its attribute `name`, or the name of its class in lower case. Raises ValueError for
    unknown names, for packages that cannot be loaded, for objects that are not modules, for two
    modules with one name, and for modules that require each other.
    """
    listed = selection.split(",") if isinstance(selection, str) else selection
    names = [each if isinstance(each, str) else _of_object(each) for each in listed]
    given = _by_name(names)
    found: dict[str, None] = {}
    for name in names:
        for each in _names_of(name):
            _add(each, found, given)
    own = [name for name in built_in() if name in found]
    return (*own, *(name for name in found if name not in built_in()))


def _of_object(module: Any) -> GivenModule:
    """Return the name of a module that is given as an object. Raises ValueError for others."""
    if isinstance(module, type):
        text = f"{module.__name__} is a class; give an object: {module.__name__}()"
        raise ValueError(text)  # noqa: TRY004 # the caller makes a BadOption of ValueErrors
    name = GivenModule(getattr(module, "name", "") or type(module).__name__.lower())
    name.module = installed.checked(module, name, type(module).__name__)
    return name


def _by_name(names: Sequence[str]) -> dict[str, GivenModule]:
    """Return the given modules by name. Raises ValueError for a name of several modules."""
    given: dict[str, GivenModule] = {}
    for name in names:
        if isinstance(name, GivenModule):
            if name in given or name in built_in() or name in _SETS:
                raise ValueError(f"the name {name!r} is taken; set another `name` of the module")
            given[name] = name
    return given


def _names_of(name: str) -> Sequence[str]:
    """Return the modules of a set (`none`, `default`, `all`), or the module with that name."""
    if name == "none":
        return ()
    if name == "default":
        return [each for each in DEFAULT if each in built_in()]
    if name == "all":
        return (*choices(), *installed.names())
    if name in OF_OPTIONS:
        raise ValueError(f"the option {name} selects the module {name}")
    return (name,)


def _add(
    name: str,
    names: dict[str, None],
    options_modules: Mapping[str, GivenModule],
    path: tuple[str, ...] = (),
) -> None:
    """Add a module after the modules that it requires. `path` contains the modules
    that require it."""
    name = options_modules.get(name, name)
    if name in path:
        raise ValueError(f"modules need each other: {' → '.join((*path, name))}")
    if name in names:
        return
    for other in declaration(name).needs:
        _add(other, names, options_modules, (*path, name))
    names[name] = None


def declaration(name: str) -> Any:
    """Return the description of a module: from the file, or the module itself if it is given or
    comes from a package. Raises ValueError for a package's that cannot be loaded."""
    if isinstance(name, GivenModule):
        return name.module
    return built_in().get(name) or installed.load(name)


def groups(names: Sequence[str]) -> tuple[str, ...]:
    """Return the API groups of these modules."""
    return tuple(group for name in names for group in declaration(name).groups)


def roles(names: Sequence[str]) -> list[Object]:
    """Return the ClusterRoles of these modules."""
    return [role for name in names for role in getattr(declaration(name), "roles", ())]


def at_start(names: Sequence[str]) -> tuple[str, ...]:
    """Return the modules among these that are built at the start of a server."""
    return tuple(name for name in names if getattr(declaration(name), "builds_at_start", False))


def options(names: Sequence[str]) -> Iterator[tuple[str, Option]]:
    """Yield the name and the declaration of each option of those modules that do not belong to
    inkube."""
    for name in names:
        if name not in built_in():
            for each in declaration(name).options:
                yield each.name, each
