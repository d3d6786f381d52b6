"""What a server can be told: one frozen dataclass, the same for Python and the command line."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inkube.apiserver.http.records import RequestRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of `APIServer` and, by the same names, of `inkube serve`."""

    host: str = "127.0.0.1"
    port: int = 0
    """0 takes a free port."""
    data: Path | None = None
    """The SQLite file; None keeps everything in memory."""
    durable: bool = True
    """Whether an acknowledged write survives a power cut (`synchronous=FULL`)."""
    definitions: Sequence[Path | str | Mapping[str, Any]] = ()
    """CRDs and objects that are there from the start: files, folders, or objects themselves."""
    kinds: Sequence[Any] = ()
    """`controllers.kinds.KindModule`s beside the built-in ones."""
    controllers: bool = True
    """Whether the built-in controllers run."""
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
