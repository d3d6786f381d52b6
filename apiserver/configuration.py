"""What a server can be told: one frozen dataclass, the same for Python and the command line."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from inkube.apiserver.http import RequestRecord
from inkube.schemas import releases

MODULES = {
    "provisioning": ("provisioning.grafana.app",),
    "world": ("world.inkube.dev",),
    "porch": ("porch.kpt.dev", "config.porch.kpt.dev"),
}
"""Kinds that come with inkube and are none of Kubernetes', by the groups they are in."""
DEFAULT_MODULES = ("provisioning", "world")
_NEEDED = {"porch": ("world",)}
"""What a module needs beside it: packages lie in git, and offline there are scripted hosts only."""
LOCAL = Path("inkube.db")
"""Where the command line keeps everything unless it is told otherwise."""
_POSITIVE = ("event_ttl", "recheck_healthy", "recheck_unhealthy", "outside_timeout")
_NOT_NEGATIVE = (
    "retry_seconds", "max_repositories", "min_sync_interval", "job_history", "porch_sync_interval",
)  # fmt: skip
_CHOICES = {"porch_errors": ("document", "upstream"), "porch_functions": ("builtin", "skip")}
_SERVICE = re.compile(
    r"([a-z0-9-]+/[a-z0-9-]+)=(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9.-]+):([0-9]{1,5})", re.ASCII
)
_ORIGIN = re.compile(r"https?://[^/?#@\s]+", re.IGNORECASE)


class BadOption(ValueError):  # named as click names its own
    """A value that an option cannot have; `name` is its name in `Options`."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why}")
        self.name = name
        self.why = why


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of `APIServer` and, by the same names, of `inkube serve`. Raises BadOption."""

    host: str = "127.0.0.1"
    """The address to listen on; another than loopback's takes credentials."""
    port: int = 0
    """0 takes a free port."""
    kubernetes_version: str = ""
    """The version of Kubernetes that is served, such as `1.33`, `1.33.5` or `v1.33.5`; empty is
    the newest."""
    data: Path | None = None
    """The SQLite file; None keeps everything in memory."""
    database: str = ""
    """postgresql://… of a database that several servers share, in place of `data`."""
    snapshot: Any = None
    """What an in-memory server begins with: an `inkube.testing.Snapshot`, or the path of a file."""
    durable: bool = True
    """Whether an acknowledged write survives a power cut (`synchronous=FULL`)."""
    keep_history: bool = False
    """Whether every revision is kept; else what was replaced or deleted is forgotten after
    5 minutes or 100,000 revisions."""
    at: int | datetime | None = None
    """A revision, or a moment (with its time zone), at which `data` or `database` is shown: what
    was there then is served, and nothing is written."""
    replay: Path | None = None
    """A file of `inkube capture --follow`: what happened then happens again, in memory."""
    speed: float = 1.0
    """How much faster than it happened."""
    definitions: Sequence[Path | str | Mapping[str, Any]] = ()
    """CRDs and objects that are there from the start: files, folders, or objects themselves."""
    kinds: Sequence[Any] = ()
    """`inkube.kinds.KindModule`s: kinds that are served beside Kubernetes' own."""
    modules: str | Sequence[str] = "default"
    """Which of `MODULES` are served: `default` (all but Porch), `all`, `none`, or names. With none
    there are Kubernetes' kinds and those of `kinds` and `definitions` only."""
    aggregated: Mapping[str, Any] = field(default_factory=dict)
    """Aggregated API servers of this process: the name of an APIService, `v1.example.com`, and an
    `aiohttp.web.Application` or a coroutine function of aiohttp's requests."""
    controllers: bool = True
    """Whether controllers run that kube-controller-manager has elsewhere: without them namespaces
    stay terminating until somebody finalizes them, and owners' dependents stay. Kinds declared in
    Python are not looked after either, but for Porch's."""
    lease_duration: int = 15
    """Seconds without a sign of life after which another server on the same data runs the
    controllers."""
    workloads: Any = False
    """Whether workloads live: true, or an `inkube.Workloads`."""
    event_ttl: float = 3600.0
    """Seconds that events stay after they were last written."""
    offline: bool = False
    """Outside systems are those of the world's kinds only."""
    scenario: str = ""
    """How the scripted world is at the start; `inkube world list` names the scenarios."""
    recheck_healthy: float = 300.0
    """Seconds after which live checks look again at an object that they found healthy."""
    recheck_unhealthy: float = 60.0
    """The same for one that they found unhealthy."""
    outside_timeout: float = 10.0
    """At most so long one question to an outside system may take."""
    retry_seconds: float = 12.0
    """So long a failing outside service is asked again with back-off, before rechecks go on."""
    allow_private_hosts: bool = False
    """Whether live checks may reach addresses of private networks."""
    local_path_prefixes: Sequence[Path] = ()
    """Directories in which local paths of objects may lie."""
    max_repositories: int = 10
    """So many Repositories a namespace may have; 0 means no limit."""
    max_resources_per_repository: int = 0
    """So many resources the files of a Repository may declare; 0 means no limit."""
    min_sync_interval: int = 10
    """Seconds; shorter intervals of a sync are raised to it."""
    job_history: float = 600.0
    """Seconds that finished jobs of provisioning are kept."""
    porch_errors: str = "document"
    """How Porch's refusals are coded: as its documents say, or as the real server (`upstream`)."""
    porch_functions: str = "builtin"
    """What becomes of functions that are not built in: they fail, or are passed by (`skip`)."""
    porch_enforce_readiness: bool = False
    """Whether a package revision is published only with its readiness gates fulfilled."""
    porch_sync_interval: float = 0.0
    """Seconds between full syncs of a repository of packages; 0 means `recheck_healthy`."""
    github_api_url: str = "https://api.github.com"
    """Where GitHub is asked."""
    bitbucket_api_url: str = "https://api.bitbucket.org/2.0"
    """Where Bitbucket is asked."""
    token_auth_file: Path | None = None
    """CSV of users with bearer tokens: token,user,uid,"group1,group2"."""
    client_ca_file: Path | None = None
    """The authority, in PEM, of users with certificates."""
    tls: bool = False
    """Whether to serve TLS with a certificate made on the spot."""
    tls_cert_file: Path | None = None
    """A certificate of one's own, in PEM."""
    tls_private_key_file: Path | None = None
    """Its private key."""
    authorization_mode: str = "AlwaysAllow"
    """`AlwaysAllow` or `RBAC`."""
    service_account_issuer: Sequence[str] = ()
    """Who signs the tokens of service accounts, as they say; the first in new ones."""
    service_account_signing_key_file: Path | None = None
    """An EC or RSA key in PEM; without it there is one beside the data."""
    service_account_key_file: Sequence[Path] = ()
    """What their tokens are checked with: keys and certificates in PEM; none: the signing key."""
    api_audiences: Sequence[str] = ()
    """Whom their tokens are for when nobody says; none is the first issuer."""
    service_cluster_ip_range: str = "10.0.0.0/16"
    """Where the addresses of services are from."""
    advertise_address: str = ""
    """Where the service `kubernetes` leads; empty is the address listened on."""
    enable_admission_plugins: Sequence[str] = ()
    """Admission plugins that are asked beside the usual ones, by Kubernetes' names: ServiceAccount,
    which refuses pods whose account is not there and mounts tokens."""
    disable_admission_plugins: Sequence[str] = ()
    """Admission plugins that are not asked, by Kubernetes' names."""
    audit_log: Path | None = None
    """A file that audit events are appended to, one line of JSON each."""
    audit_policy_file: Path | None = None
    """An `audit.k8s.io/v1` Policy: which requests are told, and how much of them."""
    allow_origins: Sequence[str] = ()
    """Origins of web pages that may ask (CORS), such as http://localhost:3000; `*` is every one."""
    service_addresses: Sequence[str] = ()
    """Where Services are reached for webhooks, conversion and aggregated API servers:
    `NAMESPACE/NAME=HOST:PORT`. Others are by their EndpointSlices or Endpoints."""
    clock: Any = None
    """An `inkube.testing.Clock`; None is real time."""
    seed: int | None = None
    """Makes uids, generated names, times and revisions the same in every run that sends the same
    requests one after the other: each waits until the controllers have done what they had to."""
    services: dict[str, Any] = field(default_factory=dict)
    """Outside services for checks, by parameter name."""
    worker: Any = None
    """What makes this server one of several processes behind one port: a `workers.Worker`."""
    on_request: Callable[[RequestRecord], None] | None = None
    """Called with every finished request, for a fixture's log."""
    record_bodies: bool = False
    """Whether `on_request` is told what was sent and answered, too."""

    def __post_init__(self) -> None:
        """Refuse what can mean nothing."""
        if not 0 <= self.port <= 65535:
            raise BadOption("port", f"{self.port} is no port; ports are 0 to 65535, 0 a free one")
        for name in _POSITIVE:
            if not 0 < (value := getattr(self, name)) < math.inf:
                raise BadOption(name, f"{value} is no time; it takes seconds, more than 0")
        for name in _NOT_NEGATIVE:
            if not 0 <= (value := getattr(self, name)) < math.inf:
                raise BadOption(name, f"{value} is out of range; it takes 0 or more")
        for name, choices in _CHOICES.items():
            if (value := getattr(self, name)) not in choices:
                raise BadOption(name, f"{value!r} is none of {', '.join(choices)}")
        try:
            releases.parse(self.kubernetes_version)
        except ValueError as error:
            raise BadOption("kubernetes_version", str(error)) from None
        if self.scenario and "world" not in self.module_names:
            raise BadOption("scenario", "the kinds of the module world are not served")
        if self.lease_duration < 1:
            raise BadOption(
                "lease_duration", f"{self.lease_duration} is too short; it takes 1 second or more"
            )
        for text in self.service_addresses:
            found = _SERVICE.fullmatch(text)
            if found is None or not 0 < int(found[3]) < 65536:
                raise BadOption(
                    "service_addresses",
                    f"{text!r} is no NAMESPACE/NAME=HOST:PORT, such as system/hook=127.0.0.1:9443",
                )
        for origin in self.allow_origins:
            if origin != "*" and _ORIGIN.fullmatch(origin) is None:
                raise BadOption(
                    "allow_origins",
                    f"{origin!r} is no origin; one is a scheme, a host and a port, "
                    "such as http://localhost:3000, without a path; * is every one",
                )

    @property
    def release(self) -> releases.Release:
        """The release of Kubernetes that is served."""
        return releases.parse(self.kubernetes_version)

    @property
    def given_services(self) -> dict[str, str]:
        """`NAMESPACE/NAME` of the Services with an address that was given, and that `HOST:PORT`."""
        return dict(text.split("=", 1) for text in self.service_addresses)

    @property
    def asks_accounts(self) -> bool:
        """Whether the admission plugin ServiceAccount is asked."""
        name = "ServiceAccount"
        return name in self.enable_admission_plugins and name not in self.disable_admission_plugins

    @property
    def shows_the_past(self) -> bool:
        """Whether the state is that of a moment or a recording: whatever was done is part of it."""
        return self.at is not None or self.replay is not None

    @property
    def module_names(self) -> tuple[str, ...]:
        """The names in `modules` with what these need. Raises ValueError for others."""
        known = {"all": tuple(MODULES), "default": DEFAULT_MODULES, "none": ()}
        if isinstance(self.modules, str) and self.modules in known:
            return known[self.modules]
        given = self.modules.split(",") if isinstance(self.modules, str) else self.modules
        for name in given:
            if name not in MODULES:
                choices = ", ".join((*known, *MODULES))
                raise ValueError(f"there is no module {name!r}; there are {choices}")
        wanted = {*given, *(other for name in given for other in _NEEDED.get(name, ()))}
        return tuple(name for name in MODULES if name in wanted)

    @property
    def module_groups(self) -> tuple[str, ...]:
        """The groups of these modules."""
        return tuple(group for name in self.module_names for group in MODULES[name])
