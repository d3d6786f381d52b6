"""Static rules and normal form of a Connection, checked offline on every write.

The texts are Grafana's (apps/provisioning/pkg/connection, the validators of each type).
"""

from collections.abc import Iterator, Sequence
from typing import Any

from inkube.controllers.provisioning import outside
from inkube.controllers.provisioning.outside import urls
from inkube.controllers.provisioning.repository_rules import RESERVED, RESERVED_TEXT
from inkube.controllers.provisioning.types import APP_TYPES, Connection
from inkube.kinds import (
    REDACTED,
    Forbidden,
    Invalid,
    Problem,
    Required,
    Rule,
    SecureValues,
    mutator,
    validator,
)

GITHUB_URL = "https://github.com"
_LABELS = {
    "github": "GitHub",
    "githubEnterprise": "GitHub Enterprise",
    "githubOAuth": "GitHub OAuth",
    "githubEnterpriseOAuth": "GitHub Enterprise OAuth",
    "gitlab": "Gitlab",
    "bitbucket": "Bitbucket",
}
_ENTERPRISE = ("githubEnterprise", "githubEnterpriseOAuth")


@mutator(Connection)
def set_url(connection: Connection, old: Connection | None) -> None:
    """Set the URL of the settings page of the installation; a value from a client is replaced."""
    spec = connection.spec
    url = ""
    if spec.app is not None and (base := spec.server_url or _base(spec.type)):
        url = f"{base}/settings/installations/{spec.app.installation_id}"
    if spec.url != url:
        spec.url = url


def _base(kind: str) -> str:
    return GITHUB_URL if kind == "github" else ""


@mutator(Connection)
def forget_token(connection: Connection, old: Connection | None) -> None:
    """Remove the token if the application of the connection changes: a token is only valid for the
    application that requested it."""
    if old is None or connection.spec.type in APP_TYPES:
        return
    before, now = old.secure, connection.secure
    if now.token is None or before.token is None or now.token.name != before.token.name:
        return
    if _application(old) != _application(connection):
        now.token = None
        now.model_fields_set.discard("token")  # gone, not null


def _application(connection: Connection) -> tuple[Any, ...]:
    spec, secret = connection.spec, connection.secure.client_secret
    client = spec.oauth.client_id if spec.oauth is not None else ""
    return spec.type, client, spec.server_url, secret.name if secret is not None else ""


def validators(secure: SecureValues) -> Sequence[Rule[Connection]]:
    """Return the validators, in the order of the fields."""

    @validator(Connection, field="secure.privateKey")
    def private_key_real(connection: Connection, old: Connection | None) -> Iterator[Problem]:
        held = connection.secure.private_key
        if held is None or held.name is None or connection.spec.type not in APP_TYPES:
            return
        value = secure.staged(connection.metadata.namespace, held.name)
        if value is None:
            return
        try:
            pem = outside.appkeys.pem_of(value)
        except ValueError:
            yield Invalid("privateKey must be base64 encoded", value=REDACTED)
            return
        try:
            outside.appkeys.read_key(pem)
        except ValueError:
            yield Invalid("privateKey must be a valid RSA private key", value=REDACTED)

    return (
        name_not_reserved, title_given, type_unchanged, block_of_the_type, app_given,
        server_well_formed, client_given, secrets_of_the_type, private_key_real,
    )  # fmt: skip


@validator(Connection, field="metadata.name")
def name_not_reserved(connection: Connection, old: Connection | None) -> Iterator[Problem]:
    """Reject names that have another meaning in paths and user interfaces."""
    if connection.metadata.name in RESERVED:
        yield Invalid(RESERVED_TEXT)


@validator(Connection, field="spec.title")
def title_given(connection: Connection, old: Connection | None) -> Iterator[Problem]:
    """Check that a given title is not blank."""
    spec = connection.spec
    if "title" in spec.model_fields_set and not spec.title.strip():
        yield Required("a title is needed")


@validator(Connection, field="spec.type")
def type_unchanged(connection: Connection, old: Connection | None) -> Iterator[Problem]:
    """Refuse a change of the type, because the other fields depend on it."""
    if old is not None and old.spec.type != connection.spec.type:
        yield Invalid("field is immutable; create another connection instead")


@validator(Connection, field="spec")
def block_of_the_type(connection: Connection, old: Connection | None) -> Iterator[Problem]:
    """Reject blocks of other types."""
    spec = connection.spec
    blocks: dict[str, tuple[Any, tuple[str, ...]]] = {
        "github": (spec.github, ("github",)),
        "githubEnterprise": (spec.github_enterprise, _ENTERPRISE),
        "bitbucket": (spec.bitbucket, ("bitbucket",)),
    }
    for name, (block, kinds) in blocks.items():
        if block is not None and spec.type not in kinds:
            yield Forbidden(f"does not belong to type {spec.type}; remove it", field=f"spec.{name}")
    if spec.oauth is not None and spec.type in APP_TYPES:
        yield Forbidden(f"does not belong to type {spec.type}; remove it", field="spec.oauth")


@validator(Connection, field="spec")
def app_given(connection: Connection, old: Connection | None) -> Iterator[Problem]:
    """Check the IDs of the app and of one of its installations. Both are numeric."""
    kind, app = connection.spec.type, connection.spec.app
    if kind not in APP_TYPES:
        return
    label = _LABELS[kind]
    if app is None:
        info = "github info" if kind == "github" else "githubEnterprise info"
        yield Required(f"{info} must be specified for {label} connection", field=f"spec.{kind}")
        return
    for member, value in (("appID", app.app_id), ("installationID", app.installation_id)):
        field = f"spec.{kind}.{member}"
        if not value:
            yield Required(f"{member} must be specified for {label} connection", field=field)
        elif not (value.isascii() and value.isdecimal()):
            yield Invalid(f"{member} must be a numeric value", field=field)


@validator(Connection, field="spec.githubEnterprise.serverUrl")
def server_well_formed(connection: Connection, old: Connection | None) -> Iterator[Problem]:
    """Check the URL of the GitHub Enterprise server."""
    if connection.spec.type not in _ENTERPRISE:
        return
    url = connection.spec.server_url
    if not url:
        label = _LABELS[connection.spec.type]
        yield Required(f"serverUrl must be specified for {label} connection")
    elif why := urls.wrong_with_http_url(url):
        yield Invalid(why, value=urls.without_credentials(url))


@validator(Connection, field="spec.oauth.clientID")
def client_given(connection: Connection, old: Connection | None) -> Iterator[Problem]:
    """Check the application that users authorize."""
    spec = connection.spec
    if spec.type not in APP_TYPES and (spec.oauth is None or not spec.oauth.client_id):
        yield Required(f"clientID must be specified for {_LABELS[spec.type]} connection")


@validator(Connection, field="secure")
def secrets_of_the_type(connection: Connection, old: Connection | None) -> Iterator[Problem]:
    """Check the secret of the connection: a private key for apps, a client secret for other
    types."""
    kind, secure = connection.spec.type, connection.secure
    wanted, other = ("privateKey", "clientSecret")
    has_wanted, has_other = secure.private_key is not None, secure.client_secret is not None
    if kind not in APP_TYPES:
        wanted, other, has_wanted, has_other = other, wanted, has_other, has_wanted
    label = _LABELS[kind]
    if not has_wanted:
        yield Required(f"{wanted} must be specified for {label} connection", f"secure.{wanted}")
    if has_other:
        yield Forbidden(f"{other} is forbidden in {label} connection", f"secure.{other}")
    is_new = not connection.metadata.resource_version
    if secure.token is not None and kind in APP_TYPES and old is None and is_new:
        yield Forbidden("is set by the server; leave it out", field="secure.token")
