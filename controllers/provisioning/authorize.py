"""`connections/NAME/authorize`: exchanges the code that an OAuth provider gave a user for a
token."""

from datetime import timedelta
from http import HTTPStatus
from typing import Any

from inkube import kinds
from inkube.controllers.provisioning.jobs import sync
from inkube.controllers.provisioning.outside.hosts import Grant, NotAuthorized
from inkube.controllers.provisioning.outside.remotes import REMOTES
from inkube.controllers.provisioning.repository_checks import VAULTS
from inkube.controllers.provisioning.tokens import Tokens
from inkube.controllers.provisioning.types import APP_TYPES, GROUP, Connection
from inkube.kinds import (
    Environment,
    Key,
    OutsideError,
    Question,
    Reason,
    Reply,
    StatusError,
    Subresource,
    status,
)

_KIND = "ConnectionAuthorizeRequest"


def authorize(tokens: Tokens) -> Subresource:
    """Return the subresource."""

    async def serve(question: Question, env: Environment) -> Reply:
        obj = await sync.stored(env, Connection, Key(question.namespace, question.name))
        if obj is None:
            raise status.not_found(GROUP, Connection.gvr.resource, question.name)
        connection = kinds.parse(Connection, obj)
        spec = _spec(question)
        if connection.spec.type in APP_TYPES:
            why = "authorization code exchange not implemented for given connection type"
            raise StatusError(HTTPStatus.NOT_IMPLEMENTED, Reason.NOT_IMPLEMENTED, why)
        code, redirect = spec.get("code"), spec.get("redirectURI") or ""
        if not isinstance(code, str) or not code:
            raise status.bad_request("spec.code is required")
        grant = Grant(
            type=connection.spec.type,
            server_url=connection.spec.server_url,
            client_id=connection.spec.oauth.client_id if connection.spec.oauth else "",
            client_secret=await _secret(connection, env),
            code=code,
            redirect=str(redirect),
        )
        remotes = env.service(REMOTES)
        try:
            token, seconds = await remotes.exchange(grant)
        except (OutsideError, NotAuthorized) as error:
            raise status.bad_request("failed to exchange authorization code") from error
        now = env.clock.now()
        tokens.note(obj, now, now + timedelta(seconds=seconds) if seconds else None)
        patch = {
            "metadata": {"uid": connection.metadata.uid},
            "secure": {"token": {"create": token}},
        }
        await env.client.patch(Connection.gvr, question.name, question.namespace, patch=patch)
        head = {"kind": _KIND, "apiVersion": question.api_version, "metadata": {}}
        return Reply({**head, "spec": {"code": ""}, "status": {"authorized": True}})

    return Subresource("authorize", serve, kind=_KIND, verbs=("create",))


def _spec(question: Question) -> dict[str, Any]:
    unreadable = status.bad_request(f"error decoding {_KIND} from request")
    try:
        found = question.document()
    except StatusError as error:
        raise unreadable from error
    spec = found.get("spec", {}) if isinstance(found, dict) else None
    if not isinstance(spec, dict):
        raise unreadable
    return spec


async def _secret(connection: Connection, env: Environment) -> str:
    held = connection.secure.client_secret
    if held is None or not held.name:
        return ""
    vaults = env.service(VAULTS)
    key = Key(connection.metadata.namespace, connection.metadata.name)
    return await vaults.connections.read(env.client, key, "clientSecret", held.name) or ""
