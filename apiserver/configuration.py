"""Options of a server: one frozen dataclass, the same for Python and the command line."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_origin

from inkube.apiserver import modules as served
from inkube.apiserver.http import RequestRecord
from inkube.schemas import releases
from inkube.schemas.objects import Object

LOCAL = Path("inkube.db")
"""The default data file of the command line."""
_POSITIVE = ("event_ttl", "recheck_healthy", "recheck_unhealthy", "outside_timeout")
_NOT_NEGATIVE = (
    "retry_seconds", "max_repositories", "min_sync_interval", "job_history", "porch_sync_interval",
)  # fmt: skip
_SIMPLE: Mapping[Any, tuple[Any, str]] = {
    bool: (bool, "True or False"),
    float: ((int, float), "a number"),
    int: (int, "a whole number"),
    str: (str, "a text"),
}
"""Annotation → the types of its values, and their name."""
_CHOICES = {
    "http": ("fast", "plain"),
    "porch_errors": ("document", "upstream"),
    "porch_functions": ("builtin", "skip"),
}
_SERVICE = re.compile(
    r"([a-z0-9-]+/[a-z0-9-]+)=(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9.-]+):([0-9]{1,5})", re.ASCII
)
_HOST = re.compile(r"[a-zA-Z0-9_]([a-zA-Z0-9_.-]{0,251}[a-zA-Z0-9_])?", re.ASCII)
_ORIGIN = re.compile(r"https?://[^/?#@\s]+", re.IGNORECASE)


class BadOption(ValueError):  # named as click names its own
    """An invalid value of an option. `name` is the name of the option in `Options`."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why}")
        self.name = name
        self.why = why


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of `APIServer` and, with the same names, of `inkube serve`.

    Raises BadOption for values without a meaning."""

    host: str = "127.0.0.1"
    """The address to listen on; other addresses than loopback need credentials."""
    port: int = 0
    """The port to listen on; 0 takes a free port."""
    kubernetes_version: str = ""
    """The version of Kubernetes to serve, such as `1.33`, `1.33.5` or `v1.33.5`; empty is
    the newest."""
    http: Literal["fast", "plain"] = "fast"
    """The loop for connections: a fast one, if it was tested with the installed version of
    aiohttp, or aiohttp's own (`plain`). Responses are the same."""
    data: Path | None = None
    """The SQLite file; None keeps everything in memory."""
    database: str = ""
    """postgresql://… of a database that several servers share, instead of `data`."""
    snapshot: Any = None
    """The initial state of a server in memory: an `inkube.testing.Snapshot`, or a file."""
    durable: bool = True
    """Whether a confirmed write survives a power failure (`synchronous=FULL`)."""
    keep_history: bool = False
    """Whether to store every revision; otherwise, replaced and deleted states are removed after
    5 minutes or 100,000 revisions."""
    at: int | datetime | None = None
    """A revision, or a time with a time zone: serve `data` or `database` as it was, read-only."""
    replay: Path | None = None
    """A file of `inkube capture --follow`: replay its changes, in memory."""
    speed: float = 1.0
    """The speed of `replay`; 10 is ten times as fast."""
    definitions: Sequence[Path | str | Mapping[str, Any]] = ()
    """CRDs and objects to load at the start: files, folders, or objects."""
    watch_definitions: bool = False
    """Whether to apply the files of `definitions` again when they change."""
    prune_definitions: bool = False
    """Whether to delete objects that you remove from files which are watched."""
    kinds: Sequence[Any] = ()
    """`inkube.kinds.KindModule`s: kinds to serve in addition to those of Kubernetes."""
    modules: str | Sequence[str] = "default"
    """The modules to serve: `default` (provisioning and world), `all` (with porch and the modules
    of installed packages), `none`, names, or a list such as `default,greenhouse`. With `none`,
    there are only the kinds of Kubernetes, of `kinds` and of `definitions`."""
    module_options: Mapping[str, Any] = field(default_factory=dict)
    """Options that modules of installed packages declare, by name."""
    aggregated: Mapping[str, Any] = field(default_factory=dict)
    """Aggregated API servers of this process: the name of an APIService, `v1.example.com`, and an
    `aiohttp.web.Application` or a coroutine function of aiohttp's requests."""
    controllers: bool = True
    """Whether to run controllers of kube-controller-manager. Without them, namespaces stay in
    Terminating until a client finalizes them, and dependents of deleted owners stay. Controllers
    of kinds declared in Python do not run either, except Porch's."""
    lease_duration: int = 15
    """Seconds without a renewal until another server on the same data runs the controllers."""
    workloads: Any = False
    """Whether to simulate workloads: true, or an `inkube.Workloads`."""
    event_ttl: float = 3600.0
    """Seconds to keep an event after its last write."""
    offline: bool = False
    """Whether to use scripted outside systems only."""
    scenario: str = ""
    """The scenario of the scripted world at the start; `inkube world list` lists them."""
    recheck_healthy: float = 300.0
    """Seconds between live checks of a healthy object."""
    recheck_unhealthy: float = 60.0
    """Seconds between live checks of an unhealthy object."""
    outside_timeout: float = 10.0
    """Timeout of one request to an outside system, in seconds."""
    retry_seconds: float = 12.0
    """Seconds in which a failed request to an outside system is repeated with back-off."""
    allow_private_hosts: bool = False
    """Whether live checks can use addresses of private networks."""
    local_path_prefixes: Sequence[Path] = ()
    """Folders that local paths in objects can point into."""
    max_repositories: int = 10
    """Limit of Repositories per namespace; 0 means no limit."""
    max_resources_per_repository: int = 0
    """Limit of resources in the files of a Repository; 0 means no limit."""
    min_sync_interval: int = 10
    """The shortest sync interval, in seconds; shorter ones are raised."""
    job_history: float = 600.0
    """Seconds to keep finished jobs of provisioning."""
    porch_errors: str = "document"
    """Status codes of Porch's errors: by its documents, or by the real server (`upstream`)."""
    porch_functions: str = "builtin"
    """Whether functions that are not built in fail, or are skipped (`skip`)."""
    porch_enforce_readiness: bool = False
    """Whether to publish a package revision only if its readiness gates are fulfilled."""
    porch_sync_interval: float = 0.0
    """Seconds between full syncs of a repository of packages; 0 means `recheck_healthy`."""
    github_api_url: str = "https://api.github.com"
    """The URL of GitHub's API."""
    bitbucket_api_url: str = "https://api.bitbucket.org/2.0"
    """The URL of Bitbucket's API."""
    token_auth_file: Path | None = None
    """Users with bearer tokens; CSV: token,user,uid,"group1,group2"."""
    client_ca_file: Path | None = None
    """The authority of client certificates, in PEM."""
    tls: bool = False
    """Whether to serve TLS with a new certificate."""
    tls_cert_file: Path | None = None
    """The certificate of the server, in PEM."""
    tls_private_key_file: Path | None = None
    """Its private key."""
    authorization_mode: str = "AlwaysAllow"
    """`AlwaysAllow` or `RBAC`."""
    service_account_issuer: Sequence[str] = ()
    """Accepted issuers of service account tokens; new tokens contain the first one."""
    service_account_signing_key_file: Path | None = None
    """An EC or RSA key in PEM; by default, a key next to the data file."""
    service_account_key_file: Sequence[Path] = ()
    """Keys and certificates in PEM that verify service account tokens; default: the signing key."""
    api_audiences: Sequence[str] = ()
    """Default audiences of service account tokens; if empty, the first issuer."""
    service_cluster_ip_range: str = "10.0.0.0/16"
    """The range of service addresses."""
    advertise_address: str = ""
    """The endpoint of the service `kubernetes`; if empty, the address to listen on."""
    enable_admission_plugins: Sequence[str] = ()
    """Additional admission plugins, by the names of Kubernetes: ServiceAccount, which rejects pods
    without an existing account and mounts tokens."""
    disable_admission_plugins: Sequence[str] = ()
    """Admission plugins to disable, by the names of Kubernetes."""
    pipelined_writes: bool = True
    """Whether a write may use the uncommitted result of the previous write of the same object, so
    that both share a commit. Responses are the same; without it, concurrent writes are retried."""
    patch_cache: bool = True
    """Whether the server remembers patches that changed nothing, and answers them at once if a
    client repeats them. Responses are the same."""
    audit_log: Path | None = None
    """The file for audit events, one line of JSON each."""
    audit_policy_file: Path | None = None
    """An `audit.k8s.io/v1` Policy: which requests to log, with how much detail."""
    allow_origins: Sequence[str] = ()
    """Origins of web pages to allow (CORS), such as http://localhost:3000; `*` allows all."""
    allow_hosts: Sequence[str] = ()
    """Names of an open server in addition to those of loopback, such as the name of a
    service of Docker Compose whose proxy leads to it."""
    service_addresses: Sequence[str] = ()
    """Addresses of Services of webhooks, conversion and aggregated API servers:
    `NAMESPACE/NAME=HOST:PORT`. Other Services use their EndpointSlices or Endpoints."""
    clock: Any = None
    """An `inkube.testing.Clock`; None is real time."""
    seed: int | None = None
    """Makes uids, generated names, times and revisions repeatable, if clients send the same
    requests in the same order. Each request then waits until the controllers are idle."""
    services: dict[str, Any] = field(default_factory=dict)
    """Outside services for checks, by the name of a parameter."""
    worker: Any = None
    """A `workers.Worker`, if this server is one of several processes behind one port."""
    on_request: Callable[[RequestRecord], None] | None = None
    """A function that is called with every finished request."""
    record_bodies: bool = False
    """Whether `on_request` also receives both bodies."""

    def __post_init__(self) -> None:
        """Reject values without a meaning."""
        self._check_types()
        if not 0 <= self.port <= 65535:
            raise BadOption(
                "port", f"{self.port} is not a port; use 0 to 65535, where 0 takes a free port"
            )
        for name in _POSITIVE:
            if not 0 < (value := getattr(self, name)) < math.inf:
                raise BadOption(name, f"{value} is not a duration; use a number of seconds above 0")
        for name in _NOT_NEGATIVE:
            if not 0 <= (value := getattr(self, name)) < math.inf:
                raise BadOption(name, f"{value} is out of range; use 0 or more")
        for name, choices in _CHOICES.items():
            if (value := getattr(self, name)) not in choices:
                raise BadOption(name, f"{value!r} is not one of {', '.join(choices)}")
        try:
            releases.parse(self.kubernetes_version)
        except ValueError as error:
            raise BadOption("kubernetes_version", str(error)) from None
        self._check_module_options()
        if self.scenario and "world" not in self.module_names:
            raise BadOption(
                "scenario", "it needs the module world; add world to modules (--modules)"
            )
        if self.watch_definitions and not self.definitions:
            raise BadOption(
                "watch_definitions",
                "there are no files; name some with definitions (--definitions)",
            )
        if self.watch_definitions and self.shows_the_past:
            raise BadOption(
                "watch_definitions", "definitions cannot change on a server with at or replay"
            )
        if self.prune_definitions and not self.watch_definitions:
            raise BadOption("prune_definitions", "it works only with watch_definitions (--watch)")
        if self.lease_duration < 1:
            raise BadOption(
                "lease_duration", f"{self.lease_duration} is too short; use 1 second or more"
            )
        for text in self.service_addresses:
            found = _SERVICE.fullmatch(text)
            if found is None or not 0 < int(found[3]) < 65536:
                raise BadOption(
                    "service_addresses",
                    f"{text!r} is not NAMESPACE/NAME=HOST:PORT, such as system/hook=127.0.0.1:9443",
                )
        for origin in self.allow_origins:
            if origin != "*" and _ORIGIN.fullmatch(origin) is None:
                raise BadOption(
                    "allow_origins",
                    f"{origin!r} is not an origin; use scheme, host and port without a path, "
                    "such as http://localhost:3000, or * for all origins",
                )

        for host in self.allow_hosts:
            if _HOST.fullmatch(host) is None:
                raise BadOption(
                    "allow_hosts", f"{host!r} is not a host name; write it without scheme and port"
                )

    def _check_types(self) -> None:
        for name, (types, text) in _SIMPLE_OPTIONS.items():
            value = getattr(self, name)
            if not isinstance(value, types):
                raise BadOption(name, f"{value!r} is not {text}")
        for name in _LISTS:
            value = getattr(self, name)
            if isinstance(value, str | Path):
                raise BadOption(name, f"{str(value)!r} is a single value; use a list")

    @property
    def release(self) -> releases.Release:
        """The release of Kubernetes that is served."""
        return releases.parse(self.kubernetes_version)

    @property
    def given_services(self) -> dict[str, str]:
        """The `HOST:PORT` of each Service in `service_addresses`, by `NAMESPACE/NAME`."""
        return dict(text.split("=", 1) for text in self.service_addresses)

    @property
    def asks_accounts(self) -> bool:
        """Whether the admission plugin ServiceAccount is enabled."""
        name = "ServiceAccount"
        return name in self.enable_admission_plugins and name not in self.disable_admission_plugins

    @property
    def shows_the_past(self) -> bool:
        """Whether the server shows an old state or a replay, in which controllers do not run."""
        return self.at is not None or self.replay is not None

    def _check_module_options(self) -> None:
        """Reject unknown modules, options that no served module declares, and invalid values."""
        names = self.module_names
        if not self.module_options:
            return
        own = type(self).__dataclass_fields__
        declared = {name: each for name, each in served.options(names) if name not in own}
        for name, value in self.module_options.items():
            if name not in declared:
                choices = ", ".join(sorted(declared)) or "none"
                raise BadOption(
                    name, f"no served module has this option; the options are {choices}"
                )
            if (choices := declared[name].choices) and value not in choices:
                raise BadOption(name, f"{value!r} is not one of {', '.join(choices)}")

    @property
    def module_names(self) -> tuple[str, ...]:
        """The names of the modules to serve, each after the modules that it needs; those that
        options select are first.

        Raises BadOption for unknown modules and for packages that cannot be loaded."""
        selected = [name for name in served.OF_OPTIONS if getattr(self, name)]
        try:
            return (*selected, *served.selected(self.modules))
        except ValueError as error:
            raise BadOption("modules", str(error)) from error

    @property
    def start_modules(self) -> tuple[str, ...]:
        """Those of `module_names` that are built at the start."""
        return served.at_start(self.module_names)

    @property
    def late_modules(self) -> tuple[str, ...]:
        """Those of `module_names` that are built at the first request for one of their groups."""
        early = self.start_modules
        return tuple(name for name in self.module_names if name not in early)

    @property
    def module_groups(self) -> tuple[str, ...]:
        """The API groups of `late_modules`."""
        return served.groups(self.late_modules)

    @property
    def module_roles(self) -> list[Object]:
        """The ClusterRoles of all modules, which a server with RBAC has."""
        return served.roles(self.module_names)

    def settings(self, module: served.DeclaredModule) -> dict[str, Any]:
        """The values of the options that a module declares, by name: from `module_options`, else
        the server's option of that name, else the default."""
        own = type(self).__dataclass_fields__
        return {
            each.name: self.module_options.get(
                each.name, getattr(self, each.name) if each.name in own else each.default
            )
            for each in module.options
        }


# read once: every server of a test checks its options several times
_SIMPLE_OPTIONS = {
    each.name: _SIMPLE[each.type] for each in fields(Options) if each.type in _SIMPLE
}
_LISTS = tuple(each.name for each in fields(Options) if get_origin(each.type) is Sequence)
