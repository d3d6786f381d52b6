"""Static rules and normal form of a Connection: offline, on every write."""

from collections.abc import Iterator, Sequence

from inkube.controllers import provisioning
from inkube.controllers.checks import (
    Forbidden,
    Invalid,
    Problem,
    Required,
    Rule,
    mutator,
    validator,
)
from inkube.controllers.provisioning.repository_rules import RESERVED
from inkube.controllers.provisioning.types import Connection
from inkube.controllers.secure import SecureValues

SETTINGS = "https://github.com/settings/installations"


@mutator(Connection)
def set_url(connection: Connection, old: Connection | None) -> None:
    """The installation's settings page; what a client sends is replaced."""
    url = ""
    if connection.spec.type == "github" and connection.spec.github is not None:
        url = f"{SETTINGS}/{connection.spec.github.installation_id}"
    if connection.spec.url != url:
        connection.spec.url = url


def validators(secure: SecureValues) -> Sequence[Rule[Connection]]:
    """In the order of the fields."""

    @validator(Connection, field="secure.privateKey")
    def private_key_real(connection: Connection, old: Connection | None) -> Iterator[Problem]:
        held = connection.secure.private_key
        if held is None or held.name is None or connection.spec.type != "github":
            return
        value = secure.staged(connection.metadata.namespace, held.name)
        if value is None:
            return
        try:
            provisioning.appkeys.read_key(provisioning.appkeys.pem_of(value))
        except ValueError as error:
            yield Invalid(str(error))

    return (
        name_not_reserved, title_given, type_unchanged, app_given, secrets_of_the_type,
        private_key_real,
    )  # fmt: skip


@validator(Connection, field="metadata.name")
def name_not_reserved(connection: Connection, old: Connection | None) -> Iterator[Problem]:
    """Names that stand for something else in paths and user interfaces."""
    if connection.metadata.name in RESERVED:
        yield Invalid("is a reserved name; choose another one")


@validator(Connection, field="spec.title")
def title_given(connection: Connection, old: Connection | None) -> Iterator[Problem]:
    """People read titles."""
    if not connection.spec.title.strip():
        yield Required("a title is needed")


@validator(Connection, field="spec.type")
def type_unchanged(connection: Connection, old: Connection | None) -> Iterator[Problem]:
    """Everything else depends on the type."""
    if old is not None and old.spec.type != connection.spec.type:
        yield Invalid("field is immutable; create another connection instead")


@validator(Connection, field="spec.github")
def app_given(connection: Connection, old: Connection | None) -> Iterator[Problem]:
    """The github block for github, with two numbers in it."""
    app, kind = connection.spec.github, connection.spec.type
    if kind != "github":
        if app is not None:
            yield Forbidden(f"does not belong to type {kind}; remove it")
        return
    if app is None:
        yield Required("is needed by type github")
        return
    for member, value in (("appID", app.app_id), ("installationID", app.installation_id)):
        field = f"spec.github.{member}"
        if not value:
            yield Required("is needed by type github", field=field)
        elif not (value.isascii() and value.isdecimal()):
            yield Invalid("must be a number, written as a string of digits", field=field)


@validator(Connection, field="secure")
def secrets_of_the_type(connection: Connection, old: Connection | None) -> Iterator[Problem]:
    """A private key for github, a client secret for the others."""
    kind, secure = connection.spec.type, connection.secure
    wanted, other = ("privateKey", "clientSecret")
    has_wanted, has_other = secure.private_key is not None, secure.client_secret is not None
    if kind != "github":
        wanted, other, has_wanted, has_other = other, wanted, has_other, has_wanted
    if not has_wanted:
        yield Required(f"is needed by type {kind}", field=f"secure.{wanted}")
    if has_other:
        yield Forbidden(f"does not belong to type {kind}; remove it", field=f"secure.{other}")
    if secure.token is not None and (old is None or old.secure.token is None):
        yield Forbidden("is set by the server; leave it out", field="secure.token")
