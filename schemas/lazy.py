"""Late loading: rooms load one of their modules at the first use of a name in it (PEP 562).

All late loading uses this module. A start needs few of the rules, so a room that a start does not
need offers its names in a stub next to its `__init__`. The stub imports the names from the modules
that define them, type checkers read it like any other stub, and the room loads a module at the
first access to one of its names. `Lazy` creates a value at its first call. `named` finds an object
that a table of data names.

    __init__.pyi    from inkube.apiserver.discovery.groups import Discovery as Discovery
    __init__.py     __getattr__ = lazy.exports(__name__)

A public module has `__getattr__, __dir__ = lazy.public(__name__)`: `help` also shows the members of
its classes, and `help` and completion list its names. The stub has the name of the module and is
next to it.

Other rooms import the room and write `discovery.Discovery`. `tests/apiserver/test_cold_start.py`
lists the modules that a start must not load.
"""

import re
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)

_FIELDS = ("__dataclass_fields__", "_fields")
"""The attributes of dataclasses and named tuples."""
_IMPORT = re.compile(r"^from (\S+) import (?:\(\s*)?(\w+) as (\w+)", re.MULTILINE)
"""One name of a stub, as ruff formats it. Parsing the syntax tree takes 20 times as long, which
would slow down starts."""


class OutdatedLibrary(ImportError):
    """A module cannot be loaded, and installed libraries are older than inkube requires."""


def exports(package: str) -> Callable[[str], Any]:
    """Return a package's `__getattr__`, which finds the module of a name in the package's stub.

    It raises AttributeError for other names, as in any module.
    """
    homes: dict[str, tuple[str, str]] = {}

    def find(name: str) -> Any:
        # no stub has such a name, but Python and pytest look some up in every module
        if name.startswith("_") and name != "__all__":
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if not homes:
            homes.update(_read(package))
        if name == "__all__":
            return sorted(homes)
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, original = homes[name]
        value = _import_name(module, original)
        setattr(sys.modules[package], name, value)
        return value

    return find


def _described(find: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a public module's `__getattr__`: the documentation of its dataclasses and named tuples
    lists their members, with the strings below them. Access to the documentation reads the sources.
    """

    def find_described(name: str) -> Any:
        value = find(name)
        if isinstance(value, type) and any(hasattr(value, name) for name in _FIELDS):
            text = vars(value).get("__doc__")
            if isinstance(text, str):
                value.__doc__ = _MembersDoc(text)  # type: ignore[assignment] # gives a str
        return value

    return find_described


class _MembersDoc:
    """The `__doc__` of a class: its own text, then its members."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __get__(self, instance: object, owner: type) -> str:
        text: str = named("inkube.schemas.memberdocs", "described")(owner, self._text)
        return text


def public(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a public module's `__getattr__` and `__dir__`: the names in its stub, and its version
    if it has one."""

    def names() -> list[str]:
        return sorted({*_read(package), *({"__version__"} & vars(sys.modules[package]).keys())})

    return _described(exports(package)), names


def _read(package: str) -> dict[str, tuple[str, str]]:
    """Name → module and the name there, as the stub imports them."""
    source = sys.modules[package].__file__
    assert source is not None, "a package that calls `exports` has a file"
    stub = Path(source).with_suffix(".pyi").read_text()
    return {name: (module, original) for module, original, name in _IMPORT.findall(stub)}


def named(module: str, name: str) -> Any:
    """Load an object that data names: for example, a line of a table that names a function.

    Raises ImportError, AttributeError.
    """
    return getattr(import_module(module), name)


def _import_name(module: str, name: str) -> Any:
    try:
        return _imported(module, name)
    except (ImportError, AttributeError, TypeError) as error:
        explanation = named("inkube.schemas.outdated", "explanation")()
        if explanation and not isinstance(error, OutdatedLibrary):
            raise OutdatedLibrary(explanation) from error
        raise


def _imported(module: str, name: str) -> Any:
    loaded = import_module(module)
    if name in vars(loaded):
        return getattr(loaded, name)
    try:
        return import_module(f"{module}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{module}.{name}":
            raise
        return getattr(loaded, name)  # something that `module` itself offers late


class Lazy(Generic[T_co]):
    """A value that is created at the first call: `late()` returns it, each time the same one.

    `exports` loads modules late, and this class creates values late. The function that creates the
    value takes its class from a room that loads late, so that only a server that needs it loads it:

        dispatcher = Lazy(lambda: webhooks.Dispatcher(store))
        dispatcher().call(...)
    """

    __slots__ = ("_create", "_values")

    def __init__(self, create: Callable[[], T_co]) -> None:
        self._create = create
        self._values: Sequence[T_co] = ()
        """Contains the value once it is created."""

    def __call__(self) -> T_co:
        """Return the value. Raises the errors of its creation; the next call then creates it
        again."""
        if not self._values:
            self._values = (self._create(),)
        return self._values[0]

    @property
    def value_if_created(self) -> T_co | None:
        """The value if it was already created, else None."""
        return self._values[0] if self._values else None
