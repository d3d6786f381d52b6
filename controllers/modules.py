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

The composition root builds the selected modules, each after the modules that it needs. It builds a
module at the first request for one of its groups, or at the start if `builds_at_start` is true. The
modules of inkube use this interface only.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from inkube import controllers
from inkube.controllers.client import Client
from inkube.controllers.core import Kind
from inkube.controllers.environment import Environment
from inkube.controllers.manager import Controller, Manager
from inkube.schemas.clock import Clock
from inkube.schemas.definitions import Definition
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object
from inkube.schemas.options import Option

ModuleOption = Option
"""The public name of an option of a module."""


class Counts(Protocol):
    """The numbers of requests that faults affected."""

    def counted(self, name: str) -> tuple[int, int, int] | None:
        """Return the numbers of requests that a fault matched, made fail, and holds now, or None
        for an unknown fault."""
        ...

    def listen(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Call `listener` with the name of every fault that matches or holds a request. Returns a
        function that ends this."""
        ...


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """The functions of a server for modules that do the work of other parts of a cluster."""

    client_as: Callable[[str], Client]
    """Field manager → the in-process client for its writes."""
    bind: Callable[[Object, str], Awaitable[None]]
    """Binds a pod to the node with a name, like POST to `binding`. Raises StatusError."""
    issue_token: Callable[[Object, Object], str]
    """Creates a token for a ServiceAccount, bound to a Secret, without an expiration time."""
    authority: Callable[[], str]
    """Returns the authority of the server's certificate, as PEM."""
    sign: Callable[[Object], str]
    """Returns the certificate for a CertificateSigningRequest, as base64 of PEM. Raises ValueError
    with the reason if the signer refuses the request."""
    find_kind: Callable[[str, str], Kind | None]
    """(apiVersion, kind) → the served kind, or None if it is not served now."""
    has_feature: Callable[[str], bool]
    """Feature gate of Kubernetes → whether it is on. Raises KeyError for an unknown one."""
    serve_metrics: Callable[[], None]
    """Serves metrics.k8s.io from now on, from the usage of `ModuleParts.pods`."""


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
    secrets: "controllers.SecretStore"
    """The store of `SecureValues`."""
    data: Path | None
    """The server's data file, in whose folder a module can store files; None in memory."""
    faults: Counts
    """The numbers of requests that each Fault of world.inkube.dev affected."""
    manager: Manager
    """Runs controllers, also controllers that the module adds and removes later."""
    server: ServerAccess
    """Functions of the server that need more than a client."""


async def _nothing_to_close() -> None:
    """Do nothing, because the module opened nothing."""


def _no_controllers(env: Environment) -> Sequence[Controller]:
    return ()


@dataclass(frozen=True, slots=True)
class SchemaKind:
    """A kind that is described by a schema instead of a model, with its static rules."""

    definition: Definition
    """Names, versions and schemas."""
    validate: Callable[[Object, Object | None], list[FieldError]] = lambda obj, old: []
    """(new object, old object or None) → the errors, on every write."""


class PodRunner(Protocol):
    """Runs the pods of a server, as the kubelets of a cluster."""

    @property
    def containers(self) -> Any:
        """Serves logs and commands of containers (`subresources.containers.Kubelet`), or None."""
        ...

    @property
    def usage(self) -> Any:
        """Measures the usage of pods (`subresources.metrics.Usage`), or None."""
        ...

    def runs(self, name: str) -> bool:
        """Return whether the component with this name runs, such as `kube-scheduler`."""
        ...


@dataclass(frozen=True, slots=True)
class ModuleParts:
    """The kinds, controllers and services that a module adds to one server."""

    kinds: "Sequence[controllers.KindModule[Any]]" = ()
    """Kinds, in the order in which they are served; all are in the module's `groups`."""
    schema_kinds: Sequence[SchemaKind] = ()
    """Kinds without a model; all are in the module's `groups`."""
    controllers: Callable[[Environment], Sequence[Controller]] = _no_controllers
    """Controllers in addition to those of the kinds. They run if the server runs controllers."""
    services: Mapping[str, Any] = field(default_factory=dict)
    """Services that checks receive by the name of a parameter, and other modules in
    `ModuleHost.services`."""
    close: Callable[[], Awaitable[None]] = _nothing_to_close
    """Awaited after the controllers have stopped."""
    pods: PodRunner | None = None
    """The part that runs pods. Only a module that is built at the start can have it."""
    replaces: Collection[str] = ()
    """The names of controllers of kube-controller-manager that the module runs or leaves out, so
    that the server does not run its own. Only of a module that is built at the start."""
    keeps_up: bool = False
    """Whether requests wait for the module's controllers: the first request until they are idle, a
    write for some milliseconds. Only of a module that is built at the start."""

    @property
    def needs_environment(self) -> bool:
        """Whether kinds or controllers of the module use the environment of checks."""
        return bool(self.kinds) or self.controllers is not _no_controllers


class Module(Protocol):
    """Kinds, controllers, services and options of a package, as an entry point of `inkube.modules`.

    The name of the entry point is the module's name in `inkube serve --modules`. The entry point is
    an object with these members, or a class or function without arguments that makes one. Without a
    package, `APIServer(modules=["default", Greenhouse()])` takes the object; its name is its
    attribute `name`, or the name of its class in lower case.

    Three more members are optional: `about`, `roles` and `builds_at_start`. `about` says in a few
    words what the kinds are for. `roles` is a sequence of ClusterRoles that a server with RBAC has.
    `builds_at_start` is true if the server builds the module at its start instead of at the first
    request for one of its groups. A module whose controllers work on kinds of other groups needs
    that.
    """

    @property
    def groups(self) -> Sequence[str]:
        """The API groups of the module's kinds. Discovery lists them without
        building the module."""
        ...

    @property
    def needs(self) -> Sequence[str]:
        """The names of modules that are served and built before this one."""
        ...

    @property
    def options(self) -> Sequence[Option]:
        """The options that the module has."""
        ...

    def build(self, host: ModuleHost) -> ModuleParts:
        """Return the parts that the module adds to a server. Called once for each server. It must
        return quickly, because the event loop waits for it."""
        ...
