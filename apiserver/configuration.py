"""What a server can be told: one frozen dataclass, the same for Python and the command line."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inkube.apiserver.http.records import RequestRecord

MODULES = {
    "provisioning": ("provisioning.grafana.app",),
    "world": ("world.inkube.dev",),
    "porch": ("porch.kpt.dev", "config.porch.kpt.dev"),
}
"""Kinds that come with inkube and are none of Kubernetes', by the groups they are in."""
DEFAULT_MODULES = ("provisioning", "world")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of `APIServer` and, by the same names, of `inkube serve`."""

    host: str = "127.0.0.1"
    port: int = 0
    """0 takes a free port."""
    data: Path | None = None
    """The SQLite file; None keeps everything in memory."""
    database: str = ""
    """postgresql://… of a database that several servers share, in place of `data`."""
    durable: bool = True
    """Whether an acknowledged write survives a power cut (`synchronous=FULL`)."""
    definitions: Sequence[Path | str | Mapping[str, Any]] = ()
    """CRDs and objects that are there from the start: files, folders, or objects themselves."""
    kinds: Sequence[Any] = ()
    """`controllers.kinds.KindModule`s beside the built-in ones."""
    modules: str | Sequence[str] = "default"
    """Which of `MODULES` are served: `default` (all but Porch), `all`, `none`, or names. With none
    there are Kubernetes' kinds and those of `kinds` and `definitions` only."""
    controllers: bool = True
    """Whether the built-in controllers run."""
    workloads: Any = False
    """Whether workloads live: true, or a `controllers.workloads.Workloads`."""
    event_ttl: float = 3600.0
    """Seconds that events stay after they were last written."""
    offline: bool = False
    """Outside systems are those of the world's kinds only."""
    recheck_healthy: float = 300.0
    recheck_unhealthy: float = 60.0
    outside_timeout: float = 10.0
    """At most so long one question to an outside system may take."""
    retry_seconds: float = 10.0
    """At most so long one reconcile asks a failing outside service again before it reports it."""
    allow_private_hosts: bool = False
    local_path_prefixes: Sequence[Path] = ()
    max_repositories: int = 10
    """So many Repositories a namespace may have; 0 means no limit."""
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
    token_auth_file: Path | None = None
    client_ca_file: Path | None = None
    tls: bool = False
    tls_cert_file: Path | None = None
    tls_private_key_file: Path | None = None
    authorization_mode: str = "AlwaysAllow"
    audit_log: Path | None = None
    """A file that audit events are appended to, one line of JSON each."""
    audit_policy_file: Path | None = None
    """An `audit.k8s.io/v1` Policy: which requests are told, and how much of them."""
    allow_origins: Sequence[str] = ()
    clock: Any = None
    """A `schemas.clock.Clock`; None is real time."""
    services: dict[str, Any] = field(default_factory=dict)
    """Outside services for checks, by parameter name."""
    on_request: Callable[[RequestRecord], None] | None = None
    """Called with every finished request, for a fixture's log."""

    @property
    def module_names(self) -> tuple[str, ...]:
        """The names in `modules`. Raises ValueError for one that there is not."""
        known = {"all": tuple(MODULES), "default": DEFAULT_MODULES, "none": ()}
        if isinstance(self.modules, str) and self.modules in known:
            return known[self.modules]
        given = self.modules.split(",") if isinstance(self.modules, str) else self.modules
        for name in given:
            if name not in MODULES:
                choices = ", ".join((*known, *MODULES))
                raise ValueError(f"there is no module {name!r}; there are {choices}")
        return tuple(name for name in MODULES if name in given)

    @property
    def module_groups(self) -> tuple[str, ...]:
        """The groups of these modules."""
        return tuple(group for name in self.module_names for group in MODULES[name])
