"""Modules: kinds, controllers, services and options that a package adds to a server.

    class Greenhouse:
        groups = ("greenhouse.example",)
        needs = ()
        options = (ModuleOption("greenhouse_frost", 2.0, "Degrees at which plants are taken in."),)

        def build(self, host: ModuleHost) -> ModuleParts:
            return ModuleParts(kinds=[plants(host.settings["greenhouse_frost"])])

    # pyproject.toml of the package
    [project.entry-points."inkube.modules"]
    greenhouse = "greenhouse:Greenhouse"

The composition root builds the modules that are wanted, each after those that it needs, when one
of their groups is first asked for. The modules that come with inkube use nothing else.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from inkube.controllers.client import Client
from inkube.controllers.environment import Environment
from inkube.controllers.kinds import KindModule
from inkube.controllers.manager import Controller
from inkube.controllers.secure import SecretStore
from inkube.schemas.clock import Clock


@dataclass(frozen=True, slots=True)
class ModuleOption:
    """An option of a module, with its name in Python: `greenhouse_frost`.

    On the command line, it is `--greenhouse-frost`. `Options(module_options={…})` contains it by
    its name. A module can also declare an option of the server (`offline`, `outside_timeout`); it
    then receives the server's value. The type of `default` is the type of the values.
    """

    name: str
    default: Any = None
    help: str = ""
    choices: Sequence[str] = ()
    """The permitted texts. If empty, any value of the type is permitted."""


class Counts(Protocol):
    """The numbers of requests that faults affected."""

    def counted(self, name: str) -> tuple[int, int] | None:
        """Return the numbers of requests that a fault matched and made fail, or None for an unknown
        fault."""
        ...

    def listen(self, heard: Callable[[str], None]) -> Callable[[], None]:
        """Call `heard` with the name of every fault that matches a request. Returns a function that
        ends this."""
        ...


@dataclass(frozen=True, slots=True)
class ModuleHost:
    """A server's parts that a module can use."""

    settings: Mapping[str, Any]
    """The values of the module's own `options`, by name."""
    services: Mapping[str, Any]
    """The services of modules that were built before, including those that the module needs."""
    client: Client
    """Reads and writes objects of this server."""
    clock: Clock
    secrets: SecretStore
    """The store of `SecureValues`."""
    data: Path | None
    """The server's data file, in whose folder a module can store files; None in memory."""
    faults: Counts
    """The numbers of requests that each Fault of world.inkube.dev affected."""


async def _nothing_to_close() -> None:
    """Do nothing, because the module opened nothing."""


@dataclass(frozen=True, slots=True)
class ModuleParts:
    """The kinds, controllers and services that a module adds to one server."""

    kinds: Sequence[KindModule[Any]] = ()
    """Kinds, in the order in which they are served; all are in the module's `groups`."""
    controllers: Callable[[Environment], Sequence[Controller]] = lambda env: ()
    """Controllers in addition to those of the kinds. They run if the server runs controllers."""
    services: Mapping[str, Any] = field(default_factory=dict)
    """Services that checks receive by the name of a parameter, and other modules in
    `ModuleHost.services`."""
    close: Callable[[], Awaitable[None]] = _nothing_to_close
    """Awaited after the controllers have stopped."""


class Module(Protocol):
    """Kinds, controllers, services and options of a package, as an entry point of `inkube.modules`.

    The name of the entry point is the module's name in `inkube serve --modules`. The entry point is
    an object with these members, or a class or function without arguments that makes one.
    """

    @property
    def groups(self) -> Sequence[str]:
        """The API groups of its kinds; they are discovered without building the module."""
        ...

    @property
    def needs(self) -> Sequence[str]:
        """The names of modules that are served and built before it."""
        ...

    @property
    def options(self) -> Sequence[ModuleOption]:
        """The options that the module understands."""
        ...

    def build(self, host: ModuleHost) -> ModuleParts:
        """Build the parts that it adds to a server; called once for each server. It must return
        quickly, because the event loop waits for it."""
        ...
