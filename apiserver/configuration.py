"""Options of a server: one frozen dataclass, the same for Python and the command line.

Each field contains the name, type, default, help, choices and group of an option
(`schemas.options`). The command line, the types of keyword arguments (`keywords`) and the reference
are made from them. The options of inkube's modules come from the descriptions of the modules.
"""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Unpack

from inkube.apiserver import modules as served
from inkube.apiserver.http import RequestRecord
from inkube.apiserver.keywords import OptionValues
from inkube.schemas import builtin, releases
from inkube.schemas.objects import Object
from inkube.schemas.options import Option, option, options_of

LOCAL = Path("inkube.db")
"""The default data file of the command line."""
_SERVICE = re.compile(r"[a-z0-9-]+/[a-z0-9-]+=(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9.-]+):([0-9]{1,5})")
_SERVICE_RANGE = "10.0.0.0/16"
_PORTS = re.compile(r"([0-9]{1,5})-([0-9]{1,5})")
_HOST = re.compile(r"[a-zA-Z0-9_]([a-zA-Z0-9_.-]{0,251}[a-zA-Z0-9_])?", re.ASCII)
_ORIGIN = re.compile(r"\*|https?://[^/?#@\s]+", re.IGNORECASE)
_METRIC_LABEL = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*,[a-zA-Z_][a-zA-Z0-9_]*")
_STRICT_TRANSPORT = re.compile(r"max-age=[^=;\s]*|includeSubDomains|preload")

ADDRESS = "Address"
DATA = "Data"
ACCESS = "Access"
CONTROLLERS = "Controllers and workloads"
MODULES = "Modules and outside systems"
LOGS = "Log and audit"
OTHER = "Other"
GROUPS = (ADDRESS, DATA, ACCESS, CONTROLLERS, MODULES, LOGS, OTHER)
"""Headings of `inkube serve --help`. An option without one is only for Python."""
_Loop = Literal["fast", "plain"]
_AuditMode = Literal["batch", "blocking", "blocking-strict"]


def _ports(text: str) -> range:
    """Return the ports of `FIRST-LAST`; none for other texts."""
    found = _PORTS.fullmatch(text)
    return range(int(found[1]), int(found[2]) + 1) if found else range(0)


def _is_service(text: str) -> bool:
    found = _SERVICE.fullmatch(text)
    return found is not None and 0 < int(found[2]) < 65536


def _truncates(destination: str) -> Any:
    return option(False, f"Whether large audit events lose their bodies {destination}.")


def _largest_event(backend: str) -> Any:
    enabled = f"audit_{backend}_truncate_enabled"
    return option(100 * 1024, f"Bytes of the largest event with `{enabled}`.", least=1)


class BadOption(ValueError):  # named as click names its own
    """An invalid value of an option. `name` is the name of the option in `Options`."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why}")
        self.name = name
        self.why = why


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The options of the server itself, without those of modules."""

    host: str = option(
        "127.0.0.1",
        "Address to listen on. Other addresses than loopback need credentials.",
        group=ADDRESS,
    )
    port: int = option(0, "Port to listen on; 0 takes a free port.", group=ADDRESS)
    kubernetes_version: str = option(
        "",
        "Kubernetes to serve, such as `1.33`, `1.33.5` or `v1.33.5`; empty is the newest.",
        group=ADDRESS,
        metavar="1.NN",
    )
    http: _Loop = option(
        "fast",
        "Loop for connections: a fast one, or aiohttp's own (`plain`). The fast one is used only "
        "if it was tested with the installed version of aiohttp. Responses are the same.",
        group=ADDRESS,
    )
    data: Path | None = option(
        None, "SQLite file for all data. None keeps everything in memory.", group=DATA
    )
    database: str = option(
        "",
        "postgresql://… of a database that several servers share, instead of a file.",
        group=DATA,
        metavar="URL",
    )
    snapshot: Any = option(
        None,
        "Start with this state; keep changes in memory only. An `inkube.testing.Snapshot`, or a "
        "file.",
        group=DATA,
    )
    durable: bool = option(
        True,
        "Whether a confirmed write survives a power failure (`synchronous=FULL`).",
        group=DATA,
        flag="--no-fsync",
        flag_help="Faster writes; a power failure can lose them.",
    )
    keep_history: bool = option(
        False,
        "Store replaced and deleted states forever. Otherwise, they are removed after 5 minutes or "
        "100,000 revisions.",
        group=DATA,
    )
    at: int | datetime | None = option(
        None,
        "Show the data at this revision or time; read-only. A time has a time zone.",
        group=DATA,
    )
    replay: Path | None = option(
        None, "Replay a file of inkube capture --follow, in memory.", group=DATA
    )
    speed: float = option(1.0, "Speed of `replay`; 10 is ten times as fast.", group=DATA, above=0)
    definitions: Sequence[Path | str | Mapping[str, Any]] = option(
        (), "CRDs and objects to load at the start: files, folders, or objects.", group=DATA
    )
    watch_definitions: bool = option(
        False, "Apply files of `definitions` again when they change.", group=DATA, flag="--watch"
    )
    prune_definitions: bool = option(
        False, "Delete objects that you remove from watched files.", group=DATA, flag="--prune"
    )
    kinds: Sequence[Any] = option(
        (), "`inkube.kinds.KindModule`s: kinds to serve in addition to those of Kubernetes."
    )
    modules: str | Sequence[str | served.DeclaredModule] = option(
        "default",
        "Additional kinds: `default` (provisioning and world), `all` (with porch and the modules "
        "of installed packages), `none`, or names. With `none`, there are only the kinds of "
        "Kubernetes, of `kinds` and of `definitions`. Names can be a list, or a text such as "
        "`default,greenhouse`. A list can also contain modules as objects.",
        group=MODULES,
        metavar="default|all|none|NAME,…",
    )
    module_options: Mapping[str, Any] = option({}, "Options of modules, by name.")
    aggregated: Mapping[str, Any] = option(
        {},
        "Aggregated API servers of this process: the name of an APIService, `v1.example.com`, and "
        "an `aiohttp.web.Application` or a coroutine function of aiohttp's requests.",
    )
    controllers: bool = option(
        True,
        "Whether to run controllers of kube-controller-manager. Without them, namespaces stay in "
        "Terminating until a client finalizes them, and dependents of deleted owners stay. "
        "Controllers of kinds declared in Python do not run either, except Porch's.",
        group=CONTROLLERS,
        flag="--no-controllers",
        flag_help="Do not run the controllers of kube-controller-manager.",
    )
    lease_duration: int = option(
        15,
        "Seconds without a renewal until another server on the same data runs the controllers.",
        group=CONTROLLERS,
        least=1,
    )
    workloads: Any = option(
        False,
        "Run Deployments, Jobs and so on, on simulated nodes. True, or an `inkube.Workloads`.",
        group=CONTROLLERS,
    )
    event_ttl: float = option(3600.0, "Seconds to keep an event after its last write.", above=0)
    hints: bool = option(
        False,
        "Write an Event about each of the first objects that wait for something that this server "
        "does not run, such as a scheduler.",
        group=CONTROLLERS,
    )
    recheck_healthy: float = option(
        300.0, "Seconds between live checks of a healthy object.", group=MODULES, above=0
    )
    recheck_unhealthy: float = option(
        60.0, "Seconds between live checks of an unhealthy object.", group=MODULES, above=0
    )
    retry_seconds: float = option(
        12.0,
        "Seconds in which a failed request to an outside system is repeated with back-off.",
        least=0,
    )
    token_auth_file: Path | None = option(
        None, 'Users with bearer tokens; CSV: token,user,uid,"group1,group2".', group=ACCESS
    )
    client_ca_file: Path | None = option(
        None, "Accept client certificates of this authority (PEM).", group=ACCESS
    )
    requestheader_client_ca_file: Path | None = option(
        None,
        "Accept users in headers from proxies with client certificates of this authority (PEM).",
    )
    requestheader_allowed_names: Sequence[str] = option(
        (), "Common names of these proxies; if empty, all of the authority."
    )
    requestheader_username_headers: Sequence[str] = option(
        ("X-Remote-User",), "Headers with the name of the user; the first one that is there."
    )
    requestheader_uid_headers: Sequence[str] = option((), "Headers with the uid of the user.")
    requestheader_group_headers: Sequence[str] = option(
        ("X-Remote-Group",), "Headers with groups of the user."
    )
    requestheader_extra_headers_prefix: Sequence[str] = option(
        ("X-Remote-Extra-",), "Prefixes of headers with other facts about the user."
    )
    tls: bool = option(False, "Serve TLS with a new certificate.", group=ACCESS)
    tls_cert_file: Path | None = option(
        None, "Serve TLS with this certificate (PEM).", group=ACCESS
    )
    tls_private_key_file: Path | None = option(
        None, "Private key of the certificate.", group=ACCESS
    )
    authorization_mode: str = option(
        "AlwaysAllow",
        "Authorizers in their order, such as Node,RBAC: ABAC, AlwaysAllow, AlwaysDeny, Node, RBAC. "
        "RBAC needs roles and bindings. AlwaysDeny admits only `system:masters`.",
        group=ACCESS,
        metavar="MODE,…",
    )
    authorization_config: Any = option(
        None,
        "Authorizers in their order, with webhooks. The file of an `apiserver.config.k8s.io` "
        "AuthorizationConfiguration, or the object itself.",
        group=ACCESS,
    )
    authorization_policy_file: Path | None = option(
        None, "Policies of the mode ABAC; a JSON object in each line.", group=ACCESS
    )
    authentication_token_webhook_config_file: Path | None = option(
        None, "Accept tokens that a webhook accepts. A kubeconfig names the webhook.", group=ACCESS
    )
    authentication_token_webhook_version: Literal["v1", "v1beta1"] = option(
        "v1", "Version of the TokenReviews of the webhook: v1 or v1beta1."
    )
    authentication_token_webhook_cache_ttl: float = option(
        120.0, "Seconds for which answers of the webhook are valid.", least=0
    )
    anonymous_auth: bool = option(
        True, "Whether requests without credentials are those of `system:anonymous` (RBAC)."
    )
    enable_bootstrap_token_auth: bool = option(
        False, "Whether Secrets `bootstrap-token-…` in `kube-system` are credentials."
    )
    authentication_config: Any = option(
        None,
        "Accept the tokens of JWT issuers, and limit anonymous requests to some paths. The file of "
        "an `apiserver.config.k8s.io` AuthenticationConfiguration, or the object itself.",
        group=ACCESS,
    )
    oidc_signing_algs: Sequence[str] = option(
        (), "Accepted algorithms of tokens of JWT issuers; if empty, all asymmetric ones."
    )
    tls_min_version: Literal["", "VersionTLS12", "VersionTLS13"] = option(
        "", "The oldest version of TLS that is accepted: VersionTLS12 or VersionTLS13."
    )
    tls_sni_cert_key: Sequence[str] = option(
        (),
        "Further certificates and keys (PEM) for clients that ask for a name: FILE,KEY for the "
        "names in the certificate, or FILE,KEY:NAME,… such as *.example.com. The server's own "
        "address is for clients that ask for no name.",
    )
    service_account_max_token_expiration: float = option(
        0.0, "Longest validity of service account tokens in seconds; 0 is no limit.", least=0
    )
    service_account_extend_token_expiration: bool = option(
        True,
        "Whether tokens that pods request for 3607 seconds are valid for a year, so that clients "
        "that read their token only once continue to work.",
    )
    service_account_jwks_uri: str = option(
        "", "The address of the keys in the OpenID configuration; if empty, that of the server."
    )
    service_account_issuer: Sequence[str] = option(
        (), "Accepted issuers of service account tokens; new tokens contain the first one."
    )
    service_account_signing_key_file: Path | None = option(
        None, "An EC or RSA key in PEM; by default, a key next to the data file."
    )
    service_account_key_file: Sequence[Path] = option(
        (),
        "Keys and certificates in PEM that verify service account tokens; default: the signing "
        "key.",
    )
    api_audiences: Sequence[str] = option(
        (), "Default audiences of service account tokens; if empty, the first issuer."
    )
    service_cluster_ip_range: str = option(
        _SERVICE_RANGE,
        "The range of service addresses, or one of each family with a comma between them; the "
        "first one has the default family.",
    )
    runtime_config: Sequence[str] = option(
        (),
        "Built-in versions and kinds that are not served, such as `batch/v1=false` or "
        "`apps/v1/deployments=false`.",
    )
    service_node_port_range: str = option(
        "30000-32767",
        "The range of node ports; the first and the last port.",
        check=_ports,
        expected="FIRST-LAST, such as 30000-32767",
    )
    max_requests_inflight: int = option(
        400, "Reads that run at a time; 0 means without a limit. Watches do not count.", least=0
    )
    max_mutating_requests_inflight: int = option(
        200, "Writes that run at a time; 0 means without a limit.", least=0
    )
    min_request_timeout: int = option(
        1800,
        "Watches that name no timeout end after this number of seconds to twice as many; 0 means "
        "never. Clients then watch again.",
        least=0,
    )
    enable_priority_and_fairness: bool = option(
        True,
        "Once there are flow schemas, requests share the places for reads and writes by them, and "
        "wait in their queues.",
    )
    advertise_address: str = option(
        "", "The endpoint of the service `kubernetes`; if empty, the address to listen on."
    )
    enable_admission_plugins: Sequence[str] = option(
        (),
        "Add plugins that are off by default, by the names of Kubernetes. ServiceAccount, which "
        "--workloads includes, rejects pods without an existing account and mounts tokens.",
        group=ACCESS,
        metavar="NAME,…",
    )
    disable_admission_plugins: Sequence[str] = option(
        (), "Admission plugins to disable, by the names of Kubernetes.", group=ACCESS,
        metavar="NAME,…",
    )  # fmt: skip
    admission_control_config_file: Path | None = option(
        None,
        "Configuration of admission plugins, such as the defaults of PodSecurity. An "
        "`apiserver.config.k8s.io/v1` AdmissionConfiguration.",
        group=ACCESS,
    )
    allow_privileged: bool = option(True, "Whether containers may be privileged.")
    default_not_ready_toleration_seconds: int = option(
        300, "Seconds that pods tolerate a node that is not ready, by default.", least=0
    )
    default_unreachable_toleration_seconds: int = option(
        300, "Seconds that pods tolerate a node that is unreachable, by default.", least=0
    )
    engine: _Loop = option(
        "fast",
        "Engine of writes: a fast one, or one without queues, uncommitted states, threads and a "
        "cache of patches (`plain`). Responses are the same.",
        group=OTHER,
    )
    pipelined_writes: bool = option(
        True,
        "Whether a write may use the uncommitted result of the previous write of the same object, "
        "so that both share a commit. Responses are the same; without it, concurrent writes are "
        "retried.",
    )
    patch_cache: bool = option(
        True,
        "Whether the server remembers patches that changed nothing, and answers them at once if a "
        "client repeats them. Responses are the same.",
    )
    audit_log: Path | None = option(
        None,
        "Append audit events to this file, one line of JSON each; `-` is standard output.",
        group=LOGS,
    )
    audit_log_format: Literal["json", "legacy"] = option(
        "json", "Form of audit events: JSON, or a line of text."
    )
    audit_log_maxsize: int = option(
        0, "Megabytes after which the audit log begins another file; 0 is no limit.", least=0
    )
    audit_log_maxbackup: int = option(
        0, "Full files of the audit log that are kept; 0 is no limit.", least=0
    )
    audit_log_maxage: int = option(
        0, "Days for which full files of the audit log are kept; 0 is no limit.", least=0
    )
    audit_log_compress: bool = option(
        False, "Whether full files of the audit log are compressed with gzip."
    )
    audit_log_mode: _AuditMode = option(
        "blocking", "With `blocking-strict`, a request fails if its first event cannot be written."
    )
    audit_log_truncate_enabled: bool = _truncates("in the audit log")
    audit_log_truncate_max_event_size: int = _largest_event("log")
    audit_policy_file: Path | None = option(
        None,
        "Policy of the audit log. An `audit.k8s.io/v1` Policy: which requests to log, with how "
        "much detail.",
        group=LOGS,
    )
    audit_webhook_config_file: Path | None = option(
        None, "Send audit events to a webhook. A kubeconfig names the webhook.", group=LOGS
    )
    audit_webhook_batch_max_wait: float = option(
        30.0, "Seconds after which audit events are sent to the webhook.", least=0
    )
    audit_webhook_batch_buffer_size: int = option(
        10_000, "Audit events that can wait for the webhook.", least=1
    )
    audit_webhook_batch_max_size: int = option(
        400, "Audit events that the webhook receives at a time.", least=1
    )
    audit_webhook_batch_throttle_enable: bool = option(
        True, "Whether batches for the webhook are limited for each second."
    )
    audit_webhook_batch_throttle_qps: float = option(
        10.0, "Batches for each second, with `audit_webhook_batch_throttle_enable`.", least=0
    )
    audit_webhook_batch_throttle_burst: int = option(
        15, "Batches that need not wait if there were fewer before.", least=1
    )
    audit_webhook_initial_backoff: float = option(
        10.0, "Seconds before audit events are sent again after a failure.", least=0
    )
    audit_webhook_mode: _AuditMode = option(
        "batch",
        "With `blocking`, requests wait until the webhook has received their events. With "
        "`blocking-strict`, they also fail if it did not receive the first one.",
    )
    audit_webhook_truncate_enabled: bool = _truncates("for the webhook")
    audit_webhook_truncate_max_event_size: int = _largest_event("webhook")
    allow_metric_labels: Mapping[str, str] = option(
        {},
        "Shown values of labels of metrics, such as `{'apiserver_request_total,code': '200,201'}`; "
        "other values are `unexpected`.",
        check=_METRIC_LABEL.fullmatch,
        expected="METRIC,LABEL, such as apiserver_request_total,code",
    )
    disabled_metrics: Sequence[str] = option((), "Names of metrics that `/metrics` does not show.")
    allow_origins: Sequence[str] = option(
        (),
        "Allow web pages of this origin (CORS), such as http://localhost:3000; `*` allows all.",
        group=ACCESS,
        flag="--allow-origin",
        check=_ORIGIN.fullmatch,
        expected="an origin; use scheme, host and port without a path, such as "
        "http://localhost:3000, or * for all origins",
    )
    cors_allowed_origins: Sequence[str] = option(
        (),
        "Allow web pages whose origin matches a regular expression, such as "
        "`//example\\.com(:|$)`.",
    )
    strict_transport_security_directives: Sequence[str] = option(
        (),
        "Directives of the header Strict-Transport-Security, which every response over TLS then "
        "has: `max-age=31536000`, `includeSubDomains`, `preload`.",
        check=_STRICT_TRANSPORT.fullmatch,
        expected="max-age=SECONDS, includeSubDomains or preload",
    )
    allow_hosts: Sequence[str] = option(
        (),
        "Host name of an open server in addition to localhost, such as that of a proxy. For "
        "example, the name of a service of Docker Compose whose proxy leads to it.",
        group=ACCESS,
        flag="--allow-host",
        metavar="NAME",
        check=_HOST.fullmatch,
        expected="a host name; write it without scheme and port",
    )
    service_addresses: Sequence[str] = option(
        (),
        "Address of a Service, for webhooks, conversion and aggregated API servers. Other Services "
        "use their EndpointSlices or Endpoints.",
        group=ACCESS,
        flag="--service-address",
        metavar="NAMESPACE/NAME=HOST:PORT",
        check=_is_service,
        expected="NAMESPACE/NAME=HOST:PORT, such as system/hook=127.0.0.1:9443",
    )
    clock: Any = option(None, "An `inkube.testing.Clock`; None is real time.")
    seed: int | None = option(
        None,
        "Make uids, generated names, times and revisions repeatable. That needs clients that send "
        "the same requests in the same order. Each request then waits until the controllers are "
        "idle.",
        group=OTHER,
    )
    services: dict[str, Any] = option(
        {}, "Outside services for checks, by the name of a parameter."
    )
    worker: Any = option(
        None, "A `workers.Worker`, if this server is one of several processes behind one port."
    )
    on_request: Callable[[RequestRecord], None] | None = option(
        None, "A function that is called with every finished request."
    )
    record_bodies: bool = option(False, "Whether `on_request` also receives both bodies.")


OWN: Mapping[str, Option] = {each.name: each for each in options_of(ServerOptions)}
"""The options of the server itself, by name."""


class Options(ServerOptions):
    """Options of `APIServer` and, with the same names, of `inkube serve`.

    They are those of the server, and those of inkube's modules, which are in `module_options`.
    Raises BadOption for values without a meaning, and TypeError for unknown names.
    """

    __slots__ = ()

    def __init__(self, **values: Unpack[OptionValues]) -> None:
        """Take the options by name. A path can be a text. Raises BadOption, TypeError."""
        own: dict[str, Any] = {**values}
        of_modules = {name: own.pop(name) for name in values if name not in OWN}
        if unknown := of_modules.keys() - served.own_options().keys():
            names = sorted((*OWN, *served.own_options()))
            near = difflib.get_close_matches(min(unknown), names, 1)
            advice = f"did you mean {near[0]}?" if near else f"the options are {', '.join(names)}"
            raise TypeError(f"there is no option {', '.join(sorted(unknown))}; {advice}")
        own["module_options"] = {**own.get("module_options", {}), **of_modules}
        for name, value in own.items():
            if isinstance(value, str) and OWN[name].type == Path | None:
                own[name] = Path(value)
        super().__init__(**own)
        self._check()

    def _check(self) -> None:
        """Reject values without a meaning."""
        for each in OWN.values():
            if problem := each.problem(getattr(self, each.name)):
                raise BadOption(each.name, problem)
        if not 0 <= self.port <= 65535:
            raise BadOption(
                "port", f"{self.port} is not a port; use 0 to 65535, where 0 takes a free port"
            )
        requests = self.max_requests_inflight + self.max_mutating_requests_inflight
        if self.enable_priority_and_fairness and not requests:
            raise BadOption(
                "max_requests_inflight",
                "with enable_priority_and_fairness, it and max_mutating_requests_inflight must add "
                "up to something positive",
            )
        if self.service_cluster_ip_range != _SERVICE_RANGE:
            try:
                builtin.ranges_of(self.service_cluster_ip_range)
            except ValueError as error:
                raise BadOption("service_cluster_ip_range", str(error)) from None
        try:
            releases.parse(self.kubernetes_version)
        except ValueError as error:
            raise BadOption("kubernetes_version", str(error)) from None
        self._check_module_options()
        if self.value_of("scenario") and "world" not in self.module_names:
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
        if self.speed != 1 and self.replay is None:
            raise BadOption("speed", "it works only with replay (--replay)")

    @property
    def release(self) -> releases.Release:
        """The release of Kubernetes that is served."""
        return releases.parse(self.kubernetes_version)

    @property
    def node_ports(self) -> range:
        """The node ports of services."""
        return _ports(self.service_node_port_range)

    @property
    def given_services(self) -> dict[str, str]:
        """The `HOST:PORT` of each Service in `service_addresses`, by `NAMESPACE/NAME`."""
        return dict(text.split("=", 1) for text in self.service_addresses)

    @property
    def requires_accounts(self) -> bool:
        """Whether the admission plugin ServiceAccount is enabled."""
        name = "ServiceAccount"
        return name in self.enable_admission_plugins and name not in self.disable_admission_plugins

    @property
    def shows_the_past(self) -> bool:
        """Whether the server shows an old state or a replay, in which controllers do not run."""
        return self.at is not None or self.replay is not None

    def _check_module_options(self) -> None:
        """Reject unknown modules, options that no module declares, and invalid values."""
        installed = dict(served.options(self.module_names))
        declared = {**served.own_options(), **installed}
        for name, value in self.module_options.items():
            if name in OWN or name not in declared:
                choices = ", ".join(sorted(installed.keys() - OWN.keys())) or "none"
                raise BadOption(
                    name, f"no served module has this option; the options are {choices}"
                )
            if problem := declared[name].problem(value):
                raise BadOption(name, problem)

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

    def value_of(self, name: str) -> Any:
        """Return the value of an option of inkube's modules. None if no installed module has it."""
        return self.module_options.get(name, served.own_options().get(name, Option(name)).default)

    def settings(self, module: served.DeclaredModule) -> dict[str, Any]:
        """Return the values of the options that a module declares, by name. A module can also
        declare options of the server and of other modules."""
        return {each.name: self._setting(each) for each in module.options}

    def _setting(self, declared: Option) -> Any:
        if declared.name in OWN:
            return getattr(self, declared.name)
        first = served.own_options().get(declared.name, declared)
        return self.module_options.get(declared.name, first.default)
