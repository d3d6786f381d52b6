"""The flags of kube-apiserver as options of inkube, and the flags without an effect.

Follows pkg/controlplane/apiserver/options and cmd/kube-apiserver/app/options of Kubernetes 1.36.
"""

import ipaddress
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from inkube.apiserver.admission import names
from inkube.apiserver.envtest.flags import Arguments, Flag, FlagError
from inkube.schemas.golang import gotime

_BOOL, _TEXT = Flag("bool"), Flag("text")

SUPPORTED: Mapping[str, Flag] = {
    "admission-control-config-file": Flag("text", "Configuration of admission plugins."),
    "advertise-address": Flag("text", "Where the service kubernetes leads."),
    "api-audiences": Flag("list", "Whom tokens of service accounts are for."),
    "audit-log-path": Flag("text", "Append audit events to this file."),
    "audit-policy-file": Flag("text", "Which requests the audit log tells of."),
    "authorization-mode": Flag("list", "AlwaysAllow, RBAC; Node is taken for RBAC."),
    "bind-address": Flag("text", "Address to listen on."),
    "cert-dir": Flag("text", "Where apiserver.crt and apiserver.key are, or are put."),
    "client-ca-file": Flag("text", "Accept client certificates of this authority."),
    "default-not-ready-toleration-seconds": Flag("text", "Default toleration of pods."),
    "default-unreachable-toleration-seconds": Flag("text", "Default toleration of pods."),
    "disable-admission-plugins": Flag("list", "Admission plugins that are not asked."),
    "enable-admission-plugins": Flag("list", "Admission plugins that are off by default."),
    "etcd-servers": Flag("list", "Where the etcd of this folder listens."),
    "event-ttl": Flag("text", "How long events stay."),
    "help": Flag("bool", "Show this."),
    "kubernetes-version": Flag("text", "The version to serve, such as 1.33; the newest."),
    "secure-port": Flag("text", "Port to listen on."),
    "service-account-issuer": Flag("text", "Who signs tokens of service accounts."),
    "service-account-key-file": Flag("text", "What those tokens are checked with."),
    "service-account-signing-key-file": Flag("text", "What those tokens are signed with."),
    "service-cluster-ip-range": Flag("list", "Where addresses of services are from."),
    "tls-cert-file": Flag("text", "Certificate to serve."),
    "tls-private-key-file": Flag("text", "Its key."),
    "token-auth-file": Flag("text", "CSV: token,user,uid,groups."),
    "version": Flag("bool", "Show the version of Kubernetes."),
}
"""Flags with the same effect as in kube-apiserver."""

HARMLESS: Mapping[str, Flag] = {
    "allow-privileged": _BOOL,  # inkube never refuses a privileged pod
    "endpoint-reconciler-type": _TEXT,
    "v": _TEXT,
}
"""Flags whose usual values have no effect, because inkube always behaves like that."""

IGNORED_SWITCHES = (
    "aggregator-reject-forwarding-redirect", "anonymous-auth", "audit-log-batch-throttle-enable",
    "audit-log-compress", "audit-log-truncate-enabled", "audit-webhook-batch-throttle-enable",
    "audit-webhook-truncate-enabled", "contention-profiling", "coordinated-leadership-election",
    "emulation-forward-compatible", "enable-aggregator-routing", "enable-bootstrap-token-auth",
    "enable-garbage-collector", "enable-logs-handler", "enable-priority-and-fairness",
    "log-json-split-stream", "log-text-split-stream", "permit-address-sharing",
    "permit-port-sharing", "profiling", "runtime-config-emulation-forward-compatible",
    "service-account-extend-token-expiration", "service-account-lookup", "show-hidden-metrics",
    "strict-transport-security", "watch-cache",
)  # fmt: skip
"""Ignored flags without a value."""

IGNORED_OPTIONS = (
    "audit-log-format", "audit-log-maxage", "audit-log-maxbackup",
    "audit-log-maxsize", "audit-log-mode", "authentication-config",
    "authentication-token-webhook-config-file", "authorization-config",
    "authorization-webhook-config-file", "cors-allowed-origins", "default-watch-cache-size",
    "delete-collection-workers", "egress-selector-config-file", "encryption-provider-config",
    "etcd-cafile", "etcd-certfile", "etcd-keyfile", "etcd-prefix", "etcd-compaction-interval",
    "external-hostname", "feature-gates", "kubelet-certificate-authority",
    "kubelet-client-certificate", "kubelet-client-key", "kubelet-preferred-address-types",
    "max-mutating-requests-inflight", "max-requests-inflight", "min-request-timeout",
    "oidc-client-id", "oidc-issuer-url", "proxy-client-cert-file", "proxy-client-key-file",
    "request-timeout", "requestheader-allowed-names", "requestheader-client-ca-file",
    "requestheader-extra-headers-prefix", "requestheader-group-headers",
    "requestheader-username-headers", "runtime-config", "service-account-jwks-uri",
    "service-account-max-token-expiration", "service-node-port-range", "shutdown-delay-duration",
    "storage-backend", "storage-media-type", "tls-cipher-suites", "tls-min-version",
    "tls-sni-cert-key", "tracing-config-file", "vmodule", "watch-cache-sizes",
)  # fmt: skip
"""Ignored flags with a value."""

FLAGS: Mapping[str, Flag] = {
    **SUPPORTED,
    **HARMLESS,
    **dict.fromkeys(IGNORED_SWITCHES, Flag("bool", "(no meaning here)")),
    **dict.fromkeys(IGNORED_OPTIONS, Flag("text", "(no meaning here)")),
}

_MODES = ("ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook")


def options(arguments: Arguments) -> dict[str, Any]:
    """Return the flags as options of `APIServer`, without data and certificates. Raises
    FlagError."""
    result: dict[str, Any] = {
        "host": arguments.last("bind-address", "0.0.0.0"),  # noqa: S104 - the reference's default
        "port": _port(arguments.last("secure-port", "6443")),
        "advertise_address": arguments.last("advertise-address"),
        "authorization_mode": _mode(arguments),
        "service_cluster_ip_range": _range(arguments),
        "service_account_issuer": tuple(arguments.all("service-account-issuer")),
        "service_account_key_file": tuple(map(Path, arguments.all("service-account-key-file"))),
        "api_audiences": tuple(arguments.all("api-audiences")),
        "enable_admission_plugins": _plugins(arguments, "enable"),
        "disable_admission_plugins": _plugins(arguments, "disable"),
        "kubernetes_version": arguments.last("kubernetes-version"),
        "controllers": False,  # kube-apiserver runs no controllers of kube-controller-manager
        "modules": "none",
    }
    for flag, option in (
        ("admission-control-config-file", "admission_control_config_file"),
        ("audit-log-path", "audit_log"),
        ("audit-policy-file", "audit_policy_file"),
        ("client-ca-file", "client_ca_file"),
        ("service-account-signing-key-file", "service_account_signing_key_file"),
        ("token-auth-file", "token_auth_file"),
    ):
        if arguments.last(flag):
            result[option] = Path(arguments.last(flag))
    for condition in ("not-ready", "unreachable"):
        flag = f"default-{condition}-toleration-seconds"
        if arguments.last(flag):
            result[flag.replace("-", "_")] = _integer(flag, arguments.last(flag))
    if arguments.last("event-ttl"):
        result["event_ttl"] = _seconds(arguments.last("event-ttl"))
    return result


def ignored(arguments: Arguments) -> Iterator[str]:
    """Yield the given flags that are ignored."""
    for name in arguments.values:
        if name not in SUPPORTED and name not in HARMLESS:
            yield name


def _plugins(arguments: Arguments, verb: str) -> tuple[str, ...]:
    """Return the plugins of a flag. Error texts are those of
    apiserver/pkg/server/options/admission.go, Validate."""
    flag = f"{verb}-admission-plugins"
    plugins = tuple(filter(None, arguments.all(flag)))
    for name in plugins:
        if name not in names.KNOWN:
            raise FlagError(f'{flag} plugin "{name}" is unknown')
    return plugins


def _mode(arguments: Arguments) -> str:
    modes = arguments.all("authorization-mode") or ["AlwaysAllow"]
    for mode in modes:
        if mode not in _MODES:
            raise FlagError(f'authorization-mode "{mode}" is not a valid mode')
    if "AlwaysAllow" in modes:
        return "AlwaysAllow"
    others = [mode for mode in modes if mode not in ("Node", "RBAC")]
    if others or "RBAC" not in modes:
        joined = ",".join(modes)
        raise FlagError(f"authorization-mode {joined}: there are AlwaysAllow and RBAC here")
    return "RBAC"


def _range(arguments: Arguments) -> str:
    ranges = [each for each in arguments.all("service-cluster-ip-range") if each]
    if not ranges:
        return "10.0.0.0/24"
    for each in ranges:
        try:
            network = ipaddress.ip_network(each, strict=False)
        except ValueError as error:
            raise FlagError(f"service-cluster-ip-range: {error}") from error
        if network.version == 4:
            return str(network)
    raise FlagError("service-cluster-ip-range: there are addresses of IPv4 only here")


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise FlagError(f"--secure-port {text} must be between 0 and 65535, inclusive")
    return int(text)


def _integer(flag: str, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError as error:
        raise FlagError(
            f'invalid argument "{text}" for "--{flag}" flag: strconv.ParseInt: parsing "{text}": '
            "invalid syntax"
        ) from error


def _seconds(text: str) -> float:
    try:
        return gotime.parse_duration(text) / gotime.SECOND
    except ValueError as error:
        raise FlagError(f'invalid argument "{text}" for "--event-ttl" flag: {error}') from error
