"""Tokens that a webhook checks with TokenReviews.

Follows apiserver/plugin/pkg/authenticator/token/webhook and pkg/authentication/token/cache.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial

from inkube.apiserver.auth import pending
from inkube.apiserver.auth.outgoing import CallError
from inkube.apiserver.auth.serviceaccounts import TokenRefused, VerifiedToken
from inkube.apiserver.auth.webhookcalls import Remembered, Webhook
from inkube.apiserver.registry import User
from inkube.schemas.objects import Object

VERSIONS = ("v1", "v1beta1")
TTL = 120.0
"""Seconds for which an answer is valid, by default."""
_MAX_REMEMBERED = 4096


class TokenWebhook:
    """Finds the users of tokens. `audiences` are those of the server."""

    def __init__(
        self,
        webhook: Webhook,
        audiences: Sequence[str],
        monotonic: Callable[[], float],
        *,
        version: str = "v1",
        ttl: float = TTL,
    ) -> None:
        if version not in VERSIONS:
            raise ValueError(
                f'unsupported authentication webhook version "{version}", supported versions are '
                '"v1", "v1beta1"'
            )
        self._webhook = webhook
        self._audiences = audiences
        self._version = version
        self._ttl = ttl
        self._answers = Remembered(monotonic, _MAX_REMEMBERED)

    def verify(self, token: str, audiences: Sequence[str]) -> VerifiedToken | None:
        """Return the user of a token; None if the webhook does not know it. Raises TokenRefused,
        and Pending until the webhook has answered."""
        key = hashlib.sha256(token.encode()).digest(), *audiences
        answer = self._answers.get(key)
        if answer is None:
            answer = pending.answer(
                ("token", *key), partial(self._fetch, key, token, tuple(audiences))
            )
        if isinstance(answer, CallError):
            raise TokenRefused(str(answer))
        shared = tuple(
            each for each in audiences if each in (answer.get("audiences") or self._audiences)
        )
        if not shared:
            return None
        if not answer.get("authenticated"):
            if answer.get("error"):
                raise TokenRefused(answer["error"])
            return None
        return VerifiedToken(_user(answer.get("user") or {}), shared)

    async def _fetch(
        self, key: tuple[object, ...], token: str, audiences: Sequence[str]
    ) -> "Object | CallError":
        review: Object = {
            "kind": "TokenReview",
            "apiVersion": f"authentication.k8s.io/{self._version}",
            "metadata": {},
            "spec": {"token": token, "audiences": list(audiences)},
            "status": {"user": {}},
        }
        try:
            status: Object = (await self._webhook.send(review)).get("status") or {}
        except CallError as error:
            return error
        self._answers.put(key, status, self._ttl)
        return status


def _user(info: Object) -> User:
    extra = tuple((key, tuple(values)) for key, values in (info.get("extra") or {}).items())
    groups = tuple(info.get("groups") or ())
    return User(info.get("username", ""), info.get("uid", ""), groups, extra)
