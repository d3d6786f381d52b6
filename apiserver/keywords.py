"""The options of `APIServer` as keyword arguments, for type checkers.

Made by tools/generate_modules.py from `configuration.ServerOptions` and the options of modules.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypedDict

from inkube.apiserver.http import RequestRecord
from inkube.apiserver.modules import DeclaredModule


class OptionValues(TypedDict, total=False):
    """The names and types of all options."""

    host: str
    port: int
    kubernetes_version: str
    http: Literal["fast", "plain"]
    data: Path | None
    database: str
    snapshot: Any
    durable: bool
    keep_history: bool
    at: int | datetime | None
    replay: Path | None
    speed: float
    definitions: Sequence[Path | str | Mapping[str, Any]]
    watch_definitions: bool
    prune_definitions: bool
    kinds: Sequence[Any]
    modules: str | Sequence[str | DeclaredModule]
    module_options: Mapping[str, Any]
    aggregated: Mapping[str, Any]
    controllers: bool
    lease_duration: int
    workloads: Any
    event_ttl: float
    hints: bool
    recheck_healthy: float
    recheck_unhealthy: float
    retry_seconds: float
    token_auth_file: Path | None
    client_ca_file: Path | None
    requestheader_client_ca_file: Path | None
    requestheader_allowed_names: Sequence[str]
    requestheader_username_headers: Sequence[str]
    requestheader_uid_headers: Sequence[str]
    requestheader_group_headers: Sequence[str]
    requestheader_extra_headers_prefix: Sequence[str]
    tls: bool
    tls_cert_file: Path | None
    tls_private_key_file: Path | None
    authorization_mode: str
    authorization_config: Any
    authorization_policy_file: Path | None
    authentication_token_webhook_config_file: Path | None
    authentication_token_webhook_version: Literal["v1", "v1beta1"]
    authentication_token_webhook_cache_ttl: float
    anonymous_auth: bool
    enable_bootstrap_token_auth: bool
    authentication_config: Any
    oidc_signing_algs: Sequence[str]
    tls_min_version: Literal["", "VersionTLS12", "VersionTLS13"]
    tls_sni_cert_key: Sequence[str]
    service_account_max_token_expiration: float
    service_account_extend_token_expiration: bool
    service_account_jwks_uri: str
    service_account_issuer: Sequence[str]
    service_account_signing_key_file: Path | None
    service_account_key_file: Sequence[Path]
    api_audiences: Sequence[str]
    service_cluster_ip_range: str
    runtime_config: Sequence[str]
    service_node_port_range: str
    max_requests_inflight: int
    max_mutating_requests_inflight: int
    min_request_timeout: int
    enable_priority_and_fairness: bool
    advertise_address: str
    enable_admission_plugins: Sequence[str]
    disable_admission_plugins: Sequence[str]
    admission_control_config_file: Path | None
    allow_privileged: bool
    default_not_ready_toleration_seconds: int
    default_unreachable_toleration_seconds: int
    engine: Literal["fast", "plain"]
    pipelined_writes: bool
    patch_cache: bool
    audit_log: Path | None
    audit_log_format: Literal["json", "legacy"]
    audit_log_maxsize: int
    audit_log_maxbackup: int
    audit_log_maxage: int
    audit_log_compress: bool
    audit_log_mode: Literal["batch", "blocking", "blocking-strict"]
    audit_log_truncate_enabled: bool
    audit_log_truncate_max_event_size: int
    audit_policy_file: Path | None
    audit_webhook_config_file: Path | None
    audit_webhook_batch_max_wait: float
    audit_webhook_batch_buffer_size: int
    audit_webhook_batch_max_size: int
    audit_webhook_batch_throttle_enable: bool
    audit_webhook_batch_throttle_qps: float
    audit_webhook_batch_throttle_burst: int
    audit_webhook_initial_backoff: float
    audit_webhook_mode: Literal["batch", "blocking", "blocking-strict"]
    audit_webhook_truncate_enabled: bool
    audit_webhook_truncate_max_event_size: int
    allow_metric_labels: Mapping[str, str]
    disabled_metrics: Sequence[str]
    allow_origins: Sequence[str]
    cors_allowed_origins: Sequence[str]
    strict_transport_security_directives: Sequence[str]
    allow_hosts: Sequence[str]
    service_addresses: Sequence[str]
    clock: Any
    seed: int | None
    services: dict[str, Any]
    worker: Any
    on_request: Callable[[RequestRecord], None] | None
    record_bodies: bool
    offline: bool
    allow_private_hosts: bool
    local_path_prefixes: Sequence[Path]
    outside_timeout: float
    github_api_url: str
    bitbucket_api_url: str
    max_repositories: int
    max_resources_per_repository: int
    min_sync_interval: int
    job_history: float
    scenario: str
    porch_errors: str
    porch_functions: str
    porch_enforce_readiness: bool
    porch_sync_interval: float
