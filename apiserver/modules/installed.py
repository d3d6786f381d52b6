"""Modules that installed packages offer under the entry point group `inkube.modules`."""

from collections.abc import Sequence
from typing import Any, cast

from inkube.apiserver.modules import descriptions
from inkube.apiserver.modules.descriptions import DeclaredModule
from inkube.schemas import caches, lazy

GROUP = "inkube.modules"
_MEMBERS = ("groups", "needs", "options", "build")


def names() -> Sequence[str]:
    """Return the names of all installed modules, sorted, without the names of
    inkube's own modules."""
    found = {each.name for each in _entry_points(group=GROUP)}
    return sorted(found - descriptions.built_in().keys())


@caches.of_values(64)
def load(name: str) -> DeclaredModule:
    """Return the module with that name.

    Raises ValueError if no package or more than one package has a module with that name, if it
    cannot be loaded, and if the loaded object is not a module.
    """
    found = {each.value: each for each in _entry_points(group=GROUP, name=name)}
    if not found:
        choices = ", ".join(("all", "default", "none", *descriptions.choices(), *names()))
        raise ValueError(f"there is no module {name!r}; there are {choices}")
    if len(found) > 1:
        raise ValueError(f"several packages have a module {name!r}: {', '.join(sorted(found))}")
    (entry,) = found.values()
    try:
        made = entry.load()
        if callable(made):  # a class, or a function that makes one
            made = made()
    except Exception as error:  # the code of the package can raise any error
        raise ValueError(
            f"the module {name!r} cannot be loaded from {entry.value}: "
            f"{type(error).__name__}: {error}"
        ) from error
    return checked(made, name, entry.value)


def _entry_points(**selection: str) -> Any:
    """Return entry points. Loads the search at its first use, because it loads twenty modules."""
    return lazy.named("importlib.metadata", "entry_points")(**selection)


def checked(module: Any, name: str, source: str) -> DeclaredModule:
    """Return the object if it is a module. Raises ValueError otherwise."""
    missing = [member for member in _MEMBERS if not hasattr(module, member)]
    if missing:
        raise ValueError(
            f"the module {name!r} ({source}) has no {', '.join(missing)}; "
            "inkube.kinds.Module says what a module is"
        )
    return cast("DeclaredModule", module)
