"""Late loading: rooms that load a module of theirs when something of it is first used (PEP 562).

All late loading goes through here. A start needs few of the rules there are, so a room that it can
do without offers its names by a stub beside its `__init__`: the stub imports them from where they
are defined, type checkers read it like any other, and the room loads a module when one of its names
is asked for. `Late` makes a value of such names at its first call. `named` finds what a table of
data names.

    __init__.pyi    from inkube.apiserver.discovery.groups import Discovery as Discovery
    __init__.py     __getattr__ = lazy.exports(__name__)

A public module has `__getattr__ = lazy.described(lazy.exports(__name__))`, so that `help` shows
the members of its classes, and `__dir__ = lazy.listing(__name__)`, so that `help` and completion
list its names; the stub lies beside it and has its name.

Others import the room and write `discovery.Discovery`. What a start must not load is listed in
`tests/apiserver/test_cold_start.py`.
"""

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)

_IMPORT = re.compile(r"^from (\S+) import (?:\(\s*)?(\w+) as (\w+)", re.MULTILINE)
"""One name of a stub, as ruff formats it. Reading the syntax tree takes 20 times as long, which a
start would notice."""


def exports(package: str) -> Callable[[str], Any]:
    """A package's `__getattr__`: its stub says which module has which name.

    Raises AttributeError for other names, as any module.
    """
    homes: dict[str, tuple[str, str]] = {}

    def find(name: str) -> Any:
        # no stub offers such a name; Python asks for some and pytest for others, of every module
        if name.startswith("_") and name != "__all__":
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if not homes:
            homes.update(_read(package))
        if name == "__all__":
            return sorted(homes)
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, original = homes[name]
        found = _found(module, original)
        setattr(sys.modules[package], name, found)
        return found

    return find


def described(find: Callable[[str], Any]) -> Callable[[str], Any]:
    """A public module's `__getattr__`: the documentation of its dataclasses and named tuples lists
    their members, with the strings below them. Sources are read when documentation is asked for.
    """

    def find_described(name: str) -> Any:
        found = find(name)
        if isinstance(found, type) and {"__dataclass_fields__", "_fields"} & vars(found).keys():
            text = vars(found).get("__doc__")
            if isinstance(text, str):
                found.__doc__ = _MembersDoc(text)  # type: ignore[assignment] # gives a str
        return found

    return find_described


class _MembersDoc:
    """The `__doc__` of a class: its own text, then its members."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __get__(self, instance: object, owner: type) -> str:
        text: str = named("inkube.schemas.memberdocs", "described")(owner, self._text)
        return text


def listing(package: str) -> Callable[[], list[str]]:
    """A package's `__dir__`: what its stub offers, and its version where it has one."""

    def names() -> list[str]:
        return sorted({*_read(package), *({"__version__"} & vars(sys.modules[package]).keys())})

    return names


def _read(package: str) -> dict[str, tuple[str, str]]:
    """Name → module and the name there, as the stub imports them."""
    source = sys.modules[package].__file__
    assert source is not None, "a package that calls `exports` has a file"
    stub = Path(source).with_suffix(".pyi").read_text()
    return {name: (module, original) for module, original, name in _IMPORT.findall(stub)}


def named(module: str, name: str) -> Any:
    """What data, not code, names: a line of a table that leaves something to a function.

    Raises ImportError, AttributeError.
    """
    return getattr(import_module(module), name)


def _found(module: str, name: str) -> Any:
    loaded = import_module(module)
    if name in vars(loaded):
        return getattr(loaded, name)
    try:
        return import_module(f"{module}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{module}.{name}":
            raise
        return getattr(loaded, name)  # something that `module` itself offers late


class Late(Generic[T_co]):
    """A value that is made when it is first asked for: `late()` gives it, each time the same one.

    Modules are loaded late by `exports`, values are made late by this. What makes the value takes
    its class from a room that loads late, so that only a server that needs it loads it:

        dispatcher = Late(lambda: webhooks.Dispatcher(store))
        dispatcher().call(...)
    """

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], T_co]) -> None:
        self._make = make
        self._made: list[T_co] = []

    def __call__(self) -> T_co:
        """The value. Raises what making it does, and then makes it anew the next time."""
        if not self._made:
            self._made.append(self._make())
        return self._made[0]

    @property
    def made(self) -> T_co | None:
        """The value where it was made already; reading this makes nothing."""
        return self._made[0] if self._made else None
