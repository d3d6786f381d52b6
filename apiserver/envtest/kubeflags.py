"""The flags of kube-apiserver as options of inkube, and the flags without an effect.

Every flag works, or ends the start, or a line says that it has no effect: because that is harmless,
or because it is not supported.

Follows pkg/controlplane/apiserver/options and cmd/kube-apiserver/app/options of Kubernetes 1.36.
"""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from inkube.apiserver import auth
from inkube.apiserver.admission import names
from inkube.apiserver.envtest import auditflags, flags, metricflags
from inkube.apiserver.envtest.flags import Arguments, Flag, FlagError
from inkube.schemas import builtin, releases
from inkube.schemas.golang import gotime

_TLS = {"VersionTLS10": "", "VersionTLS11": "", "VersionTLS12": "", "VersionTLS13": "VersionTLS13"}
"""The oldest accepted version by the value of the flag; OpenSSL here has none before 1.2."""
SUPPORTED: Mapping[str, Flag] = {
    **auditflags.FLAGS,
    **metricflags.FLAGS,
    "admission-control-config-file": Flag("text", "Configuration of admission plugins."),
    "allow-privileged": Flag("bool", "Whether containers may be privileged; false."),
    "anonymous-auth": Flag("bool", "Whether requests without credentials are anonymous."),
    "authentication-config": Flag("text", "JWT issuers, and where requests may be anonymous."),
    "advertise-address": Flag("text", "Where the service kubernetes leads."),
    "api-audiences": Flag("list", "Whom tokens of service accounts are for."),
    "authentication-token-webhook-cache-ttl": Flag("text", "How long its answers are valid: 2m."),
    "authentication-token-webhook-config-file": Flag("text", "Kubeconfig of a token webhook."),
    "authentication-token-webhook-version": Flag("text", "v1 or v1beta1."),
    "authorization-config": Flag("text", "Authorizers in their order, with webhooks."),
    "authorization-mode": Flag("list", "ABAC, AlwaysAllow, AlwaysDeny, Node, RBAC, Webhook."),
    "authorization-policy-file": Flag("text", "Policies of the mode ABAC."),
    "authorization-webhook-cache-authorized-ttl": Flag("text", "How long a yes is valid: 5m."),
    "authorization-webhook-cache-unauthorized-ttl": Flag("text", "How long a no is valid: 30s."),
    "authorization-webhook-config-file": Flag("text", "Kubeconfig of the mode Webhook."),
    "authorization-webhook-version": Flag("text", "v1 or v1beta1."),
    "bind-address": Flag("text", "Address to listen on."),
    "cert-dir": Flag("text", "Where apiserver.crt and apiserver.key are, or are put."),
    "client-ca-file": Flag("text", "Accept client certificates of this authority."),
    "cors-allowed-origins": Flag("list", "Regular expressions of the origins of web pages."),
    "default-not-ready-toleration-seconds": Flag("text", "Default toleration of pods."),
    "default-unreachable-toleration-seconds": Flag("text", "Default toleration of pods."),
    "disable-admission-plugins": Flag("list", "Admission plugins that are not asked."),
    "enable-bootstrap-token-auth": Flag("bool", "Whether bootstrap tokens are credentials."),
    "enable-admission-plugins": Flag("list", "Admission plugins that are off by default."),
    "enable-priority-and-fairness": Flag("bool", "Whether flow schemas limit requests."),
    "max-mutating-requests-inflight": Flag("text", "Writes that run at a time."),
    "max-requests-inflight": Flag("text", "Reads that run at a time."),
    "min-request-timeout": Flag("text", "Seconds after which watches end: 1800."),
    "emulated-version": Flag("list", "The version to serve, such as 1.33 or kube=1.33."),
    "etcd-servers": Flag("list", "Where the etcd of this folder listens."),
    "event-ttl": Flag("text", "How long events stay."),
    "help": Flag("bool", "Show this."),
    "kubernetes-version": Flag("text", "The version to serve, such as 1.33; the newest."),
    "logging-format": Flag("text", "text or json."),
    "v": Flag("text", "From 3 on, log requests; from 4 on, log details."),
    "oidc-ca-file": Flag("text", "Authority of the OpenID issuer."),
    "oidc-client-id": Flag("text", "The audience of tokens of the OpenID issuer."),
    "oidc-groups-claim": Flag("text", "The claim with the groups of a user."),
    "oidc-groups-prefix": Flag("text", "What groups of the issuer begin with."),
    "oidc-issuer-url": Flag("text", "Accept tokens of this OpenID issuer."),
    "oidc-required-claim": Flag("text", "A claim that tokens must have: name=value."),
    "oidc-signing-algs": Flag("list", "Accepted algorithms: RS256."),
    "oidc-username-claim": Flag("text", "The claim with the name of a user: sub."),
    "oidc-username-prefix": Flag("text", "What names of the issuer begin with; - is nothing."),
    "requestheader-allowed-names": Flag("list", "Common names of front proxies; all if empty."),
    "requestheader-client-ca-file": Flag("text", "Accept front proxies of this authority."),
    "requestheader-extra-headers-prefix": Flag("list", "Prefixes of headers: X-Remote-Extra-."),
    "requestheader-group-headers": Flag("list", "Headers with groups: X-Remote-Group."),
    "requestheader-uid-headers": Flag("list", "Headers with a uid: X-Remote-Uid."),
    "requestheader-username-headers": Flag("list", "Headers with a name: X-Remote-User."),
    "runtime-config": Flag("list", "What is not served: batch/v1=false."),
    "secure-port": Flag("text", "Port to listen on."),
    "service-account-issuer": Flag("text", "Who signs tokens of service accounts."),
    "service-account-extend-token-expiration": Flag(
        "bool", "Whether tokens of pods are valid for a year."
    ),
    "service-account-jwks-uri": Flag("text", "Where keys of tokens are, for others."),
    "service-account-max-token-expiration": Flag("text", "How long tokens are valid at most."),
    "service-node-port-range": Flag("text", "Node ports of services, such as 30000-32767."),
    "tls-min-version": Flag("text", "The oldest version of TLS."),
    "service-account-key-file": Flag("text", "What those tokens are checked with."),
    "service-account-signing-key-file": Flag("text", "What those tokens are signed with."),
    "service-cluster-ip-range": Flag("list", "Where addresses of services are from."),
    "strict-transport-security-directives": Flag("list", "The header of HSTS: max-age=31536000."),
    "tls-cert-file": Flag("text", "Certificate to serve."),
    "tls-private-key-file": Flag("text", "Its key."),
    "tls-sni-cert-key": Flag("text", "Another certificate and key, and their names."),
    "token-auth-file": Flag("text", "CSV: token,user,uid,groups."),
    "version": Flag("bool", "Show the version of Kubernetes."),
}
"""Flags with the same effect as in kube-apiserver."""

NEGLIGIBLE_SWITCHES = (
    "audit-log-batch-throttle-enable",
    "aggregator-reject-forwarding-redirect",
    "contention-profiling",
    "coordinated-leadership-election", "disable-http2-serving",
    "emulation-forward-compatible", "enable-aggregator-routing", "enable-garbage-collector",
    "enable-logs-handler",
    "encryption-provider-config-automatic-reload", "log-json-split-stream",
    "log-text-split-stream", "permit-address-sharing", "permit-port-sharing",
    "runtime-config-emulation-forward-compatible", "service-account-lookup", "watch-cache",
)  # fmt: skip
NEGLIGIBLE_OPTIONS = (
    "audit-log-truncate-max-batch-size", "audit-webhook-truncate-max-batch-size",
    "apiserver-count", "audit-log-batch-buffer-size", "audit-log-batch-max-size",
    "audit-log-batch-max-wait", "audit-log-batch-throttle-burst", "audit-log-batch-throttle-qps",
    "coordinated-leadership-lease-duration",
    "coordinated-leadership-renew-deadline", "coordinated-leadership-retry-period",
    "debug-socket-path", "default-watch-cache-size", "delete-collection-workers",
    "endpoint-reconciler-type", "etcd-cafile", "etcd-certfile", "etcd-compaction-interval",
    "etcd-count-metric-poll-period", "etcd-db-metric-poll-interval", "etcd-healthcheck-timeout",
    "etcd-keyfile", "etcd-prefix", "etcd-readycheck-timeout", "etcd-servers-overrides",
    "external-hostname", "goaway-chance", "http2-max-streams-per-connection",
    "kubelet-certificate-authority", "kubelet-client-certificate", "kubelet-client-key",
    "kubelet-port", "kubelet-preferred-address-types", "kubelet-read-only-port", "kubelet-timeout",
    "lease-reuse-duration-seconds", "livez-grace-period", "log-flush-frequency",
    "log-json-info-buffer-size", "log-text-info-buffer-size", "max-connection-bytes-per-sec",
    "peer-advertise-ip", "peer-advertise-port", "peer-ca-file", "shutdown-delay-duration",
    "shutdown-send-retry-after", "shutdown-watch-termination-grace-period", "storage-backend",
    "storage-initialization-timeout", "storage-media-type", "vmodule", "watch-cache-sizes",
)  # fmt: skip
"""Flags that change how fast, how long or with which other programs kube-apiserver works, but no
response that a client of this server can see."""

UNSUPPORTED_SWITCHES = ("profiling", "show-hidden-metrics")
UNSUPPORTED_OPTIONS = (
    "admission-control", "egress-selector-config-file",
    "kubernetes-service-node-port", "min-compatibility-version",
    "proxy-client-cert-file", "proxy-client-key-file", "request-timeout",
    "service-account-signing-endpoint",
    "show-hidden-metrics-for-version", "tls-cipher-suites", "tls-curve-preferences",
    "tracing-config-file",
)  # fmt: skip
"""Flags that this server cannot follow, although they change what a client sees."""

_SPECIAL: Mapping[str, Flag] = {
    "encryption-provider-config": Flag("text", "Not supported: objects are not encrypted."),
    "feature-gates": Flag("list", "Gates can have their defaults; few can differ."),
}
SWITCHABLE_GATES = ("ConstrainedImpersonation", "ServiceAccountNodeAudienceRestriction")
"""Gates of which this server has both behaviors. Others can only have their defaults."""
FLAGS: Mapping[str, Flag] = {
    **SUPPORTED,
    **_SPECIAL,
    **dict.fromkeys(NEGLIGIBLE_SWITCHES, Flag("bool", "Harmless: it has no effect here.")),
    **dict.fromkeys(NEGLIGIBLE_OPTIONS, Flag("text", "Harmless: it has no effect here.")),
    **dict.fromkeys(UNSUPPORTED_SWITCHES, Flag("bool", "Not supported: it has no effect here.")),
    **dict.fromkeys(UNSUPPORTED_OPTIONS, Flag("text", "Not supported: it has no effect here.")),
}

_MODES = ("ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook")


def options(arguments: Arguments) -> dict[str, Any]:
    """Return the flags as options of `APIServer`, without data and certificates. Raises
    FlagError."""
    _check(arguments)
    result: dict[str, Any] = {
        "allow_privileged": arguments.truth("allow-privileged"),
        "anonymous_auth": arguments.last("anonymous-auth", "true") in flags.TRUE,
        "cors_allowed_origins": tuple(filter(None, arguments.all("cors-allowed-origins"))),
        "enable_bootstrap_token_auth": arguments.truth("enable-bootstrap-token-auth"),
        "enable_priority_and_fairness": (
            arguments.last("enable-priority-and-fairness", "true") in flags.TRUE
        ),
        "runtime_config": _switches(arguments),
        "service_account_extend_token_expiration": (
            arguments.last("service-account-extend-token-expiration", "true") in flags.TRUE
        ),
        "service_account_jwks_uri": arguments.last("service-account-jwks-uri"),
        "strict_transport_security_directives": tuple(
            arguments.all("strict-transport-security-directives")
        ),
        "tls_min_version": _TLS[arguments.last("tls-min-version", "VersionTLS12")],
        "tls_sni_cert_key": _named_certificates(arguments),
        "host": arguments.last("bind-address", "0.0.0.0"),  # noqa: S104 - the reference's default
        "port": _port(arguments.last("secure-port", "6443")),
        "advertise_address": arguments.last("advertise-address"),
        **_authorization(arguments),
        "authentication_token_webhook_version": arguments.last(
            "authentication-token-webhook-version", "v1beta1"
        ),
        "service_cluster_ip_range": _range(arguments),
        "service_account_issuer": tuple(arguments.all("service-account-issuer")),
        "service_account_key_file": tuple(map(Path, arguments.all("service-account-key-file"))),
        "api_audiences": tuple(arguments.all("api-audiences")),
        "enable_admission_plugins": ("ServiceAccount", *_plugins(arguments, "enable")),
        "disable_admission_plugins": _plugins(arguments, "disable"),
        "kubernetes_version": _version(arguments),
        "controllers": False,  # kube-apiserver runs no controllers of kube-controller-manager
        "modules": "none",
    }
    for flag, option in (
        ("admission-control-config-file", "admission_control_config_file"),
        ("authentication-config", "authentication_config"),
        (
            "authentication-token-webhook-config-file",
            "authentication_token_webhook_config_file",
        ),
        ("audit-log-path", "audit_log"),
        ("audit-policy-file", "audit_policy_file"),
        ("audit-webhook-config-file", "audit_webhook_config_file"),
        ("client-ca-file", "client_ca_file"),
        ("requestheader-client-ca-file", "requestheader_client_ca_file"),
        ("service-account-signing-key-file", "service_account_signing_key_file"),
        ("token-auth-file", "token_auth_file"),
    ):
        if arguments.last(flag):
            result[option] = Path(arguments.last(flag))
    result |= auditflags.options(arguments) | metricflags.options(arguments)
    for flag in (
        "default-not-ready-toleration-seconds",
        "default-unreachable-toleration-seconds",
        "max-mutating-requests-inflight",
        "max-requests-inflight",
        "min-request-timeout",
    ):
        if arguments.last(flag):
            result[flag.replace("-", "_")] = flags.integer(flag, arguments.last(flag))
    for flag, option in (
        ("authentication-token-webhook-cache-ttl", "authentication_token_webhook_cache_ttl"),
        ("audit-webhook-batch-max-wait", "audit_webhook_batch_max_wait"),
        ("audit-webhook-initial-backoff", "audit_webhook_initial_backoff"),
        ("event-ttl", "event_ttl"),
        ("service-account-max-token-expiration", "service_account_max_token_expiration"),
    ):
        if arguments.last(flag):
            result[option] = _seconds(flag, arguments.last(flag))
    for flag in (
        "requestheader-allowed-names",
        "requestheader-username-headers",
        "requestheader-uid-headers",
        "requestheader-group-headers",
        "requestheader-extra-headers-prefix",
    ):
        result[flag.replace("-", "_")] = tuple(filter(None, arguments.all(flag)))
    result |= _issuer(arguments)
    if arguments.last("service-node-port-range"):
        result["service_node_port_range"] = arguments.last("service-node-port-range")
    return result


class Ignored(NamedTuple):
    """What a command line asks for that has no effect, each in the words of the command line."""

    harmless: Sequence[str] = ()
    unsupported: Sequence[str] = ()
    unknown: Sequence[str] = ()
    """Feature gates that Kubernetes does not have, as far as this server knows."""

    def lines(self) -> Iterator[str]:
        """Yield a line for each of the three."""
        for word, given in zip(
            ("harmless here, without effect", "NOT SUPPORTED here, without effect",
             "feature gates unknown here, without effect"),
            self,
            strict=True,
        ):  # fmt: skip
            if given:
                yield f"{word}: {', '.join(given)}"


def ignored(arguments: Arguments) -> Ignored:
    """Return what has no effect. Raises FlagError for a value that is not valid."""
    harmless, unsupported, unknown = [], [], []
    for name in arguments.values:
        is_off = name in UNSUPPORTED_SWITCHES and not arguments.truth(name)
        if is_off or name in (*NEGLIGIBLE_SWITCHES, *NEGLIGIBLE_OPTIONS):
            harmless.append(f"--{name}")
        elif name in (*UNSUPPORTED_SWITCHES, *UNSUPPORTED_OPTIONS, "encryption-provider-config"):
            unsupported.append(f"--{name}")
    unsupported += (f"--runtime-config={each}" for each in _unserved(arguments))
    for gate, is_on in _gates(arguments):
        if gate in SWITCHABLE_GATES:
            continue
        word = f"--feature-gates={gate}={str(is_on).lower()}"
        if gate in ("AllAlpha", "AllBeta"):
            (unsupported if is_on is (gate == "AllAlpha") else harmless).append(word)
        elif gate not in builtin.gates.known():
            unknown.append(gate)
        else:
            same = builtin.gates.is_on(gate, _minor(arguments)) is is_on
            (harmless if same else unsupported).append(word)
    return Ignored(harmless, unsupported, unknown)


def gates(arguments: Arguments) -> Mapping[str, bool]:
    """Return the given states of the gates that have an effect. Raises FlagError."""
    return {gate: is_on for gate, is_on in _gates(arguments) if gate in SWITCHABLE_GATES}


def _minor(arguments: Arguments) -> int:
    try:
        return releases.parse(_version(arguments)).minor
    except ValueError as error:
        raise FlagError(str(error)) from error


def _version(arguments: Arguments) -> str:
    """Return the served version: --kubernetes-version, or --emulated-version as in `kube=1.34`."""
    for text in arguments.all("emulated-version"):
        component, _, version = text.rpartition("=")
        if component in ("", "kube"):
            return version.removeprefix("v")
    return arguments.last("kubernetes-version")


def _gates(arguments: Arguments) -> Iterator[tuple[str, bool]]:
    """Yield the given gates. Raises FlagError (featuregate.Set)."""
    for text in filter(None, arguments.all("feature-gates")):
        gate, equals, value = text.partition("=")
        invalid = f'invalid argument "{",".join(arguments.all("feature-gates"))}" for '
        invalid += '"--feature-gates" flag: '
        if not equals:
            raise FlagError(f"{invalid}missing bool value for {gate.strip()}")
        if flags.truth_of(value.strip()) is None:
            raise FlagError(
                f"{invalid}invalid value of {gate.strip()}={value}, err: strconv.ParseBool: "
                f'parsing "{value}": invalid syntax'
            )
        yield gate.strip(), bool(flags.truth_of(value.strip()))


def _unserved(arguments: Arguments) -> Iterator[str]:
    """Yield what is switched on and not served here: versions, and kinds of them."""
    given = list(filter(None, arguments.all("runtime-config")))
    if not given:
        return
    served = {"api/ga"}
    for definition in builtin.definitions(_minor(arguments)):
        for version in definition.versions:
            place = f"{definition.group}/{version.name}"
            served |= {place, f"{place}/{definition.names.plural}"}
    for text in given:
        name, _, switch = text.partition("=")
        if flags.truth_of(switch or "true") and name not in served:
            yield text


def _named_certificates(arguments: Arguments) -> Sequence[str]:
    """Return the certificates for names (component-base/cli/flag/namedcertkey_flag.go). Raises
    FlagError in upstream's words."""
    every = arguments.all("tls-sni-cert-key")
    try:
        for each in every:
            auth.servingfiles.parse_named(each)
    except ValueError as error:
        raise FlagError(
            f'invalid argument "{each}" for "--tls-sni-cert-key" flag: {error}'
        ) from error
    return tuple(every)


def _check(arguments: Arguments) -> None:
    """Refuse flags that cannot be followed safely. Raises FlagError in upstream's words."""
    if arguments.unknown:
        raise FlagError(f"unknown flag: --{arguments.unknown[0]}")
    of_webhook = (name for name in arguments.values if name.startswith("authorization-webhook-"))
    is_legacy = bool(arguments.all("authorization-mode")) or any(of_webhook)
    if arguments.last("authorization-config") and is_legacy:
        raise FlagError(
            "--authorization-config can not be specified when --authorization-mode or "
            "--authorization-webhook-* flags are defined"
        )
    encryption = arguments.last("encryption-provider-config")
    if encryption and not Path(encryption).exists():
        raise FlagError(
            "error while parsing file: error while loading file: error reading encryption provider "
            f'configuration file "{encryption}": open {encryption}: no such file or directory'
        )
    if arguments.values.get("service-account-issuer") == [""]:
        raise FlagError(
            "[service-account-issuer should not be an empty string, "
            "--service-account-signing-key-file, --service-account-issuer, and --api-audiences "
            "should be specified together]"
        )
    _check_issuer(arguments)
    if arguments.last("tls-min-version", "VersionTLS12") not in _TLS:
        raise FlagError(f'unknown tls version "{arguments.last("tls-min-version")}"')
    style = arguments.last("logging-format", "text")
    if style not in ("json", "text"):
        raise FlagError(f'format: Invalid value: "{style}": Unsupported log format')


def _check_issuer(arguments: Arguments) -> None:
    """Refuse an incomplete OpenID issuer. Raises FlagError."""
    given = [name for name in arguments.values if name.startswith("oidc-")]
    if given and arguments.last("authentication-config"):
        raise FlagError("authentication-config file and oidc-* flags are mutually exclusive")
    if given and not (arguments.last("oidc-issuer-url") and arguments.last("oidc-client-id")):
        raise FlagError(
            "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags "
            "are set"
        )


def _issuer(arguments: Arguments) -> dict[str, Any]:
    """Return the options of the OpenID issuer; none without one. Raises OSError for its authority.

    Follows pkg/kubeapiserver/options/authentication.go, ToAuthenticationConfig.
    """
    url = arguments.last("oidc-issuer-url")
    if not url:
        return {}
    claim = arguments.last("oidc-username-claim", "sub")
    prefix = arguments.last("oidc-username-prefix")
    if not prefix and claim != "email":
        prefix = f"{url}#"
    mappings = {"username": {"claim": claim, "prefix": "" if prefix == "-" else prefix}}
    if arguments.last("oidc-groups-claim"):
        groups = {"prefix": arguments.last("oidc-groups-prefix")}
        mappings["groups"] = {"claim": arguments.last("oidc-groups-claim"), **groups}
    issuer: dict[str, Any] = {"url": url, "audiences": [arguments.last("oidc-client-id")]}
    if arguments.last("oidc-ca-file"):
        issuer["certificateAuthority"] = Path(arguments.last("oidc-ca-file")).read_text()
    required = sorted(text.partition("=")[::2] for text in arguments.all("oidc-required-claim"))
    configuration = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthenticationConfiguration",
        "anonymous": {"enabled": arguments.last("anonymous-auth", "true") in flags.TRUE},
        "jwt": [
            {
                "issuer": issuer,
                "claimMappings": mappings,
                "claimValidationRules": [
                    {"claim": name, "requiredValue": value} for name, value in required
                ],
            }
        ],
    }
    algorithms = tuple(filter(None, arguments.all("oidc-signing-algs"))) or ("RS256",)
    # the configuration says whether anonymous requests are accepted
    return {
        "authentication_config": configuration,
        "oidc_signing_algs": algorithms,
        "anonymous_auth": True,
    }


def _plugins(arguments: Arguments, verb: str) -> tuple[str, ...]:
    """Return the plugins of a flag. Error texts are those of
    apiserver/pkg/server/options/admission.go, Validate."""
    flag = f"{verb}-admission-plugins"
    plugins = tuple(filter(None, arguments.all(flag)))
    for name in plugins:
        if name not in names.KNOWN:
            raise FlagError(f'{flag} plugin "{name}" is unknown')
    return plugins


def _authorization(arguments: Arguments) -> dict[str, Any]:
    """Return the options of the authorizers. Raises FlagError in the words of
    pkg/kubeapiserver/options/authorization.go, Validate."""
    modes = arguments.all("authorization-mode") or ["AlwaysAllow"]
    policies = arguments.last("authorization-policy-file")
    webhook = arguments.last("authorization-webhook-config-file")
    for mode in modes:
        if mode not in _MODES:
            raise FlagError(f'authorization-mode "{mode}" is not a valid mode')
        if modes.count(mode) > 1:
            raise FlagError(f"authorization-mode {modes} has mode specified more than once")
    for mode, flag, file, label in (
        ("ABAC", "authorization-policy-file", policies, "authorization policy"),
        ("Webhook", "authorization-webhook-config-file", webhook, "authorization config"),
    ):
        if mode in modes and not file:
            raise FlagError(f"authorization-mode {mode}'s {label} file not passed")
        if file and mode not in modes:
            raise FlagError(f"cannot specify --{flag} without mode {mode}")
    result: dict[str, Any] = {"authorization_policy_file": Path(policies)} if policies else {}
    if arguments.last("authorization-config"):
        return {"authorization_config": Path(arguments.last("authorization-config"))}
    if "Webhook" not in modes:
        return {**result, "authorization_mode": ",".join(modes)}
    settings = {
        "authorizedTTL": arguments.last("authorization-webhook-cache-authorized-ttl", "5m"),
        "unauthorizedTTL": arguments.last("authorization-webhook-cache-unauthorized-ttl", "30s"),
        "timeout": "30s",
        "subjectAccessReviewVersion": arguments.last("authorization-webhook-version", "v1beta1"),
        "failurePolicy": "NoOpinion",
        "connectionInfo": {
            "type": "KubeConfigFile",
            "kubeConfigFile": str(Path(webhook).absolute()),
        },
    }
    authorizers = [
        {"type": mode, "name": mode.lower(), **({"webhook": settings} if mode == "Webhook" else {})}
        for mode in modes
    ]
    configuration = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthorizationConfiguration",
        "authorizers": authorizers,
    }
    return {**result, "authorization_config": configuration}


def _switches(arguments: Arguments) -> tuple[str, ...]:
    """Return the switches of versions. Raises FlagError if flow schemas are not served and limit
    requests (pkg/controlplane/apiserver/options/validation.go)."""
    given = tuple(filter(None, arguments.all("runtime-config")))
    if arguments.last("enable-priority-and-fairness", "true") in flags.TRUE:
        for off in ("flowcontrol.apiserver.k8s.io/v1=false", "api/ga=false", "api/all=false"):
            if off in given:
                raise FlagError(
                    f"--runtime-config={off} conflicts with --enable-priority-and-fairness=true"
                )
    return given


def _range(arguments: Arguments) -> str:
    """Return the ranges of services as one text. Raises FlagError with kube-apiserver's words for
    two of one family (cmd/kube-apiserver/app/options/validation.go)."""
    ranges = [each for each in arguments.all("service-cluster-ip-range") if each]
    networks = []
    for each in ranges:
        try:
            networks.append(ipaddress.ip_network(each.strip(), strict=False))
        except ValueError as error:
            raise FlagError(f"service-cluster-ip-range: {error}") from error
    if len(networks) > 2:
        raise FlagError("--service-cluster-ip-range must not contain more than two entries")
    if len({each.version for each in networks}) < len(networks):
        raise FlagError(
            "--service-cluster-ip-range and --secondary-service-cluster-ip-range must be of "
            "different IP family"
        )
    return ",".join(map(str, networks)) or "10.0.0.0/24"


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise FlagError(
            f"--secure-port {text} must be between 1 and 65535, inclusive. It cannot be turned off "
            "with 0"
        )
    return int(text)


def verbosity(arguments: Arguments) -> int:
    """Return the level of details in the log. Raises FlagError."""
    return flags.integer("v", arguments.last("v", "0"))


def _seconds(flag: str, text: str) -> float:
    try:
        return gotime.parse_duration(text) / gotime.SECOND
    except ValueError as error:
        raise FlagError(f'invalid argument "{text}" for "--{flag}" flag: {error}') from error
