"""Authentication, authorization and TLS from the options. Used by the composition root.

A server without credentials is open to everyone and listens only on loopback addresses. Other
addresses need a token file or a client certificate authority.
"""

import contextlib
import hashlib
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from inkube.apiserver import admission, auth
from inkube.apiserver.access import configs
from inkube.apiserver.auth import (
    ANONYMOUS,
    AUTHENTICATED,
    ISSUER,
    Access,
    AlwaysAllow,
    AlwaysDeny,
    Authenticator,
    Authorizer,
    GuardedAccess,
    Issuers,
    Keys,
    OpenAccess,
    Rule,
    ServiceAccountTokens,
    SigningKeys,
    TokenSource,
    tls,
)
from inkube.apiserver.configuration import Options
from inkube.apiserver.http import Origins, is_loopback
from inkube.apiserver.registry import ADMIN, Plugin, User
from inkube.apiserver.samples import Samples
from inkube.schemas.builtin import gates
from inkube.schemas.clock import Clock
from inkube.schemas.lazy import Lazy
from inkube.storage import BaseStore

OPEN_TOKEN = "anybody"
"""The token of the administrator of an open server. Without credentials to send over TLS, kubectl
prompts for a user name and a password."""
MODES = ("ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook")
_ALONE = ("AlwaysAllow", "AlwaysDeny", "RBAC")
"""Modes that know the privileged group themselves."""
_ITSELF = User("system:apiserver", groups=("system:masters",))
"""The user of requests that the server sends to itself."""
_OPEN = (
    "this server needs no token and does not know the one that was sent; send no token, or start "
    "the server with --token-auth-file"
)
_ANSWERS_PLAINLY = 34
"""The last minor that responds with a plain 500 to impersonation headers without a user."""


@dataclass(frozen=True, slots=True)
class Security:
    """The security of one server."""

    access: Access
    authenticator: Authenticator
    authorizer: Authorizer
    is_open: bool
    token: str
    """A token of the administrator, for the kubeconfig; "" on an open server."""
    loopback_token: str
    """The token of requests that the server sends to itself."""
    rights: tuple[Plugin, ...]
    """Plugins that call the authorizer again before other validators."""
    escalation: tuple[Plugin, ...]
    """Plugins that check roles and bindings after other plugins have changed them."""
    uses_roles: bool
    """Whether roles and bindings grant permissions."""
    config_files: "Sequence[configs.reloading.ConfigFile]"
    """Configuration files that are read again when they change."""
    certificate: tls.Certificate | None


def certificate(options: Options) -> tls.Certificate | None:
    """Return the server's certificate; None without TLS. Raises ValueError or OSError."""
    if (pair := _pair(options)) is not None:
        return tls.read(*pair)
    return auth.certificates.make_server([options.host]) if options.tls else None


def shared(options: Options) -> tls.Certificate | None:
    """Return the certificate for several processes, with the client authority that all of them
    trust."""
    serving_certificate = certificate(options)
    if serving_certificate is None:
        return None
    return serving_certificate._replace(clients=new_authority())


def new_authority() -> tls.Authority:
    """Create the server's own authority for client certificates."""
    return auth.signers.new_authority("inkube-clients")


def client_authority(
    serving_certificate: tls.Certificate | None,
    context: "auth.FollowingContext | None",
) -> tls.Authority:
    """Return the authority that signs client certificates. The server trusts it from now on, if
    clients use TLS."""
    if serving_certificate is not None and serving_certificate.clients is not None:
        return serving_certificate.clients
    authority = new_authority()
    if context is not None:
        context.trust(authority.certificate.decode())
    return authority


def administrator(authority: tls.Authority) -> tuple[bytes, bytes]:
    """Return a client certificate of the administrator and its key, as PEM."""
    groups = [group for group in ADMIN.groups if group != AUTHENTICATED]
    return auth.signers.client(authority, ADMIN.name, groups)


def context(
    options: Options, serving_certificate: tls.Certificate | None
) -> "auth.FollowingContext | None":
    """Return the TLS context, which follows the files; None without TLS. Raises ValueError or
    OSError."""
    if serving_certificate is None:
        return None
    return auth.FollowingContext(
        ssl.PROTOCOL_TLS_SERVER,
        serving_certificate,
        _pair(options),
        [auth.servingfiles.parse_named(each) for each in options.tls_sni_cert_key],
        options.client_ca_file,
        options.requestheader_client_ca_file,
        options.tls_min_version,
        _names_in,
    )


def _names_in(chain: bytes) -> Sequence[str]:
    return auth.certificates.names(chain)  # loads `cryptography`


def _pair(options: Options) -> tuple[Path, Path] | None:
    """Return the files of the certificate and of its key."""
    if options.tls_cert_file is None or options.tls_private_key_file is None:
        return None
    return options.tls_cert_file, options.tls_private_key_file


def build(
    options: Options,
    store: BaseStore,
    clock: Clock,
    keys: Keys,
    serving_certificate: tls.Certificate | None,
    exit_stack: contextlib.AsyncExitStack,
    node_rules: Callable[[], Sequence[Rule]],
    samples: Samples,
) -> Security:
    """Build the security of a server, after `check`. `exit_stack` closes its connections to other
    servers; `node_rules` returns the rules of all kubelets; `samples` records metrics of
    authorizers. Raises ValueError or OSError."""

    def connected() -> "auth.Outgoing":
        client = auth.Outgoing(options.release)
        exit_stack.push_async_callback(client.close)
        return client

    outgoing = Lazy(connected)
    authorizer, roles, authorization_files = _authority(
        options, store, outgoing, clock.monotonic, node_rules, samples
    )
    guarded = not isinstance(authorizer, AlwaysAllow | AlwaysDeny)
    allows_all = isinstance(authorizer, AlwaysAllow)
    rights = (admission.CreateRights(authorizer),) if guarded else ()
    escalation: tuple[Plugin, ...] = ()
    if roles is not None:
        escalation = (admission.Escalation(authorizer, roles, options.release.minor),)
    is_open = not has_credentials(options)
    secret = keys.admin_token
    token = "" if is_open else secret
    # all workers, which share the port of the server, know its token
    loopback_token = hashlib.sha256(f"loopback {secret}".encode()).hexdigest()
    tokens = {token or OPEN_TOKEN: ADMIN, loopback_token: _ITSELF}
    if options.token_auth_file is not None:
        tokens |= auth.read_tokens(options.token_auth_file)
    config = options.authentication_config
    settings = None if config is None else configs.authentication.read(config)
    is_anonymous, paths = settings.anonymous if settings else (options.anonymous_auth, None)
    sources = _webhook_sources(options, outgoing, clock.monotonic)
    authentication_files = (
        _join_issuers(sources, options, settings, outgoing, clock, samples)
        if settings is not None
        else ()
    )
    authenticator = Authenticator(
        _accounts(options, store, clock, keys),
        fallback=_fallback(is_open=is_open, allows_all=allows_all) if is_anonymous else None,
        anonymous_paths=paths,
        tokens=tokens,
        certificates=serving_certificate is not None,
        advice=_OPEN if is_open else "",
        stored_tokens=_stored_tokens(options, store, clock),
        front_proxy=_front_proxy(options),
        sources=sources,
    )
    is_constrained = gates.is_on("ConstrainedImpersonation", options.release.minor)
    modes = auth.impersonation.LastModes() if is_constrained else None
    answers_plainly = options.release.minor <= _ANSWERS_PLAINLY
    guarded_access = GuardedAccess(authenticator, authorizer, samples, modes, answers_plainly)
    return Security(
        access=OpenAccess(guarded_access) if is_open else guarded_access,
        authenticator=authenticator,
        authorizer=authorizer,
        is_open=is_open,
        token=token,
        loopback_token=loopback_token,
        rights=rights,
        escalation=escalation,
        uses_roles=roles is not None,
        config_files=(*authentication_files, *authorization_files),
        certificate=serving_certificate,
    )


def _authority(
    options: Options,
    store: BaseStore,
    outgoing: "Callable[[], auth.Outgoing]",
    monotonic: Callable[[], float],
    node_rules: Callable[[], Sequence[Rule]],
    samples: Samples,
) -> "tuple[Authorizer, auth.RBAC | None, Sequence[configs.reloading.ConfigFile]]":
    """Return the authorizer, the part of it that reads roles, and the file that it follows. Loads
    only the modes that the options name. Raises ValueError, OSError."""
    config = options.authorization_config
    read = None if config is None else configs.authorization.read(config)
    modes = _modes(options) if read is None else read.types
    roles = auth.RBAC(store) if "RBAC" in modes else None
    own: dict[str, Authorizer] = {"RBAC": roles} if roles is not None else {}
    for mode in modes:
        if mode == "ABAC":
            own[mode] = auth.ABAC(_policy_file(options))
        elif mode == "Node":
            own[mode] = auth.NodeAuthorizer(store, node_rules, options.release.minor)
        elif mode not in ("RBAC", "Webhook"):
            own[mode] = AlwaysDeny() if mode == "AlwaysDeny" else AlwaysAllow()
    if read is None:
        alone = modes[0] in _ALONE and len(modes) == 1
        if alone:
            return own[modes[0]], roles, ()
        members = [auth.Member(mode, mode.lower(), own[mode]) for mode in modes]
        return auth.Several(members, samples), roles, ()

    def in_order(read: "configs.authorization.Modes") -> "list[auth.Member]":
        webhooks = iter(configs.authorization.webhooks(read, outgoing(), monotonic, samples))
        return [
            auth.Member(mode, name, next(webhooks) if mode == "Webhook" else own[mode])
            for mode, name in zip(read.types, read.names, strict=True)
        ]

    members = in_order(read)
    several = auth.Several(members, samples, is_counted=True)
    if isinstance(config, Mapping):
        return several, roles, ()

    async def reload() -> None:
        members[:] = in_order(configs.authorization.read(config, required=set(own)))

    file = configs.reloading.ConfigFile(Path(config), "authorization", reload)
    return several, roles, (file,)


def _modes(options: Options) -> list[str]:
    return options.authorization_mode.split(",")


def _policy_file(options: Options) -> Path:
    if options.authorization_policy_file is None:
        raise ValueError("authorization-mode ABAC's authorization policy file not passed")
    return options.authorization_policy_file


def _stored_tokens(
    options: Options, store: BaseStore, clock: Clock
) -> Callable[[str], User | None] | None:
    if not options.enable_bootstrap_token_auth:
        return None
    return auth.BootstrapTokens(store, lambda: clock.now().timestamp()).user


def _front_proxy(options: Options) -> "auth.FrontProxy | None":
    if options.requestheader_client_ca_file is None:
        return None
    return auth.FrontProxy(_proxy_headers(options))


def trusted_proxies(
    options: Options,
    context: "auth.FollowingContext | None",
    identity: "auth.Identity",
    published: Mapping[str, str],
) -> dict[str, str]:
    """Return what extension servers must know of proxies and client certificates: the data of
    their ConfigMap, with what is published already."""
    clients, proxies = ("", "") if context is None else context.authorities
    headers = _proxy_headers(options) if proxies else None
    data = auth.frontproxy.config_map_data(identity, proxies, headers)
    if clients:
        data["client-ca-file"] = clients
    return auth.frontproxy.combined(published, data)


def _proxy_headers(options: Options) -> "auth.Names":
    return auth.Names(
        allowed=options.requestheader_allowed_names,
        users=options.requestheader_username_headers,
        uids=options.requestheader_uid_headers,
        groups=options.requestheader_group_headers,
        extras=options.requestheader_extra_headers_prefix,
    )


def has_credentials(options: Options) -> bool:
    """Return whether the server authenticates users."""
    files = (
        options.token_auth_file, options.client_ca_file, options.requestheader_client_ca_file,
    )  # fmt: skip
    others = options.authentication_config, options.authentication_token_webhook_config_file
    return any(each is not None for each in (*files, *others))


def origins(options: Options) -> Origins:
    """Return the allowed origins. If browsers need no token, other origins cannot even send
    requests."""
    trusts = not has_credentials(options) or _trusts_certificates(options)
    return Origins(options.allow_origins, options.cors_allowed_origins, protects=trusts)


def check(options: Options) -> None:
    """Check the options. Raises ValueError for unsafe or contradictory ones."""
    _check_modes(options)
    if not has_credentials(options) and not is_loopback(options.host):
        raise ValueError(
            f"{options.host} is not a loopback address: it needs a token file "
            "(--token-auth-file) or a certificate authority for clients (--client-ca-file)"
        )
    limited = not options.anonymous_auth or options.authentication_config is not None
    if not options.anonymous_auth and not has_credentials(options):
        raise ValueError("limits of anonymous requests need a token file or client certificates")
    if limited and options.authentication_config is not None and not options.anonymous_auth:
        raise ValueError("give --anonymous-auth or --authentication-config, not both")
    if (options.tls_cert_file is None) != (options.tls_private_key_file is None):
        raise ValueError("give both the TLS certificate and its private key, or neither")
    if _trusts_certificates(options) and not _wants_tls(options):
        raise ValueError("client certificates need TLS (--tls, or a certificate and its key)")
    if options.tls_sni_cert_key and not _wants_tls(options):
        raise ValueError("further certificates need TLS (tls, or a certificate and its key)")


def _check_modes(options: Options) -> None:
    modes = _modes(options)
    for mode in modes:
        if mode not in MODES:
            raise ValueError(f"authorization mode {mode!r} does not exist; use {', '.join(MODES)}")
        if modes.count(mode) > 1:
            raise ValueError(f'authorization-mode "{mode}" has mode specified more than once')
    if "Webhook" in modes:
        raise ValueError("a webhook needs an AuthorizationConfiguration (--authorization-config)")
    if options.authorization_config is not None and modes != ["AlwaysAllow"]:
        raise ValueError("give --authorization-mode or --authorization-config, not both")
    if options.authorization_policy_file is not None and "ABAC" not in modes:
        raise ValueError("Cannot specify --authorization-policy-file without mode ABAC")


def _trusts_certificates(options: Options) -> bool:
    authorities = options.client_ca_file, options.requestheader_client_ca_file
    return any(authority is not None for authority in authorities)


def _wants_tls(options: Options) -> bool:
    return options.tls or options.tls_cert_file is not None


def _fallback(*, is_open: bool, allows_all: bool) -> User | None:
    """Return the user of requests without credentials. As in kube-apiserver, None if all requests
    are authorized."""
    if is_open:
        return ADMIN
    return None if allows_all else ANONYMOUS


def _join_issuers(
    sources: "list[TokenSource]",
    options: Options,
    settings: "configs.authentication.Settings",
    outgoing: "Callable[[], auth.Outgoing]",
    clock: Clock,
    samples: Samples,
) -> "Sequence[configs.reloading.ConfigFile]":
    """Put JWT issuers before other sources of users, and return the file that they follow. Raises
    ValueError, OSError."""
    config = options.authentication_config

    def issuers(settings: "configs.authentication.Settings") -> "list[auth.Issuer]":
        own = tuple(options.service_account_issuer) or (ISSUER,)
        algorithms = options.oidc_signing_algs
        members = settings.issuers
        client = outgoing()
        return configs.authentication.issuers(
            members, client, clock, samples, own=own, algorithms=algorithms
        )

    current = issuers(settings) if settings.issuers else []
    sources[:0] = current
    if isinstance(config, Mapping):
        return ()

    async def reload() -> None:
        nonlocal current
        changed = configs.authentication.read(config, anonymous=settings.anonymous)
        found = issuers(changed) if changed.issuers else []
        for issuer in found:
            if failure := await issuer.initialize():
                raise configs.reloading.NotReadyError(failure)
        sources[: len(current)] = found
        labels = {issuer.label for issuer in found}
        removed = [issuer for issuer in current if issuer.label not in labels]
        current = found
        for issuer in removed:
            issuer.forget_keys()

    return (configs.reloading.ConfigFile(Path(config), "authentication", reload),)


def _webhook_sources(
    options: Options, outgoing: "Callable[[], auth.Outgoing]", monotonic: Callable[[], float]
) -> "list[TokenSource]":
    """Return the webhook that verifies tokens, if there is one. Raises ValueError, OSError."""
    path = options.authentication_token_webhook_config_file
    if path is None:
        return []
    webhook = auth.Webhook(auth.webhookcalls.read(path), outgoing())
    issuers = tuple(options.service_account_issuer) or (ISSUER,)
    return [
        auth.TokenWebhook(
            webhook,
            tuple(options.api_audiences) or issuers[:1],
            monotonic,
            version=options.authentication_token_webhook_version,
            ttl=options.authentication_token_webhook_cache_ttl,
        )
    ]


def _key(path: Path, parse: Callable[[bytes], object]) -> bytes:
    """Return a key file. Raises OSError, and ValueError if it contains no such key."""
    key = path.read_bytes()
    try:
        parse(key)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} holds no key for tokens of service accounts: {error}") from error
    return key


def _accounts(options: Options, store: BaseStore, clock: Clock, keys: Keys) -> ServiceAccountTokens:
    signing_key = options.service_account_signing_key_file
    # read and checked at the start, so that a missing or damaged file is an error at once
    private = _key(signing_key, auth.pemkeys.private_key) if signing_key is not None else b""
    public = tuple(
        _key(path, auth.pemkeys.public_keys) for path in options.service_account_key_file
    )

    def load() -> SigningKeys:
        return SigningKeys(private or keys.load("tokens.key", auth.signing.new_key), public)

    issuers = Issuers(tuple(options.service_account_issuer) or (ISSUER,), options.api_audiences)
    return ServiceAccountTokens(store, load, lambda: clock.now().timestamp(), issuers)
