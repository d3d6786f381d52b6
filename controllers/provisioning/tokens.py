"""Tokens that the server obtains: the JWT of a Connection, and a Repository's token from its
Connection.

A token is written to `secure.token` of its object, which changes the generation. The next write of
the status records when the token was created and when it expires; until then, `Tokens` keeps these
times in memory. If neither contains the times of a token, the token counts as missing and is
created again.
"""

from collections import OrderedDict
from datetime import datetime

from inkube.client import Object
from inkube.controllers.provisioning import outside
from inkube.controllers.provisioning.outside.hosts import (
    KeyRefused,
    NotAuthorized,
    RepositoryNotFound,
)
from inkube.controllers.provisioning.outside.remotes import REMOTES
from inkube.controllers.provisioning.repository_checks import (
    VAULTS,
    CredentialsMissing,
    app_of,
    target_of,
)
from inkube.controllers.provisioning.types import Connection, Repository, TokenStatus
from inkube.kinds import Environment, OutsideError, Run

MAX_CACHED = 10_000
"""The maximum number of tokens whose times are not yet in a status."""
MIN_AGE_SECONDS = 10.0
"""The age in seconds below which a token is not created again."""
_MARGIN = 10.0


class Tokens:
    """Creates tokens that are due; `members` adds their times to the status."""

    def __init__(self) -> None:
        self._created: OrderedDict[str, Object] = OrderedDict()

    async def of_repository(self, run: Run[Repository]) -> list[Object]:
        """Return the JSON patch that sets the token of a repository from its connection; [] if it
        is not due or cannot be created."""
        repository = run.object
        if repository.spec.connection is None or repository.spec.remote is None:
            return []
        has_token = repository.secure.token is not None
        if not self._is_due(run, has_token=has_token, token_status=repository.status.token):
            return []
        remotes = run.env.service(REMOTES)
        try:
            target = await target_of(run)
            if target.credentials.app is None:
                return []
            token = await remotes.token_for(target)
        except (OutsideError, NotAuthorized, RepositoryNotFound, CredentialsMissing):
            return []  # the checks report it, and the next run tries again
        return self._patch(run.raw, token.value, run.env.clock.now(), token.expires)

    async def of_connection(self, run: Run[Connection]) -> list[Object]:
        """Return the JSON patch that sets a newly signed JWT in a connection; [] if it is not due
        or cannot be created."""
        connection = run.object
        if connection.spec.app is None:
            return []
        has_token = connection.secure.token is not None
        if not self._is_due(run, has_token=has_token, token_status=connection.status.token):
            return []
        vaults = run.env.service(VAULTS)
        now = run.env.clock.now()
        try:
            app = await app_of(connection, run.env.client, vaults.connections)
            if app is None:
                return []
            signed = outside.appkeys.sign(app.app_id, app.private_key, now.timestamp())
        except (CredentialsMissing, KeyRefused):
            return []
        end = datetime.fromtimestamp(now.timestamp() + outside.appkeys.LIFETIME, now.tzinfo)
        return self._patch(run.raw, signed, now, end)

    def note(self, obj: Object, now: datetime, end: datetime | None) -> None:
        """Remember when the token of an object was created, and when it expires."""
        times: Object = {"lastUpdated": _milliseconds(now)}
        if end is not None:
            times["expiration"] = _milliseconds(end)
        uid = obj["metadata"]["uid"]
        self._created[uid] = times
        self._created.move_to_end(uid)
        while len(self._created) > MAX_CACHED:
            self._created.popitem(last=False)

    def members(self, obj: Object) -> Object:
        """`status.token`, until the status contains it."""
        times = self._unreported(obj)
        return {} if times is None else {"token": times}

    def _unreported(self, obj: Object) -> Object | None:
        """Return the times that are not yet in the status; they are forgotten after that."""
        uid = obj["metadata"]["uid"]
        times = self._created.get(uid)
        if times is not None and (obj.get("status") or {}).get("token") == times:
            del self._created[uid]
            return None
        return times

    def _patch(self, obj: Object, value: str, now: datetime, end: datetime) -> list[Object]:
        self.note(obj, now, end)
        return [
            {"op": "test", "path": "/metadata/uid", "value": obj["metadata"]["uid"]},
            {"op": "add", "path": "/secure", "value": {"token": {"create": value}}},
        ]

    def _is_due(
        self,
        run: "Run[Repository] | Run[Connection]",
        *,
        has_token: bool,
        token_status: TokenStatus | None,
    ) -> bool:
        if has_token and self._unreported(run.raw) is not None:
            return False
        if not has_token or token_status is None or not token_status.last_updated:
            return True
        now = _milliseconds(run.env.clock.now())
        if now - token_status.last_updated < MIN_AGE_SECONDS * 1000 or not token_status.expiration:
            return False
        return token_status.expiration - now < _renewal_lead(run.env) * 1000


def _renewal_lead(env: Environment) -> float:
    """Return seconds before its expiration at which a token is renewed: two rechecks can be
    missed."""
    return 2 * env.recheck.healthy + _MARGIN


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
